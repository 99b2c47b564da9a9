/**
 * The run of a call: from the trace context that clients put into `_meta` (SEP-414) or HTTP headers. The order is that of
 * telemetry, so that both sources land in one run: a conversation or session in `baggage`, the session of Codex (`_meta`) or
 * Claude Code (`CLAUDE_CODE_SESSION_ID` of the proxy), then the trace.
 * Tested by `test/cli/mcp/trace.test.ts`.
 */
import { runIdFrom } from '../../core/intake/run.ts';
import type { JsonObject } from '../../core/json/canonical.ts';
import { isObject } from '../../core/json/object.ts';

/** Headers in lower case; absent over stdio. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const traceparents = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/;
const runIds = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const conversations = ['gen_ai.conversation.id', 'session.id'];

/** Returns the trace id of a `traceparent` (W3C Trace Context); undefined for the invalid all-zero one. */
export function traceOf(meta: JsonObject, headers: Headers = {}): string | undefined {
  const text = textOf(meta['traceparent']) ?? textOf(headers['traceparent']) ?? '';
  const [, trace] = traceparents.exec(text.toLowerCase()) ?? [];
  return trace === undefined || /^0+$/.test(trace) ? undefined : trace;
}

/** What Codex says of the turn to which a call belongs. */
export function codexTurn(meta: JsonObject): { readonly session?: string; readonly callId?: string } | null {
  const turn = meta['x-codex-turn-metadata'];
  if (!isObject(turn)) return null;
  const [session, callId] = [textOf(turn['session_id']), textOf(meta['callId'])];
  return { ...(session === undefined ? {} : { session }), ...(callId === undefined ? {} : { callId }) };
}

/**
 * Returns the run that the caller's context names; undefined if it names none. `session`: the session of the client that
 * started the proxy, where the client says it.
 */
export function runOf(meta: JsonObject, headers: Headers = {}, session?: string): string | undefined {
  const baggage = textOf(meta['baggage']) ?? textOf(headers['baggage']) ?? '';
  for (const name of conversations) {
    const run = memberOf(baggage, name);
    if (run !== undefined && runIds.test(run)) return run;
  }
  const named = codexTurn(meta)?.session ?? session;
  if (named !== undefined && named !== '') return runIdFrom(named);
  const trace = traceOf(meta, headers);
  return trace === undefined ? undefined : `trace:${trace}`;
}

/** A member of W3C Baggage. */
function memberOf(baggage: string, name: string): string | undefined {
  for (const member of baggage.split(',')) {
    const [key = '', value = ''] = member.split(';', 1)[0]?.split('=', 2) ?? [];
    if (key.trim() !== name) continue;
    try {
      return decodeURIComponent(value.trim());
    } catch {
      return undefined; // not percent-encoded text: it names no run
    }
  }
  return undefined;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
