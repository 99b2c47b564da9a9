/**
 * The hash by which coverage compares the call that was decided with the call that another source reports. It is of the
 * canonical action without anything that one of them may not know: facts of the machine, names of client, server and tool.
 *
 *   callHash = "gov.action/1 sha256:" HEX(SHA-256("gov.call/1" "\n" JCS(what)))
 *
 * `what` has kind, commands, paths, hosts, endpoints, code and money of the action; of a line that cannot be read, the line.
 * An event gets it while the arguments of its call are there, so the verifier of a proof compares hashes, and needs no
 * parser of shell lines. Proven by `test/core/coverage/call-hash.test.ts`.
 */
import { actionOf, commandLine } from '../action/canonical.ts';
import { clientTools } from '../action/client-tools.ts';
import { actionEngine, type Action, type ToolUse } from '../action/shape.ts';
import { sha256Text } from '../hash.ts';
import { canonicalize, jsonOf, type Json, type JsonObject } from '../json/canonical.ts';
import { isDigest } from '../json/digest.ts';
import { isObject } from '../json/object.ts';
import { clientOf } from './clients.ts';
import { shellLineOf } from './kernel-lines.ts';

/** The same for all calls: a source that reports one may not know where it ran. */
const facts = { cwd: '/w', home: '/h', workspace: '/w' };

/**
 * Returns the hash; null where the arguments say too little of what a call does, such as those of a tool that no table has.
 * An attacker controls all of it. Cost: that of the action, at most about 1 ms for 32 KiB.
 */
export function callHash(use: Omit<ToolUse, 'facts'>): string | null {
  const { client, tool, server, arguments: given } = use;
  const known = client === null ? undefined : clientTools.get(client)?.tools.get(tool);
  const kind = server === null ? known?.kind : 'mcp';
  if (kind === 'shell') {
    const line = commandLine(given[known?.command ?? 'command']);
    return line === null ? null : lineHash(line);
  }
  const isCompared = kind !== undefined && compared.has(kind);
  return isCompared ? hashOf(actionOf({ ...use, facts })) : null;
}

/** Kinds whose actions say what their arguments mean. */
const compared: ReadonlySet<string> = new Set<Action['kind']>(['read', 'write', 'search', 'fetch', 'mcp']);

/** The hash of a call that runs this line in a shell, such as one that the kernel saw. */
export function lineHash(line: string): string {
  const shell = { client: 'claude-code', tool: 'Bash', server: null, arguments: { command: line } };
  const action = actionOf({ ...shell, facts });
  return action.commands === null || action.commands.length === 0
    ? hashed({ kind: action.kind, line: line.trim() })
    : hashed(jsonOf(said(action)));
}

/** Null for an action that names no path, host or amount. */
function hashOf(action: Action): string | null {
  const { paths, hosts, money } = action;
  const isSaid = money !== undefined || [paths, hosts].some((list) => list !== null && list.length > 0);
  const isHidden = paths?.some(({ path }) => path === null) === true || hosts?.includes(null) === true;
  return isSaid && !isHidden ? hashed(jsonOf(said(action))) : null;
}

const said = ({ kind, commands, paths, hosts, endpoints, code, money }: Action) => ({
  kind,
  commands,
  paths,
  hosts,
  endpoints,
  code,
  ...(money === undefined ? {} : { money }),
});

const hashed = (what: Json): string => `${actionEngine} ${sha256Text(`gov.call/1\n${canonicalize(what)}`)}`;

/** An event, or what an importer makes of a record before it is one. */
interface Hashable {
  readonly eventType: string;
  readonly actor?: unknown;
  readonly resource?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** The member of an event that has the hash. */
export const callHashMember = 'callHash';

/** Returns the hash; null for an event of no call, and where its arguments are missing or say too little. */
export function callHashOf({ eventType, actor, resource, metadata = {} }: Hashable): string | null {
  if (eventType === 'x.kernel.exec') {
    const argv = metadata['argv'];
    const line = Array.isArray(argv) ? shellLineOf(argv.map(String)) : null;
    return line === null ? null : lineHash(line);
  }
  const given = metadata['arguments'];
  if (eventType !== 'tool.call' || isDigest(given)) return null;
  const tool = nameOf(resource);
  if (tool === null) return null;
  // Codex writes a patch as a text
  const input = typeof given === 'string' ? { input: given } : given;
  if (!isObject(input) || isCut(input, metadata['otel'])) return null;
  const client = clientOf({ actor: nameOf(actor), metadata });
  const isMcp = tool.startsWith('mcp_') || (isObject(resource) && resource['type'] === 'mcp_tool');
  // the hash is the same for all servers
  return callHash({ client, tool, server: isMcp ? 'mcp' : null, arguments: input });
}

/** Returns the event with the hash, if it has one. */
export function withCallHash<Event extends Hashable>(event: Event): Event {
  const hash = callHashOf(event);
  return hash === null ? event : { ...event, metadata: { ...event.metadata, [callHashMember]: hash } };
}

/** Claude Code cuts long texts in its telemetry, and says how long the arguments were (measured: 2.1.332). */
function isCut(input: JsonObject, otel: unknown): boolean {
  const size = isObject(otel) ? otel['tool_input_size_bytes'] : undefined;
  return size !== undefined && Number(size) !== Buffer.byteLength(JSON.stringify(input));
}

function nameOf(party: unknown): string | null {
  if (typeof party === 'string') return party;
  const name = isObject(party) ? party['name'] : undefined;
  return typeof name === 'string' ? name : null;
}
