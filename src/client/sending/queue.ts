/**
 * Batches between the reader and the lanes. In memory a lane keeps few batches, and the reader waits. The spool
 * (`spool-queue.ts`) keeps as many as fit on disk, and the reader never waits for the service.
 * Tested by `test/client/sending/pump.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Batch } from './batch.ts';
import type { DeliveryResult } from './deliver.ts';

export interface BatchQueue {
  /** Whether the content of the queue survives this process. */
  readonly durable: boolean;
  /** Resolves after the queue has taken the batch. A durable queue has it on disk then. */
  put(batch: Batch): Promise<void>;
  /** Returns the lane's next batch. Repeats a taken batch that is not settled. Null after the lane has ended. */
  take(lane: number): Promise<Batch | null>;
  /** Marks the lane's taken batch as done. */
  settle(lane: number, batch: Batch, delivered: DeliveryResult): Promise<void>;
  /** No batch follows: lanes end when they are empty. */
  close(): void;
  /** Sends no more: lanes end now, and `put` no longer waits. */
  stop(): void;
}

/** Wakes all waiters when a state changes. */
export class Bell {
  #waiting: (() => void)[] = [];

  ring(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export class MemoryQueue implements BatchQueue {
  readonly durable = false;
  readonly #lanes: Batch[][];
  readonly #bell = new Bell();
  #closed = false;
  #stopped = false;

  constructor(lanes: number) {
    this.#lanes = Array.from({ length: lanes }, () => []);
  }

  async put(batch: Batch): Promise<void> {
    const lane = this.#lane(batch.lane);
    while (lane.length >= limits.pushQueuedBatches && !this.#stopped) await this.#bell.wait();
    lane.push(batch);
    this.#bell.ring();
  }

  async take(lane: number): Promise<Batch | null> {
    for (;;) {
      const batch = this.#lane(lane)[0];
      if (this.#stopped) return null;
      if (batch !== undefined) return batch;
      if (this.#closed) return null;
      await this.#bell.wait();
    }
  }

  async settle(lane: number): Promise<void> {
    this.#lane(lane).shift();
    this.#bell.ring();
  }

  close(): void {
    this.#closed = true;
    this.#bell.ring();
  }

  stop(): void {
    this.#stopped = true;
    this.#bell.ring();
  }

  #lane(lane: number): Batch[] {
    const found = this.#lanes[lane];
    if (found === undefined) throw new Error(`expected a lane below ${this.#lanes.length}, got ${lane}`);
    return found;
  }
}
