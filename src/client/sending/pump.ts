/**
 * Sends the batches of a queue, lane by lane. If the service cannot be reached, a queue in memory gives up at once. A
 * durable queue retries while input arrives, and gives up after one more attempt.
 * Tested by `test/client/sending/pump.test.ts`.
 */
import { isTransient, pause } from '../retry.ts';
import { anySignal } from '../signals.ts';
import { limits } from '../../contract/limits.ts';
import { backoffMs, type Backoff } from '../../core/backoff.ts';
import type { Batch } from './batch.ts';
import { deliver, type DeliveryResult, type DeliverOptions } from './deliver.ts';
import type { BatchQueue } from './queue.ts';

export interface PumpOptions extends DeliverOptions {
  readonly queue: BatchQueue;
  readonly lanes: number;
  /** Called after the queue has settled the batch. */
  readonly delivered: (batch: Batch, delivered: DeliveryResult) => Promise<void>;
  /** Called if the service cannot be reached and the batches wait. */
  readonly waiting: (failure: unknown) => void;
  /** Fires when the input has ended. */
  readonly inputEnded: AbortSignal;
}

/** Resolves after the queue is closed and empty. Throws the first failure that stopped a lane; other lanes then end. */
export async function pump(options: PumpOptions): Promise<void> {
  const stop = new AbortController();
  const signal = anySignal([options.signal, stop.signal]);
  const lanes = Array.from({ length: options.lanes }, async (_, lane) => {
    try {
      await runLane(lane, { ...options, signal });
    } catch (failure) {
      stop.abort(failure);
      options.queue.stop();
      throw failure;
    }
  });
  const settled = await Promise.allSettled(lanes);
  options.signal.throwIfAborted();
  if (stop.signal.aborted) throw stop.signal.reason;
  const failed = settled.find((lane) => lane.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function runLane(lane: number, options: PumpOptions): Promise<void> {
  const { queue, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    const batch = await queue.take(lane);
    if (batch === null) return;
    const delivered = await deliverOrWait(batch, options);
    await queue.settle(lane, batch, delivered);
    await options.delivered(batch, delivered);
  }
}

async function deliverOrWait(batch: Batch, options: PumpOptions): Promise<DeliveryResult> {
  for (let attempt = 0; ; attempt += 1) {
    const last = options.inputEnded.aborted;
    try {
      return await deliver(batch, options);
    } catch (failure) {
      options.signal.throwIfAborted();
      if (!options.queue.durable || last || !isTransient(failure)) throw failure;
      options.waiting(failure);
      await pauseOrEnd(attempt, options);
    }
  }
}

const backoff: Backoff = { firstMs: 1000, mostMs: limits.pushRetrySeconds * 1000, jitter: 0.5 };

/** Waits longer after each failure, and not longer than the input lasts. */
async function pauseOrEnd(attempt: number, { signal, inputEnded }: PumpOptions): Promise<void> {
  const ms = backoffMs(backoff, attempt + 1, Math.random());
  try {
    await pause(ms, anySignal([signal, inputEnded]));
  } catch {
    signal.throwIfAborted();
  }
}
