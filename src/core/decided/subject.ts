/**
 * What a tool call is about: two attempts with the same subject are the same call (contract O29). The subject is
 * `SHA-256("gov.subject/1\n" || JCS({tool, arguments, cwd}))`, where `tool` is `{server, tool}` for a tool of an MCP server
 * and `{client, tool}` for another one. `arguments` lack the members in which a model describes the call to its user, and
 * which change from one attempt to the next. `cwd` is null for the tool of a server, which runs in the folder of the server.
 * Proven by `test/core/decided/subject.test.ts`.
 */
import { isObject } from '../json/object.ts';
import { labelled } from '../hash.ts';
import type { Json, JsonObject } from '../json/parse.ts';

/** A type, because it is JSON. */
export type Subject = {
  readonly tool: { readonly [member: string]: string | null };
  readonly arguments: JsonObject | null;
  readonly cwd: string | null;
};

const describing = (members: string, tools: string): [string, ReadonlySet<string>][] =>
  tools.split(' ').map((tool) => [tool, new Set(members.split(' '))]);

/** By client and tool: the members that describe the call and change nothing of what it does. */
const described: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> = new Map([
  ['claude-code', new Map(describing('description', 'Bash PowerShell Monitor Agent Task'))],
  [
    'codex',
    new Map(
      describing(
        'description justification yield_time_ms max_output_tokens',
        'Bash shell local_shell shell_command exec_command',
      ),
    ),
  ],
  ['gemini', new Map(describing('description', 'run_shell_command'))],
  ['opencode', new Map(describing('description', 'bash task'))],
  ['cursor', new Map(describing('description', 'Shell Task'))],
]);

/** The subject of the call in a policy input. A caller controls all members of `context`. */
export function subjectOf(context: JsonObject): Subject {
  const [tool, facts, given] = ['tool', 'facts', 'arguments'].map((name) => objectIn(context, name));
  const name = textIn(tool, 'name');
  const server = textIn(tool, 'server');
  if (server !== null) return { tool: { server, tool: name }, arguments: given ?? null, cwd: null };
  const client = textIn(objectIn(facts, 'client'), 'name');
  const left = described.get(client ?? '')?.get(name ?? '');
  return {
    tool: { client, tool: name },
    arguments: given === undefined || left === undefined ? (given ?? null) : without(given, left),
    cwd: textIn(facts, 'cwd'),
  };
}

/** `sha256:…`. */
export const subjectHash = (context: JsonObject): string =>
  labelled('gov.subject/1', subjectOf(context)).hash;

const without = (given: JsonObject, left: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !left.has(name)));

function memberIn(value: JsonObject | undefined, name: string): Json | undefined {
  return value !== undefined && Object.hasOwn(value, name) ? value[name] : undefined;
}

function objectIn(value: JsonObject | undefined, name: string): JsonObject | undefined {
  const member = memberIn(value, name);
  return isObject(member) ? member : undefined;
}

function textIn(value: JsonObject | undefined, name: string): string | null {
  const member = memberIn(value, name);
  return typeof member === 'string' ? member : null;
}
