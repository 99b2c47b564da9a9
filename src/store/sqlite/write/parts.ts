/**
 * The leaves of large appends on their way to the writing thread. A message is cloned in one go, and 16 MB take 30 ms, in
 * which no request is answered. So the leaves go ahead in messages of bounded size, and the thread puts them back.
 * Proven by `test/store/sqlite/write/parts.test.ts` and `test/store/sqlite/write/thread.alone.test.ts`.
 */
import type { LeafDraft } from '../../../core/events/record.ts';
import { draftBytes } from '../../port/request-bytes.ts';
import type { Write } from './operations.ts';

/** About how many bytes of leaves a message has: 2 ms. */
export const partBytes = 1024 * 1024;

/** Leaves of the write with this number. */
export interface LeavesPart {
  readonly no: number;
  readonly leaves: readonly LeafDraft[];
}

/** The parts of the writes, of which the first has this number, and the writes without the leaves that are in parts. */
export function inParts(
  writes: readonly Write[],
  first: number,
): { readonly parts: readonly LeavesPart[]; readonly writes: readonly Write[] } {
  const parts: LeavesPart[] = [];
  const rest = writes.map((write, at): Write => {
    if (write.verb !== 'append') return write;
    const lists = split(write.request.leaves);
    if (lists.length < 2) return write;
    for (const leaves of lists) parts.push({ no: first + at, leaves });
    return { ...write, request: { ...write.request, leaves: [] } };
  });
  return { parts, writes: rest };
}

/** The leaves in lists; one leaf may be larger than a part. */
function split(leaves: readonly LeafDraft[]): LeafDraft[][] {
  const lists: LeafDraft[][] = [];
  let bytes = Infinity;
  for (const leaf of leaves) {
    const own = draftBytes(leaf);
    if (bytes + own > partBytes) {
      lists.push([]);
      bytes = 0;
    }
    bytes += own;
    lists.at(-1)?.push(leaf);
  }
  return lists;
}

/** The parts that have arrived before their write. */
export class ArrivedParts {
  readonly #leaves = new Map<number, LeafDraft[]>();

  add({ no, leaves }: LeavesPart): void {
    const before = this.#leaves.get(no);
    if (before === undefined) this.#leaves.set(no, [...leaves]);
    else before.push(...leaves);
  }

  /** Returns the writes of a message with the leaves that came ahead. */
  complete(writes: readonly Write[], first: number): readonly Write[] {
    if (this.#leaves.size === 0) return writes;
    const whole = writes.map((write, at): Write => {
      const leaves = this.#leaves.get(first + at);
      if (leaves === undefined || write.verb !== 'append') return write;
      return { ...write, request: { ...write.request, leaves } };
    });
    this.forget(first, writes.length);
    return whole;
  }

  /** Drops the parts of writes that do not come. */
  forget(first: number, count: number): void {
    for (let no = first; no < first + count; no++) this.#leaves.delete(no);
  }
}
