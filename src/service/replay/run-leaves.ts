/**
 * Reads the events and decisions of a run in log order, for replays. An altered leaf does not end the stream:
 * the stream contains the hash that the tree has for it. Proven by `test/service/replay/faults.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { OpenLeaf } from '../../core/decided/leaf.ts';
import type { RunEvent } from '../../core/events/run-entry.ts';
import type { IndexedLeaf } from '../../store/port/store.ts';
import { decidedLeaves, type RunAt } from '../proofs/decided-leaves.ts';
import { runEvents } from '../events/run-stream.ts';
import { LeafHashes } from '../events/run-judge.ts';
import type { TaskContext } from '../call/work.ts';

type RecordedLeaf =
  | { readonly kind: 'event'; readonly index: number; readonly event: RunEvent }
  | { readonly kind: 'evaluation'; readonly index: number; readonly leaf: OpenLeaf }
  | { readonly kind: 'risk'; readonly index: number; readonly leaf: OpenLeaf }
  /** `expected`: 32 bytes. */
  | { readonly kind: 'altered'; readonly index: number; readonly expected: Uint8Array };

/** All leaves of the run below the tree size. Of events, only the body at `/action` is read. */
export async function* leavesOfRun(
  context: TaskContext,
  run: RunAt,
): AsyncGenerator<RecordedLeaf, void, undefined> {
  const streams = [
    new Ahead(pastAltered(context, run, eventsFrom(context, run))),
    new Ahead(pastAltered(context, run, decidedFrom(context, run, 'evaluation'))),
    new Ahead(pastAltered(context, run, decidedFrom(context, run, 'risk'))),
  ];
  for (const stream of streams) await stream.next();
  for (;;) {
    let first: Ahead | undefined;
    for (const stream of streams) {
      if (stream.head !== null && stream.head.index < (first?.head?.index ?? Infinity)) first = stream;
    }
    const head = first?.head ?? null;
    if (first === undefined || head === null) return;
    yield head;
    await first.next();
  }
}

class Ahead {
  head: RecordedLeaf | null = null;
  readonly #leaves: AsyncGenerator<RecordedLeaf, void, undefined>;

  constructor(leaves: AsyncGenerator<RecordedLeaf, void, undefined>) {
    this.#leaves = leaves;
  }

  async next(): Promise<void> {
    const { done, value } = await this.#leaves.next();
    this.head = done === true ? null : value;
  }
}

/** A reader that can continue after an error. */
interface Resumable {
  /** Leaves below an index. */
  read(beforeIndex: number): AsyncGenerator<RecordedLeaf, void, undefined>;
  /** Continues after the leaf at an index, which cannot be read. */
  skip(index: number): void;
}

function eventsFrom(context: TaskContext, run: RunAt): Resumable {
  let fromSeq = 0;
  return {
    async *read(beforeIndex) {
      for await (const chunk of runEvents(context, run, {
        fromSeq,
        beforeIndex,
        bodies: { at: '/action' },
      })) {
        for (const event of chunk) {
          fromSeq++;
          yield { kind: 'event', index: event.index, event };
        }
      }
    },
    skip: () => void fromSeq++,
  };
}

const typeOf = { evaluation: 'gov.evaluation/1', risk: 'gov.decision/1' } as const satisfies Record<
  string,
  IndexedLeaf
>;

function decidedFrom(context: TaskContext, run: RunAt, kind: keyof typeof typeOf): Resumable {
  let after = -1;
  return {
    async *read(beforeIndex) {
      for await (const leaf of decidedLeaves(context, run, { type: typeOf[kind], beforeIndex, after })) {
        after = leaf.index;
        yield { kind, index: leaf.index, leaf };
      }
    },
    skip: (index) => void (after = index),
  };
}

/**
 * Reads past altered leaves. A chunk with an altered leaf is read up to that leaf; the leaf itself follows as
 * `altered`.
 */
async function* pastAltered(
  { reader }: TaskContext,
  { projectId, treeSize }: RunAt,
  leaves: Resumable,
): AsyncGenerator<RecordedLeaf, void, undefined> {
  for (;;) {
    let index: number;
    try {
      yield* leaves.read(treeSize);
      return;
    } catch (error) {
      index = alteredIndex(error);
    }
    yield* leaves.read(index);
    leaves.skip(index);
    const hashes = new LeafHashes(reader, projectId);
    await hashes.load([index]);
    yield { kind: 'altered', index, expected: hashes.at(index) };
  }
}

/** The index of the leaf that an error reports as altered. Throws any other error. */
function alteredIndex(error: unknown): number {
  const { tree, index } = error instanceof GovError ? error.extensions : {};
  if (tree === 'audit' && typeof index === 'number') return index;
  throw error;
}
