/**
 * Sends one batch to the service and returns its verdicts. The client retries with the same key; this file also retries
 * after a 500. If the service rejects the body of a batch, it halves the batch until one event remains, so that one
 * event cannot hold up 499. Tested by `test/client/sending/deliver.test.ts`.
 */
import { GovApiError, GovNetworkError } from '../errors.ts';
import type { BatchResult } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { backoffMs } from '../../core/backoff.ts';
import type { Json } from '../../core/json/parse.ts';
import type { StoredEvent } from '../../core/intake/reconcile.ts';
import { type BatchReceipt, receiptOf } from '../receipts/answered.ts';
import { receiptHeader } from '../receipts/receipted.ts';
import { clientBackoff, pause } from '../retry.ts';
import type { Batch } from './batch.ts';

/** The destination of batches. It retries temporary failures, and throws GovApiError or GovNetworkError for others. */
export interface Sink {
  push(
    batch: { readonly key: string; readonly events: readonly Json[] },
    signal: AbortSignal,
  ): Promise<BatchAnswer>;
  /** Returns whether an event exists; undefined if the caller may not know. Absent: this destination cannot be read. */
  readonly has?: (eventId: string, signal: AbortSignal) => Promise<boolean | undefined>;
  readonly stored?: (runId: string, signal: AbortSignal) => Promise<readonly StoredEvent[]>;
  /** Returns the newest events of a type in a run, the newest first; none also if the caller may not know. */
  readonly newest?: (
    runId: string,
    of: { readonly eventType: string; readonly limit: number; readonly signal: AbortSignal },
  ) => Promise<readonly StoredEvent[]>;
  /** Returns how many events a run has; undefined if the caller may not know. */
  readonly count?: (runId: string, signal: AbortSignal) => Promise<number | undefined>;
}
export interface BatchAnswer {
  /** In the order of the events. */
  readonly results: readonly BatchResult[];
  /** The service had already answered this key. */
  readonly replayed: boolean;
  /** The header `Gov-Receipt`, where the answer has one. */
  readonly receipt?: string | undefined;
}

/** What the answer to a batch says. */
export const answered = (
  { results }: { readonly results: readonly BatchResult[] },
  headers: Readonly<Record<string, string>>,
): BatchAnswer => ({
  results,
  replayed: headers['idempotent-replayed'] === 'true',
  receipt: headers[receiptHeader],
});

export interface DeliveryResult {
  readonly results: readonly BatchResult[];
  /** Accepted events that an earlier request with the same key had recorded. */
  readonly duplicates: number;
  /** Of the requests that the batch took. */
  readonly receipts?: readonly BatchReceipt[];
}

export interface DeliverOptions {
  readonly sink: Sink;
  readonly signal: AbortSignal;
  /** Retries after a 500. */
  readonly retries: number;
}

/** Delivers a batch. Throws the sink's errors, and INVALID_RESPONSE if the verdicts do not match the events. */
export async function deliver(
  { key, events }: Pick<Batch, 'key' | 'events'>,
  options: DeliverOptions,
): Promise<DeliveryResult> {
  try {
    const { results, replayed, receipt: header } = await pushPatiently(key, events, options);
    if (results.length !== events.length) {
      throw new GovNetworkError(
        'INVALID_RESPONSE',
        `expected ${events.length} verdicts, got ${results.length}`,
      );
    }
    const accepted = results.filter(({ status }) => status === 'accepted').length;
    const receipt = receiptOf(header, results);
    return { results, duplicates: replayed ? accepted : 0, receipts: receipt === null ? [] : [receipt] };
  } catch (failure) {
    const reason = faultOfBody(failure);
    if (reason === undefined) throw failure;
    if (events.length === 1)
      return { results: [{ eventId: null, status: 'rejected', reason }], duplicates: 0 };
    const middle = Math.ceil(events.length / 2);
    // in order, with keys that a repeated delivery derives again
    const left = await deliver({ key: `${key}.0`, events: events.slice(0, middle) }, options);
    const right = await deliver({ key: `${key}.1`, events: events.slice(middle) }, options);
    return {
      results: [...left.results, ...right.results],
      duplicates: left.duplicates + right.duplicates,
      receipts: [
        ...(left.receipts ?? []),
        ...(right.receipts ?? []).map((receipt) => shifted(receipt, middle)),
      ],
    };
  }
}

const shifted = ({ events, ...receipt }: BatchReceipt, by: number): BatchReceipt => ({
  ...receipt,
  events: events.map((at) => at + by),
});

async function pushPatiently(
  key: string,
  events: readonly Json[],
  { sink, signal, retries }: DeliverOptions,
): Promise<BatchAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await sink.push({ key, events }, signal);
    } catch (failure) {
      // the service stores nothing under a key that got a 500 (contract D6); the client retries all other statuses
      if (!(failure instanceof GovApiError) || failure.status !== 500 || attempt >= retries) throw failure;
      await pause(backoffMs(clientBackoff, attempt + 1, Math.random()), signal);
    }
  }
}

const bodyFaults: Readonly<Record<string, string>> = {
  PAYLOAD_TOO_LARGE: 'event_too_large',
  JSON_TOO_COMPLEX: 'unsafe_json',
  INVALID_JSON: 'unsafe_json',
};

/** Returns the verdict for a single event whose body the service rejects; undefined for any other failure. */
function faultOfBody(failure: unknown): string | undefined {
  if (!(failure instanceof GovApiError)) return undefined;
  const code = bodyFaults[failure.code] ?? (failure.status === 413 ? 'event_too_large' : undefined);
  return code === undefined ? undefined : `${code}: ${failure.detail}`.slice(0, limits.batchReasonChars);
}
