/**
 * The layer `event_integrity` (`docs/reference/proof-format.md`): the leaves of a run are in the tree, numbered without a gap, with
 * unique ids and server times that never decrease. It reads records only, so erasures do not change the result.
 * Memory grows with log n. Proven by `test/core/proofs/layers.test.ts`.
 */
import { timestampSource } from '../events/links.ts';
import { equalHash, hashText } from '../hash.ts';
import { eventIndex } from '../id.ts';
import type { JsonObject } from '../json/parse.ts';
import { ListRoot } from '../merkle/list-root.ts';
import type { RunEvent } from '../events/run-entry.ts';
import { type LayerCheck, type LayerResult, type RunEvidence, verdictOf } from './statement.ts';
import { parseTimestamp } from '../time.ts';

/** Number of events by `metadata.timestampSource`; events whose bodies were not read are not counted. */
export type TimestampSources = Readonly<Record<string, number>>;

export interface IntegrityFacts {
  readonly run: RunEvidence;
  readonly checks: readonly LayerCheck[];
  readonly largestClockSkewMs: number;
  readonly timestampSources: TimestampSources;
  /** Events of type `x.unknown`: an importer did not understand what its source recorded. */
  readonly unknownEvents: number;
}

const unknownType = 'x.unknown';
const serverTimeForm = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;

/** Checks the events of one run, added in the order of runSeq. Never throws on malformed records. */
export class IntegrityJudge {
  readonly #runId: string;
  readonly #size: number;
  readonly #leaves = new ListRoot();
  readonly #sources = new Map<string, number>();
  #firstIndex = -1;
  #lastIndex = -1;
  #lastServerTime = '';
  #lastServerMs: number | null = null;
  #skewMs = 0;
  #unknown = 0;
  #inTree = true;
  #gapFree = true;
  #uniqueIds = true;
  #monotonic = true;

  /** `treeSize`: S; every leaf index must be below it. */
  constructor(runId: string, treeSize: number) {
    this.#runId = runId;
    this.#size = treeSize;
  }

  /** Adds the next event. `treeHash`: leaf hash of the tree at the index of the event, 32 bytes. Cost: about 2 µs. */
  add(event: RunEvent, treeHash: Uint8Array): void {
    const { index, hash, clear } = event;
    if ((hash !== treeHash && !equalHash(hash, treeHash)) || index >= this.#size || clear === null)
      this.#inTree = false;
    if (index <= this.#lastIndex) this.#gapFree = false;
    if (this.#firstIndex === -1) this.#firstIndex = index;
    this.#lastIndex = index;
    if (clear === null) {
      this.#gapFree = false;
    } else {
      if (clear.runId !== this.#runId || clear.runSeq !== this.#leaves.size) this.#gapFree = false;
      // An id contains its leaf index, so ids are unique if indexes ascend.
      if (eventIndex(clear.eventId) !== index) this.#uniqueIds = false;
      if (clear.eventType === unknownType) this.#unknown += 1;
      this.#addTimes(clear.timestamp, clear.serverTimestamp);
    }
    this.#leaves.addHash(hash.toString('latin1'));
    this.#addSource(timestampSource(event));
  }

  /** Returns the facts; throws for a run without events. */
  finish(): IntegrityFacts {
    if (this.#leaves.size === 0) throw new Error('expected the events of a run, got none');
    return {
      run: {
        runId: this.#runId,
        runEvents: this.#leaves.size,
        runRoot: hashText(this.#leaves.root()),
        firstIndex: this.#firstIndex,
        lastIndex: this.#lastIndex,
      },
      checks: [
        { id: 'leaves_in_tree', pass: this.#inTree },
        { id: 'run_seq_gap_free', pass: this.#gapFree },
        { id: 'event_ids_unique', pass: this.#uniqueIds && this.#gapFree },
        { id: 'server_time_monotonic', pass: this.#monotonic },
      ],
      largestClockSkewMs: this.#skewMs,
      timestampSources: Object.fromEntries(this.#sources),
      unknownEvents: this.#unknown,
    };
  }

  #addTimes(timestamp: string, serverTimestamp: string): void {
    // The events of a batch share their time.
    if (serverTimestamp !== this.#lastServerTime || this.#lastServerMs === null) {
      this.#lastServerMs = serverTimeForm.test(serverTimestamp) ? parseTimestamp(serverTimestamp) : null;
      // The server spells times with a fixed width, so text order is time order.
      if (this.#lastServerMs === null || serverTimestamp < this.#lastServerTime) this.#monotonic = false;
      this.#lastServerTime = serverTimestamp;
    }
    const clientMs = parseTimestamp(timestamp);
    if (this.#lastServerMs !== null && clientMs !== null) {
      this.#skewMs = Math.max(this.#skewMs, Math.abs(this.#lastServerMs - clientMs));
    }
  }

  #addSource(source: string | null): void {
    if (source !== null) this.#sources.set(source, (this.#sources.get(source) ?? 0) + 1);
  }
}

/**
 * Returns the layer. Timestamp sources come from bodies, which may be erased later: unless all bodies are still
 * readable, a recomputation uses the sources that the first statement `stated`.
 */
export function eventIntegrity(facts: IntegrityFacts, stated?: TimestampSources): LayerResult {
  const { checks, largestClockSkewMs, timestampSources, unknownEvents, run } = facts;
  const counted = Object.values(timestampSources).reduce((sum, count) => sum + count, 0);
  const sources = stated === undefined || counted === run.runEvents ? timestampSources : stated;
  const claims: JsonObject = {
    largestClockSkewMs,
    timestampSources: { ...sources },
    // absent without such events, as in proofs of earlier releases
    ...(unknownEvents === 0 ? {} : { unknownEvents }),
  };
  return { layer: 'event_integrity', claims, checks, verdict: verdictOf(checks) };
}
