/**
 * Gathers records into batches for `POST /events/batch`. Events of one run stay in one lane, and a lane sends one batch at
 * a time, so each run arrives in the order of its file. The same input with the same options gives the same batches and
 * idempotency keys, so sending again after a crash records nothing twice. Tested by `test/client/sending/batch.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import type { Json } from '../../core/json/parse.ts';

/** An event with its JSON as it is sent. */
export interface SendableRecord {
  /** Line of the source where the event begins, from 1. */
  readonly line: number;
  readonly event: Json;
  readonly text: string;
}

export interface Batch {
  readonly key: string;
  readonly lane: number;
  /** Index of the source in the command's list. */
  readonly source: number;
  readonly sourceName: string;
  /** Line of each event. */
  readonly lines: readonly number[];
  readonly events: readonly Json[];
  /** Position of each event among the records of its source, from 0. */
  readonly positions: readonly number[];
  /** Position of the last event among the records of its source, from 0. */
  readonly last: number;
}

export interface BatcherOptions {
  readonly batchSize: number;
  readonly lanes: number;
  /** Prefix of each key. */
  readonly keyPrefix: string;
}

/** Bytes left for events in a body, and JSON values left for them. */
const bodyBytes = limits.batchBodyBytes - '{"events":[]}'.length + 1; // each event is counted with a comma
const bodyValues = limits.jsonValuesLarge - 2;

/** Batches of one source. One batch grows in each lane. */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #source: { readonly index: number; readonly name: string };
  readonly #growing = new Map<number, OpenBatch>();

  constructor(source: { readonly index: number; readonly name: string }, options: BatcherOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** Whether a batch that is not full has events. */
  get isPartial(): boolean {
    return this.#growing.size > 0;
  }

  /** Adds a record. Returns the batches that are now complete. `position` counts the source's records. */
  add(record: SendableRecord, position: number): Batch[] {
    const lane = laneOf(record.event, this.#options.lanes);
    const bytes = Buffer.byteLength(record.text) + 1;
    const values = bytes <= smallEventBytes ? bytes / 2 : countValues(record.event);
    const complete: Batch[] = [];
    const before = this.#growing.get(lane);
    if (before !== undefined && (before.bytes + bytes > bodyBytes || before.values + values > bodyValues)) {
      complete.push(this.#finish(lane, before));
    }
    const growing = this.#growing.get(lane) ?? {
      first: position,
      last: position,
      bytes: 0,
      values: 0,
      records: [],
      positions: [],
    };
    growing.records.push(record);
    growing.positions.push(position);
    growing.last = position;
    growing.bytes += bytes;
    growing.values += values;
    this.#growing.set(lane, growing);
    if (growing.records.length >= this.#options.batchSize) complete.push(this.#finish(lane, growing));
    return complete;
  }

  /** Returns the batches that are not full, in the order of their first events. */
  flush(): Batch[] {
    const growing = [...this.#growing].toSorted((a, b) => a[1].first - b[1].first);
    return growing.map(([lane, part]) => this.#finish(lane, part));
  }

  #finish(lane: number, { first, last, records, positions }: OpenBatch): Batch {
    this.#growing.delete(lane);
    const texts = records.map((record) => record.text).join('\n');
    const digest = hash('sha256', `${this.#source.index}:${first}\n${texts}`, 'hex');
    return {
      key: `${this.#options.keyPrefix}${digest.slice(0, 40)}`,
      lane,
      source: this.#source.index,
      sourceName: this.#source.name,
      lines: records.map((record) => record.line),
      events: records.map((record) => record.event),
      positions,
      last,
    };
  }
}

interface OpenBatch {
  readonly first: number;
  last: number;
  bytes: number;
  values: number;
  readonly records: SendableRecord[];
  readonly positions: number[];
}

/** Below this size, half of a body's bytes limit the number of values well enough: 500 such events fit. */
const smallEventBytes = Math.floor((2 * bodyValues) / limits.batchEvents);

function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((count: number, member) => count + countValues(member), 1);
}

/** Returns the lane of an event, by its run. */
export function laneOf(event: Json, lanes: number): number {
  if (lanes === 1 || typeof event !== 'object' || event === null || Array.isArray(event)) return 0;
  const { runId } = event;
  return typeof runId === 'string'
    ? Number.parseInt(hash('sha256', runId, 'hex').slice(0, 8), 16) % lanes
    : 0;
}
