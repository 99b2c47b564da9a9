/**
 * The spool as the queue between reader and lanes. Batches of earlier sessions go first, in order, through one lane; then
 * each lane sends its own. Tested by `test/client/sending/spool.test.ts`.
 */
import type { Batch } from './batch.ts';
import type { DeliveryResult } from './deliver.ts';
import { Bell, type BatchQueue } from './queue.ts';
import type { Spool, SpooledBatch } from './spool.ts';

export class SpoolQueue implements BatchQueue {
  readonly durable = true;
  readonly #spool: Spool;
  /** Called after a batch is on disk. */
  readonly #queued: ((batch: Batch) => void) | undefined;
  readonly #earlier: SpooledBatch[];
  readonly #lanes: SpooledBatch[][];
  readonly #taken = new Map<number, SpooledBatch>();
  readonly #bell = new Bell();
  #closed = false;
  #stopped = false;

  constructor(spool: Spool, lanes: number, queued?: (batch: Batch) => void) {
    this.#queued = queued;
    this.#spool = spool;
    this.#earlier = spool.waiting();
    this.#lanes = Array.from({ length: lanes }, () => []);
  }

  /** Events on disk without an acknowledgement. */
  get waitingEvents(): number {
    return [this.#earlier, ...this.#lanes].flat().reduce((sum, { events }) => sum + events, 0);
  }

  /** Their bytes on disk. */
  get waitingBytes(): number {
    return [this.#earlier, ...this.#lanes].flat().reduce((sum, { length }) => sum + length, 0);
  }

  async put(batch: Batch): Promise<void> {
    this.append(batch);
  }

  /** Like `put`, and returns only after the batch is on disk. */
  append(batch: Batch): void {
    const lane = this.#lanes[batch.lane];
    if (lane === undefined) throw new Error(`expected a lane below ${this.#lanes.length}, got ${batch.lane}`);
    lane.push(this.#spool.append(batch));
    this.#queued?.(batch);
    this.#bell.ring();
  }

  /** Queues events of an earlier batch again, also after `close`: a later session then sends them. */
  again(batch: Batch): void {
    const lane = batch.lane % this.#lanes.length;
    this.#lanes[lane]?.push(this.#spool.appendAgain({ ...batch, lane }));
    this.#bell.ring();
  }

  async take(lane: number): Promise<Batch | null> {
    for (;;) {
      if (this.#stopped) return null;
      const next = this.#queueOf(lane)?.[0];
      if (next !== undefined) {
        this.#taken.set(lane, next);
        return this.#spool.read(next);
      }
      if (this.#closed && this.#earlier.length === 0) return null;
      await this.#bell.wait();
    }
  }

  /** While earlier batches wait, lane 0 sends them and the other lanes wait. */
  #queueOf(lane: number): SpooledBatch[] | undefined {
    if (this.#earlier.length > 0) return lane === 0 ? this.#earlier : undefined;
    return this.#lanes[lane];
  }

  async settle(lane: number, batch: Batch, delivered: DeliveryResult): Promise<void> {
    const waiting = this.#taken.get(lane);
    if (waiting === undefined) throw new Error(`expected lane ${lane} to have taken a batch`);
    this.#spool.acknowledge(waiting, batch, delivered);
    this.#taken.delete(lane);
    this.#queueOf(lane)?.shift();
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
}
