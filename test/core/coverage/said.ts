/** What hooks, proxies, telemetry and transcripts say of a call, as events. */
import type { EventInput } from '../../../src/contract/events.ts';
import { callHash, withCallHash } from '../../../src/core/coverage/call-hash.ts';
import type { JsonObject } from '../../../src/core/json/canonical.ts';
import { digestOf } from '../../../src/core/json/digest.ts';

export interface Said {
  readonly client?: string;
  readonly arguments?: JsonObject;
  readonly outcome?: string;
  readonly afterMs?: number;
  readonly durationMs?: number;
  readonly server?: string;
  /** The namespace of a tool in the telemetry of Codex. */
  readonly space?: string;
}

const startMs = Date.parse('2026-01-05T09:00:00Z');
const records: Readonly<Record<string, string>> = {
  'claude-code': 'claude_code.tool_result',
  codex: 'codex.tool_result',
  gemini: 'gemini_cli.tool_call',
};

export const event = (
  eventType: string,
  tool: string,
  said: Said,
  metadata: Record<string, unknown>,
): EventInput => ({
  runId: 'r',
  eventType,
  actor: { name: said.client ?? 'claude-code' },
  resource: { name: tool, type: said.server === undefined ? 'tool' : 'mcp_tool' },
  action: 'do',
  timestamp: new Date(startMs + (said.afterMs ?? 0)).toISOString(),
  metadata: Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== undefined && value !== null),
  ),
});

const idOf = (id: string | null) => (id === null ? {} : { toolCallId: id });

/** The evaluation, then the call that a hook or proxy lets run, or its refusal. */
export const decided = (
  source: 'hook' | 'mcp' | 'direct',
  [id, tool]: readonly [string | null, string],
  said: Said & { readonly deny?: true } = {},
): EventInput[] => {
  const { client = 'claude-code', server = null, arguments: given = {} } = said;
  const evaluationId = `pev_${source}_${id ?? 'none'}_${said.afterMs ?? 0}`;
  const hashes = {
    callHash: callHash({ client, tool, server, arguments: given }),
    argumentsHash: digestOf(given).hash,
  };
  const by = source === 'direct' ? {} : { recordedBy: source, ...(source === 'hook' ? { client } : {}) };
  return [
    event('tool.evaluated', tool, said, { evaluationId, ...hashes }),
    event(said.deny === true ? 'tool.denied' : 'tool.call', tool, said, { ...by, ...idOf(id), evaluationId }),
  ];
};

export const own = { timestampSource: 'source' };
/** A call and its end, as a program's telemetry reports both. Arguments are digests by then. */
export const otlp = ([id, tool]: readonly [string, string], said: Said = {}): EventInput[] => {
  const { client = 'claude-code', outcome, arguments: given, durationMs } = said;
  const shared = { ...own, importer: 'otlp', signal: 'log', ...idOf(id), durationMs };
  const call = event('tool.call', tool, said, {
    ...shared,
    record: records[client],
    ...(said.space === undefined ? {} : { otel: { tool_namespace: said.space } }),
    ...(given === undefined ? {} : { arguments: given }),
  });
  const hashed = withCallHash(call);
  const digest = given === undefined ? {} : { arguments: digestOf(given) };
  return [
    { ...hashed, metadata: { ...hashed.metadata, ...digest } },
    ...(outcome === undefined ? [] : [event('tool.result', tool, said, { ...shared, outcome })]),
  ];
};
export const refusedIn = ([id, tool]: readonly [string, string], said: Said = {}): EventInput =>
  event('tool.call_blocked', tool, said, {
    ...own,
    importer: 'otlp',
    signal: 'log',
    record: records[said.client ?? 'claude-code'],
    ...idOf(id),
  });
export const transcript = ([id, tool]: readonly [string, string], said: Said = {}): EventInput[] => [
  withCallHash(
    event('tool.call', tool, said, {
      ...own,
      ...idOf(id),
      arguments: said.arguments,
      ...(said.space === undefined ? {} : { extra: { namespace: said.space } }),
    }),
  ),
  ...(said.outcome === undefined
    ? []
    : [event('tool.result', tool, said, { ...own, ...idOf(id), outcome: said.outcome })]),
];
/** The hook after a call has its arguments again. */
export const after = ([id, tool]: readonly [string, string], said: Said): EventInput =>
  event('tool.result', tool, said, {
    recordedBy: 'hook',
    client: said.client,
    ...idOf(id),
    outcome: 'ok',
    callHash: callHash({ client: said.client ?? null, tool, server: null, arguments: said.arguments ?? {} }),
  });

export const run = (command: string): Pick<Said, 'arguments'> => ({ arguments: { command } });
export const ok = { outcome: 'ok' } as const;
export const inCodex = { client: 'codex' } as const;
export const inGemini = { client: 'gemini' } as const;
export const pay = { server: 'till' } as const;
