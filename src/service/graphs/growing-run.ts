/**
 * The graph of a run as far as its events were read, with its stored parts, so that the graph at a later size reads only
 * later events. Proven by `test/service/proofs/continued.engines.test.ts`.
 */
import { deflateRawSync } from 'node:zlib';
import { limits } from '../../contract/limits.ts';
import type { GraphBuilder } from '../../core/graphs/builder.ts';
import type { GraphChunk, GraphFacts } from '../../core/graphs/rows.ts';
import type { GraphPart } from '../../store/port/store.ts';
import type { RunJudge } from '../events/run-judge.ts';
import { runEvents } from '../events/run-stream.ts';
import type { RunOf, TaskContext } from '../call/work.ts';

export class GrowingRun {
  /** Null where no proof follows. */
  readonly judge: RunJudge | null;
  /** A size of the log before the newest read. */
  size = 0;
  readonly #of: RunOf;
  readonly #builder: GraphBuilder;
  /** Complete parts, unless they are too large to be kept. */
  #parts: GraphPart[] = [];
  #partBytes = 0;

  constructor(of: RunOf, { builder, judge }: { builder: GraphBuilder; judge: RunJudge | null }) {
    this.#of = of;
    this.#builder = builder;
    this.judge = judge;
  }

  get events(): number {
    return this.#builder.events;
  }

  /** About how many bytes it has in memory. */
  get bytes(): number {
    return this.#builder.bytes + this.#partBytes;
  }

  /** Stages the parts of the events so far: each graph has all of its rows. */
  async stageAgain({ host }: TaskContext): Promise<void> {
    for (const part of this.#parts) await host.stage(part);
  }

  /** Reads the events below an index that were not read yet, and stages the parts that they complete. */
  async catchUp(context: TaskContext, beforeIndex: number): Promise<void> {
    const range = { fromSeq: this.events, beforeIndex };
    for await (const chunk of runEvents(context, this.#of, range)) {
      await this.judge?.load(chunk);
      for (const event of chunk) {
        this.judge?.add(event);
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
