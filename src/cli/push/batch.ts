/**
 * Records gathered into batches as `POST /events/batch` takes them. Events of one run stay in one lane, and lanes are
 * sent one batch at a time, so each run arrives in the order of its file. The same input cut with the same options
 * gives the same batches with the same idempotency keys, so sending again after a crash records nothing twice.
 * Proven by `test/cli/push/batch.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import type { Json } from '../../core/json/parse.ts';
import type { SendableRecord } from './record.ts';

export interface Batch {
  readonly key: string;
  readonly lane: number;
  /** Index of the source among those of the command. */
  readonly source: number;
  readonly sourceName: string;
  /** Line of each event. */
  readonly lines: readonly number[];
  readonly events: readonly Json[];
  /** Position of the last event among the records of its source, from 0. */
  readonly last: number;
}

export interface BatcherOptions {
  readonly batchSize: number;
  readonly lanes: number;
  /** Put before each key. */
  readonly keyPrefix: string;
}

/** Bytes around the events of a body, and the JSON values it may hold beside theirs. */
const bodyBytes = limits.batchBodyBytes - '{"events":[]}'.length + 1; // each event is counted with a comma
const bodyValues = limits.jsonValuesLarge - 2;

/** Batches of one source, one growing per lane. */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #source: { readonly index: number; readonly name: string };
  readonly #growing = new Map<number, Growing>();

  constructor(source: { readonly index: number; readonly name: string }, options: BatcherOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** Whether events wait for their batch to fill. */
  get isPartial(): boolean {
    return this.#growing.size > 0;
  }

  /** Adds a record; returns the batches that are complete now. `position` is its place among the source's records. */
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
    };
    growing.records.push(record);
    growing.last = position;
    growing.bytes += bytes;
    growing.values += values;
    this.#growing.set(lane, growing);
    if (growing.records.length >= this.#options.batchSize) complete.push(this.#finish(lane, growing));
    return complete;
  }

  /** The batches that are not full, in the order of their first events. */
  flush(): Batch[] {
    const growing = [...this.#growing].toSorted((a, b) => a[1].first - b[1].first);
    return growing.map(([lane, part]) => this.#finish(lane, part));
  }

  #finish(lane: number, { first, last, records }: Growing): Batch {
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
      last,
    };
  }
}

interface Growing {
  readonly first: number;
  last: number;
  bytes: number;
  values: number;
  readonly records: SendableRecord[];
}

/** Up to this size half the bytes bound the number of values well enough: 500 such events stay below the limit. */
const smallEventBytes = Math.floor((2 * bodyValues) / limits.batchEvents);

function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((count: number, member) => count + countValues(member), 1);
}

/** The lane of an event: by its run, where it has one. */
export function laneOf(event: Json, lanes: number): number {
  if (lanes === 1 || typeof event !== 'object' || event === null || Array.isArray(event)) return 0;
  const { runId } = event;
  return typeof runId === 'string'
    ? Number.parseInt(hash('sha256', runId, 'hex').slice(0, 8), 16) % lanes
    : 0;
}
