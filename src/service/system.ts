/**
 * Events of the service itself (contract O8): run `gov.system`, unmetered, appended in the transaction of what
 * they tell of. Proven by `test/service/graphs.test.ts`.
 */
import type { JsonObject } from '../core/json.ts';
import { saltPool } from '../core/disclosure.ts';
import { draftEvent, type EventDraft } from '../core/record.ts';
import { formatTimestamp } from '../core/time.ts';
import type { ApiKeyRow } from '../store/port.ts';
import type { Caller } from './call.ts';
import { systemRun } from './judge.ts';

interface SystemEvent {
  readonly eventType: string;
  readonly action: string;
  readonly actor: { readonly id: string; readonly type: string };
  readonly resource: { readonly id: string; readonly type: string };
  readonly metadata: JsonObject;
}

/** Drafts a system event; its members are our own, so a refusal is a bug. */
export function systemEvent(event: SystemEvent, context: { nowMs: number; salt: () => string }): EventDraft {
  const input = { runId: systemRun, ...event, timestamp: formatTimestamp(context.nowMs) };
  const draft = draftEvent(input, context.nowMs, context.salt);
  if ('code' in draft) throw new Error(`a system event was refused: ${draft.detail}`);
  return draft;
}

/** A key was made; by whom is known only where another key asked for it. */
export const keyCreated = (
  key: ApiKeyRow,
  context: { nowMs: number; randomBytes: (size: number) => Buffer; by?: Caller },
): EventDraft =>
  systemEvent(
    {
      eventType: 'api_key.created',
      action: 'create',
      actor: { id: context.by?.keyId ?? 'operator', type: context.by === undefined ? 'operator' : 'api_key' },
      resource: { id: key.keyId, type: 'api_key' },
      metadata: { name: key.name, prefix: key.prefix, scopes: [...key.scopes] },
    },
    { nowMs: context.nowMs, salt: saltPool(context.randomBytes) },
  );

/** A graph was sealed. */
export const graphCommitted = (
  graph: { readonly runId: string; readonly rootHash: string },
  context: { nowMs: number; salt: () => string; by: Caller },
): EventDraft =>
  systemEvent(
    {
      eventType: 'graph.committed',
      action: 'commit',
      actor: { id: context.by.keyId, type: 'api_key' },
      resource: { id: graph.runId, type: 'graph' },
      metadata: { rootHash: graph.rootHash },
    },
    context,
  );
