/**
 * Large texts in the arguments of a call, replaced by their hash, so that a large `Write` can be decided. Only contents are replaced
 * that no action reads; the lines of a patch that name files stay. Proven by `test/core/action/large-content.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { sha256Text } from '../hash.ts';
import type { Json, JsonObject } from '../json/canonical.ts';
import { isObject } from '../json/object.ts';
import { clientTools } from './client-tools.ts';
import type { ActionKind } from './shape.ts';

const kinds: ReadonlySet<ActionKind> = new Set(['write', 'agent', 'skill', 'session']);

const fileLine = /^[\s\u0085]*(?:\*\*\* (?:Add File|Update File|Delete File|Move to):|\+\+\+ |--- )/;

/**
 * The lines of a patch that name files. As in Codex 0.171, only U+000A ends a line, and white space may precede the word: U+2028
 * and U+000D are parts of a path.
 */
export const fileLines = (patch: string): string[] => patch.split('\n').filter((line) => fileLine.test(line));

/**
 * Returns the arguments with each text of more than `limits.toolContentBytes` bytes as `{"$digest": "sha256:…", "bytes": n}`; of a
 * patch also with `lines`. Arguments of other tools stay. Cost: linear in the texts.
 */
export function withDigests(client: string, tool: string, given: JsonObject): JsonObject {
  const known = clientTools.get(client)?.tools.get(tool);
  if (known === undefined || !kinds.has(known.kind)) return given;
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      digested(value, known.patch?.includes(name) === true),
    ]),
  );
}

function digested(value: Json, isPatch: boolean): Json {
  if (Array.isArray(value)) return value.map((each) => digested(each, isPatch));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, digested(each, isPatch)]));
  // a text has at most three bytes for each UTF-16 unit
  if (typeof value !== 'string' || value.length * 3 <= limits.toolContentBytes) return value;
  const bytes = Buffer.byteLength(value);
  if (bytes <= limits.toolContentBytes) return value;
  const digest = { $digest: sha256Text(value), bytes };
  return isPatch ? { ...digest, lines: fileLines(value) } : digest;
}

/** The text of a patch, or its lines that name files; null for another value. */
export function patchText(value: Json | undefined): string | null {
  if (typeof value === 'string') return value;
  const lines = isObject(value) ? value['lines'] : undefined;
  return Array.isArray(lines) && lines.every((line) => typeof line === 'string') ? lines.join('\n') : null;
}
