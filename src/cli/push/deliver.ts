/**
 * One batch to the service and its verdicts back. Retries with the same key are the client's; here a 500 is tried
 * again as well, and a batch that the service refuses as a body is halved until the event at fault stands alone, so
 * that one event cannot hold up 499. Proven by `test/cli/push/deliver.test.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import type { BatchResult } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import type { Json } from '../../core/json/parse.ts';
import type { Batch } from './batch.ts';

/** Where batches go. Implementations retry what is transient and throw GovApiError or GovNetworkError otherwise. */
export interface Sink {
  push(
    batch: { readonly key: string; readonly events: readonly Json[] },
    signal: AbortSignal,
  ): Promise<Receipt>;
}
export interface Receipt {
  /** In the order of the events. */
  readonly results: readonly BatchResult[];
  /** The service had answered this key before. */
  readonly replayed: boolean;
}

export interface Delivered {
  readonly results: readonly BatchResult[];
  /** Accepted events that an earlier request with the same key had recorded already. */
  readonly duplicates: number;
}

export interface DeliverOptions {
  readonly sink: Sink;
  readonly signal: AbortSignal;
  /** Further attempts after a 500. */
  readonly retries: number;
}

/** Delivers a batch. Throws what the sink throws, and INVALID_RESPONSE where verdicts do not match the events. */
export async function deliver(
  { key, events }: Pick<Batch, 'key' | 'events'>,
  options: DeliverOptions,
): Promise<Delivered> {
  try {
    const { results, replayed } = await pushPatiently(key, events, options);
    if (results.length !== events.length) {
      throw new GovNetworkError(
        'INVALID_RESPONSE',
        `expected ${events.length} verdicts, got ${results.length}`,
      );
    }
    const accepted = results.filter(({ status }) => status === 'accepted').length;
    return { results, duplicates: replayed ? accepted : 0 };
  } catch (failure) {
    const reason = faultOfBody(failure);
    if (reason === undefined) throw failure;
    if (events.length === 1)
      return { results: [{ eventId: null, status: 'rejected', reason }], duplicates: 0 };
    const middle = Math.ceil(events.length / 2);
    // in order, and with keys of their own that a repetition makes again
    const left = await deliver({ key: `${key}.0`, events: events.slice(0, middle) }, options);
    const right = await deliver({ key: `${key}.1`, events: events.slice(middle) }, options);
    return { results: [...left.results, ...right.results], duplicates: left.duplicates + right.duplicates };
  }
}

async function pushPatiently(
  key: string,
  events: readonly Json[],
  { sink, signal, retries }: DeliverOptions,
): Promise<Receipt> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await sink.push({ key, events }, signal);
    } catch (failure) {
      // nothing is stored under a key by a 500 (contract D6), and every other status is the client's to repeat
      if (!(failure instanceof GovApiError) || failure.status !== 500 || attempt >= retries) throw failure;
      await sleep(Math.random() * backoffMs(attempt), undefined, { signal });
    }
  }
}

/** The ceiling of the wait before attempt `attempt + 1`. */
export const backoffMs = (attempt: number): number =>
  Math.min(limits.clientBackoffMaxMs, limits.clientBackoffMs * 2 ** attempt);

const bodyFaults: Readonly<Record<string, string>> = {
  PAYLOAD_TOO_LARGE: 'event_too_large',
  JSON_TOO_COMPLEX: 'unsafe_json',
  INVALID_JSON: 'unsafe_json',
};

/** The verdict for an event that alone makes the service refuse the body; undefined for every other failure. */
function faultOfBody(failure: unknown): string | undefined {
  if (!(failure instanceof GovApiError)) return undefined;
  const code = bodyFaults[failure.code] ?? (failure.status === 413 ? 'event_too_large' : undefined);
  return code === undefined ? undefined : `${code}: ${failure.detail}`.slice(0, limits.batchReasonChars);
}
