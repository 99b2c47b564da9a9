/**
 * Definitions of tools, and the hash that pins one: SHA-256 over its canonical JSON (RFC 8785), all members included,
 * because a model reads them. Server controlled. Tested by `test/core/mcp/definition.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256Text } from '../hash.ts';
import { canonicalize, type JsonObject } from '../json/canonical.ts';
import { isObject } from '../json/object.ts';
import { looseBounds, type Envelope } from './envelope.ts';

export interface Definition {
  readonly name: string;
  readonly hash: string;
  readonly definition: JsonObject;
}

/** The hints of a tool that policies see, as the tool call of the contract has them. */
export type Hints = Partial<Record<(typeof hintNames)[number], boolean>>;
const hintNames = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/**
 * Returns the definitions in the answer to tools/list. Throws GovError for a list that two readers could read differently,
 * that names a tool twice, or that has more than `limits.mcpTools` tools.
 */
export function definitionsIn(envelope: Envelope): Definition[] {
  const result = envelope.value('result', looseBounds);
  const tools = isObject(result) ? result['tools'] : undefined;
  if (tools === undefined) return [];
  if (!Array.isArray(tools)) throw unreadable('expected a list of tools');
  if (tools.length > limits.mcpTools)
    throw unreadable(`expected at most ${limits.mcpTools} tools, got ${tools.length}`);
  const names = new Set<string>();
  return tools.map((definition) => {
    const name = isObject(definition) ? definition['name'] : undefined;
    if (!isObject(definition) || typeof name !== 'string') throw unreadable('expected each tool with a name');
    if (names.has(name)) throw unreadable(`expected each tool once, got ${JSON.stringify(name)} again`);
    names.add(name);
    return { name, hash: definitionHash(definition), definition };
  });
}

function definitionHash(definition: JsonObject): string {
  try {
    return sha256Text(canonicalize(definition));
  } catch (cause) {
    throw new GovError('INVALID_JSON', 'a tool definition has text that is not Unicode', { cause });
  }
}

export function hintsOf({ annotations }: JsonObject): Hints {
  if (!isObject(annotations)) return {};
  const given = hintNames.flatMap((name) => {
    const value = annotations[name];
    return typeof value === 'boolean' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(given);
}

const unreadable = (detail: string): GovError => new GovError('INVALID_JSON', detail);
