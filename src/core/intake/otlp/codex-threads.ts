/**
 * Codex gives each subagent a conversation of its own, and its hooks and recordings name the session for it. Its telemetry then has
 * to be in the run of the session too. The first record of a subagent is in the trace of the call that started it
 * (measured: 0.171.0). Tested by `test/core/intake/otlp/codex-threads.test.ts`.
 */
import { textAttribute } from './dialects.ts';
import type { LogRecord } from './records.ts';

/** The name under which the session of a conversation is remembered. */
export const threadName = (conversation: string): string => `codex ${conversation}`;

const conversationOf = ({ name, attributes }: LogRecord): string | undefined =>
  name.startsWith('codex.') ? textAttribute(attributes, 'run') : undefined;

/** The conversations of the records of Codex, by the names under which their sessions are remembered. */
export const threadNames = (logs: readonly LogRecord[]): string[] => [
  ...new Set(logs.flatMap((log) => conversationOf(log) ?? []).map(threadName)),
];

export interface SessionLogs {
  /** The records, those of subagents in the conversation of their session, with `codex.thread_id`. */
  readonly logs: readonly LogRecord[];
  /** Sessions to remember, by `threadName`. */
  readonly threads: ReadonlyMap<string, string>;
}

/** `known`: runs by trace id, and sessions by `threadName`, from earlier requests. */
export function inSessions(logs: readonly LogRecord[], known: ReadonlyMap<string, string>): SessionLogs {
  const sessions = new Map<string, string>();
  const threads = new Map<string, string>();
  const byTrace = new Map<string, string>();
  for (const log of logs) {
    const conversation = conversationOf(log);
    if (conversation === undefined) continue;
    const session = known.get(threadName(conversation));
    if (session !== undefined) sessions.set(conversation, session);
    const { traceId } = log;
    if (traceId !== undefined && !isStart(log) && !byTrace.has(traceId)) byTrace.set(traceId, conversation);
  }
  for (const log of logs.filter(isStart)) {
    const conversation = conversationOf(log);
    if (conversation === undefined || sessions.has(conversation) || log.traceId === undefined) continue;
    const starter = known.get(log.traceId) ?? byTrace.get(log.traceId);
    if (starter === undefined || starter === conversation) continue;
    const session = sessions.get(starter) ?? starter;
    sessions.set(conversation, session);
    threads.set(threadName(conversation), session);
  }
  if (sessions.size === 0) return { logs, threads };
  return { logs: logs.map((log) => inSession(log, sessions)), threads };
}

const isStart = ({ name }: LogRecord): boolean => name === 'codex.conversation_starts';

function inSession(log: LogRecord, sessions: ReadonlyMap<string, string>): LogRecord {
  const conversation = conversationOf(log);
  const session = sessions.get(conversation ?? '');
  if (session === undefined || session === conversation) return log;
  const attributes = { ...log.attributes, 'conversation.id': session, 'codex.thread_id': conversation };
  return { ...log, attributes };
}
