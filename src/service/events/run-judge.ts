/**
 * Checks the events of a run against their leaf hashes in the tree. Proven by
 * `test/service/proofs/handlers.engines.test.ts`.
 */
import { IntegrityJudge, type IntegrityFacts } from '../../core/proofs/integrity.ts';
import { hashBytes } from '../../core/merkle/tree.ts';
import type { RunEvent } from '../../core/events/run-entry.ts';
import { RunIndex } from '../../core/events/run-index.ts';
import { tileWidth } from '../../core/merkle/tile-path.ts';
import type { StoreReader } from '../../store/port/store.ts';

export class RunJudge {
  readonly #integrity: IntegrityJudge;
  readonly #hashes: LeafHashes;
  /** The run index that checks the rows of a logged graph; absent where there is no such graph. */
  readonly index: RunIndex | null;
  #events = 0;

  constructor(reader: StoreReader, of: { projectId: string; runId: string }, options: { indexed: boolean }) {
    // every added event is below S already, by the range that was read
    this.#integrity = new IntegrityJudge(of.runId, Number.MAX_SAFE_INTEGER);
    this.#hashes = new LeafHashes(reader, of.projectId);
    this.index = options.indexed ? new RunIndex({ hashes: true }) : null;
  }

  /** Events checked so far; the next one has this runSeq. */
  get events(): number {
    return this.#events;
  }

  /** Reads the leaf hashes of the events that are added next. */
  load(chunk: readonly RunEvent[]): Promise<void> {
    return this.#hashes.load(chunk.map(({ index }) => index));
  }

  add(event: RunEvent): void {
    this.#integrity.add(event, this.#hashes.at(event.index));
    this.index?.add(event.index, event.clear?.eventId ?? '', event.hash);
    this.#events++;
  }

  finish(): IntegrityFacts {
    return this.#integrity.finish();
  }
}

/** Leaf hashes from the tree, a few tiles at a time. */
export class LeafHashes {
  readonly #reader: StoreReader;
  readonly #projectId: string;
  #tiles = new Map<number, Uint8Array>();

  constructor(reader: StoreReader, projectId: string) {
    this.#reader = reader;
    this.#projectId = projectId;
  }

  /** Reads the missing tiles of these leaves and drops all other tiles. */
  async load(indexes: readonly number[]): Promise<void> {
    const widths = new Map<number, number>();
    for (const index of indexes) {
      const tile = Math.floor(index / tileWidth);
      widths.set(tile, Math.max(widths.get(tile) ?? 0, (index % tileWidth) + 1));
    }
    const missing = [...widths]
      .filter(([tile, width]) => (this.#tiles.get(tile)?.length ?? 0) < width * hashBytes)
      .map(([index, width]) => ({ level: 0, index, width }));
    const read = await this.#reader.tiles(this.#projectId, 'audit', missing);
    const fresh = new Map(missing.map(({ index }, at) => [index, read[at]]));
    this.#tiles = new Map(
      [...widths.keys()].map((tile) => [tile, fresh.get(tile) ?? this.#tiles.get(tile) ?? new Uint8Array()]),
    );
  }

  /** The hash of a leaf, 32 bytes; empty where the tree lacks it. */
  at(index: number): Uint8Array {
    const start = (index % tileWidth) * hashBytes;
    return (
      this.#tiles.get(Math.floor(index / tileWidth))?.subarray(start, start + hashBytes) ?? new Uint8Array()
    );
  }
}
