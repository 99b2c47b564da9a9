/**
 * A sink that judges as `POST /events/batch` does, for the machinery before it: verdicts per event, answers kept by
 * idempotency key, clientEventIds unique, and failures where a test scripts them.
 */
import { GovApiError, GovNetworkError } from '../../../src/client/errors.ts';
import type { BatchAnswer, Sink } from '../../../src/client/sending/deliver.ts';
import type { BatchResult } from '../../../src/contract/events.ts';
import type { StoredEvent } from '../../../src/core/intake/reconcile.ts';
import { canonicalize, type Json, type JsonObject } from '../../../src/core/json/parse.ts';

export const apiError = (code: string, status: number, more: object = {}): GovApiError =>
  new GovApiError(status, { code, status, title: code, detail: `${code} happened`, ...more }, {});

export const unreachable = (): GovNetworkError =>
  new GovNetworkError('ECONNREFUSED', 'no process listens there', { retryable: true });

const asObject = (event: Json): JsonObject =>
  typeof event === 'object' && event !== null && !Array.isArray(event) ? event : {};

export class FakeService implements Sink {
  /** What was recorded, in order. */
  readonly recorded: JsonObject[] = [];
  /** Keys in the order of their requests, repetitions included. */
  readonly keys: string[] = [];
  readonly #answers = new Map<string, { body: string; receipt: BatchAnswer }>();
  readonly #clientIds = new Map<string, { body: string; eventId: string }>();
  /** Called before each request with its number, from 1; may throw or wait. */
  before: (request: number, events: readonly Json[]) => void | Promise<void> = () => {};

  async push(
    { key, events }: { key: string; events: readonly Json[] },
    signal: AbortSignal,
  ): Promise<BatchAnswer> {
    this.keys.push(key);
    await this.before(this.keys.length, events);
    signal.throwIfAborted();
    const body = canonicalize([...events]);
    const before = this.#answers.get(key);
    if (before !== undefined) {
      if (before.body !== body) throw apiError('IDEMPOTENCY_KEY_REUSE', 400);
      return { ...before.receipt, replayed: true };
    }
    const receipt = { results: events.map((event) => this.#judge(event)), replayed: false };
    this.#answers.set(key, { body, receipt });
    return receipt;
  }

  #judge(value: Json): BatchResult {
    const event = asObject(value);
    if (typeof event['runId'] !== 'string') {
      return {
        eventId: null,
        status: 'rejected',
        reason: 'missing_field: /runId expected a value, got none',
      };
    }
    const body = canonicalize(event);
    const { clientEventId } = event;
    const known = typeof clientEventId === 'string' ? this.#clientIds.get(clientEventId) : undefined;
    if (known !== undefined && known.body !== body) {
      return { eventId: null, status: 'rejected', reason: 'client_event_id_conflict: other content' };
    }
    const eventId = known?.eventId ?? `evt_${String(this.recorded.length).padStart(26, '0')}`;
    if (known === undefined) this.recorded.push(event);
    if (typeof clientEventId === 'string') this.#clientIds.set(clientEventId, { body, eventId });
    return { eventId, status: 'accepted' };
  }

  /** The sequence numbers recorded per run. */
  byRun(): Map<string, number[]> {
    const runs = new Map<string, number[]>();
    for (const event of this.recorded) {
      const numbers = runs.get(String(event['runId'])) ?? [];
      numbers.push(Number(asObject(event['metadata'] ?? null)['n']));
      runs.set(String(event['runId']), numbers);
    }
    return runs;
  }
}

/** An event as a test's input holds it; `n` tells it from the others. */
export const event = (n: number, more: JsonObject = {}): JsonObject => ({
  runId: `run-${n % 3}`,
  eventType: 'tool.call',
  actor: 'tester',
  action: 'execute',
  timestamp: '2026-01-02T03:04:05Z',
  metadata: { n },
  ...more,
});

export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
export const ndjson = (events: readonly unknown[]): string =>
  events.map((each) => `${JSON.stringify(each)}\n`).join('');

/** A service that also lists the events of a run. */
export class Listing extends FakeService {
  stored = async (runId: string): Promise<StoredEvent[]> =>
    this.recorded
      .filter((event) => event['runId'] === runId)
      .map(
        (event) =>
          ({
            resource: null,
            causedBy: null,
            clientEventId: null,
            metadata: {},
            ...event,
          }) as unknown as StoredEvent,
      );
}
