/**
 * All events of an export, built in parts: some here, some by another thread, whichever is free, and joined in the order of
 * the log. Parts are handed out as they are needed and few are held, so that memory does not grow with what is exported.
 * Proven by `test/service/exportparts.test.ts`.
 */
import type { Output } from './exportoutput.ts';
import { exportPart, separatorOf } from './exportpart.ts';
import { Count, filtersOf, rowsOfLeaves, type Counted } from './exportrows.ts';
import { keptFrom, systemEvents, type LeafRange } from './exportsources.ts';
import { rowTextOf } from './exporttext.ts';
import type { ExportInput, ExportPart, ExportPartInput, TaskContext } from './work.ts';

/** Leaves of a part: some 10 ms of work, of events that mostly fill a chunk. */
const partLeaves = 1024;
/** Parts that the other thread has at a time: one that it builds, and the next. */
const besideAtOnce = 2;
/** Parts that are held, or built, at a time. */
const partsAhead = 4;

/** Whether all events of the log are gone through, and nothing has to be known of the row before. */
export const isJoined = (input: ExportInput): boolean =>
  input.resource === 'audit_events' && !input.isProved && filtersOf(input).runId === undefined;

/** Writes the rows of an export that `isJoined`. Rejects as the part that stands first in the log. */
export async function writeJoined(context: TaskContext, input: ExportInput, out: Output): Promise<Counted> {
  const count = new Count();
  const separator = separatorOf[input.format];
  const from = await keptFrom(context, input);
  const textOf = rowTextOf(input.format, 'audit_events');
  const leaves = systemEvents(context, { ...input, filters: filtersOf(input) }, from);
  for await (const rows of rowsOfLeaves(context, { ...input, resource: 'audit_events', leaves })) {
    for (const row of rows) {
      out.add((count.rows === 0 ? '' : separator) + textOf(row));
      count.add(row.leaf);
    }
    await out.flush();
  }
  const parts = new Parts(context, input, from, () => out.memory());
  for (let part = await parts.next(); part !== null; part = await parts.next()) {
    const [first, ...others] = part.chunks;
    const isFirst = count.rows === 0;
    count.addAll(part);
    if (first !== undefined) await out.give([isFirst ? first.subarray(separator.length) : first, ...others]);
  }
  return count.counted;
}

interface Ahead {
  readonly range: LeafRange;
  readonly part: Promise<ExportPart>;
  isBuilt: boolean;
}

/** Hands parts out, and gives them back in the order of the log. */
class Parts {
  readonly #context: TaskContext;
  readonly #input: ExportInput;
  readonly #memory: () => Uint8Array;
  readonly #isLarge: boolean;
  readonly #ahead: Ahead[] = [];
  #beside = 0;
  #next: number;

  /** From the leaf `from` on; each in `memory` of its own. */
  constructor(context: TaskContext, input: ExportInput, from: number, memory: () => Uint8Array) {
    this.#context = context;
    this.#input = input;
    this.#memory = memory;
    this.#next = from;
    // what is less is not worth a thread
    this.#isLarge = input.treeSize - from > partsAhead * partLeaves;
  }

  /** Null at the end. */
  async next(): Promise<ExportPart | null> {
    for (;;) {
      this.#handOut();
      const [first] = this.#ahead;
      if (first === undefined && this.#isAtEnd) return null;
      if (first !== undefined && (first.isBuilt || this.#isAtEnd || this.#ahead.length === partsAhead))
        return this.#taken(first);
      const range = this.#range();
      const own = ahead(range, this.#build(range));
      this.#ahead.push(own);
      await own.part.catch(() => {}); // told when it is its turn
    }
  }

  get #isAtEnd(): boolean {
    return this.#next >= this.#input.treeSize;
  }

  #range(): LeafRange {
    const from = this.#next;
    this.#next = Math.min(from + partLeaves, this.#input.treeSize);
    return { from, to: this.#next };
  }

  #handOut(): void {
    while (
      this.#isLarge &&
      !this.#isAtEnd &&
      this.#beside < besideAtOnce &&
      this.#ahead.length < partsAhead
    ) {
      const range = this.#range();
      this.#beside += 1;
      const part = this.#context.host.part(this.#asked(range)).finally(() => (this.#beside -= 1));
      this.#ahead.push(ahead(range, part));
    }
  }

  async #taken(first: Ahead): Promise<ExportPart> {
    const part = await first.part;
    this.#ahead.shift();
    const rest = { from: part.to, to: first.range.to };
    if (rest.from < rest.to) this.#ahead.unshift(ahead(rest, this.#build(rest)));
    return part;
  }

  #build(range: LeafRange): Promise<ExportPart> {
    return exportPart(this.#context, this.#asked(range));
  }

  #asked(range: LeafRange): ExportPartInput {
    const { projectId, format, filters } = this.#input;
    return { projectId, format, filters, ...range, memory: this.#memory() };
  }
}

function ahead(range: LeafRange, part: Promise<ExportPart>): Ahead {
  const added: Ahead = { range, part, isBuilt: false };
  const built = (): boolean => (added.isBuilt = true);
  part.then(built, built);
  return added;
}
