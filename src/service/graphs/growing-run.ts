/**
 * The graph of a run as far as its events were read, with its stored parts and the checks of its events, so that a proof at
 * a later size reads only later events. Proven by `test/service/proofs/continued.engines.test.ts`.
 */
import { deflateRawSync } from 'node:zlib';
import { limits } from '../../contract/limits.ts';
import { GraphBuilder } from '../../core/graphs/builder.ts';
import type { Declaration } from '../../core/graphs/declaration.ts';
import type { GraphChunk, GraphFacts } from '../../core/graphs/rows.ts';
import type { IntegrityFacts } from '../../core/proofs/integrity.ts';
import type { GraphPart, StoreReader } from '../../store/port/store.ts';
import { ReadSoFar } from '../events/read-so-far.ts';
import { RunJudge } from '../events/run-judge.ts';
import { runEvents } from '../events/run-stream.ts';
import type { RunOf, TaskContext } from '../call/work.ts';

export class GrowingRun {
  readonly #of: RunOf & { readonly proves: boolean };
  readonly #builder: GraphBuilder;
  /** Null where no proof follows; then nothing is kept, either. */
  readonly #judge: RunJudge | null;
  readonly #read: ReadSoFar;
  /** Complete parts, unless they are too large to be kept. */
  #parts: GraphPart[] = [];
  #partBytes = 0;

  constructor(
    reader: StoreReader,
    of: RunOf & { readonly proves: boolean },
    declaration: Declaration | null,
  ) {
    this.#of = of;
    this.#builder = new GraphBuilder(of.runId, declaration);
    this.#judge = of.proves ? new RunJudge(reader, of, { indexed: false }) : null;
    this.#read = new ReadSoFar(of, { types: ['gov.event/1'], changedBy: ['gov.erasure/1', 'gov.prune/1'] });
  }

  /** The tree size of the newest read. */
  get size(): number {
    return this.#read.size;
  }

  /** About how many bytes it has in memory. */
  get bytes(): number {
    return this.#builder.bytes + this.#partBytes;
  }

  /** Whether the log still has what was read. */
  isStill(reader: StoreReader): Promise<boolean> {
    return this.#read.isStill(reader);
  }

  /** Stages the parts of the events so far: each graph has all of its rows. */
  async stageAgain({ host }: TaskContext): Promise<void> {
    for (const part of this.#parts) await host.stage(part);
  }

  /** Reads the events below an index that were not read yet, and stages the parts that they complete. */
  async catchUp(context: TaskContext, beforeIndex: number): Promise<void> {
    if (this.#judge !== null) await this.#read.extend(context.reader, beforeIndex);
    const range = { fromSeq: this.#builder.events, beforeIndex };
    for await (const chunk of runEvents(context, this.#of, range)) {
      await this.#judge?.load(chunk);
      for (const event of chunk) {
        this.#judge?.add(event);
        this.#builder.add(event);
      }
      for (const each of this.#builder.drain()) {
        const part = partOf(each);
        this.#hold(part);
        await context.host.stage(part);
      }
    }
  }

  /** The graph of the events so far; stages its last parts. */
  async facts({ host }: TaskContext): Promise<GraphFacts> {
    const { facts, last } = this.#builder.at();
    for (const chunk of last) await host.stage(partOf(chunk));
    return facts;
  }

  /** The checks of the events so far; null where no proof follows, or there is no event. */
  integrity(): IntegrityFacts | null {
    return this.#judge === null || this.#judge.events === 0 ? null : this.#judge.finish();
  }

  #hold(part: GraphPart): void {
    this.#partBytes += part.items.length;
    // more is never kept (`Kept.keep`)
    if (this.#partBytes > limits.keptRunBytes) this.#parts = [];
    else this.#parts.push(part);
  }
}

/** Compresses twice as fast as zlib's default, into 5 % more bytes. */
const level = 3;

const partOf = ({ list, part, rows }: GraphChunk): GraphPart => ({
  list,
  part,
  items: deflateRawSync(rows, { level }),
});
