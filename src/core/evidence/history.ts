/**
 * Compares the signed heads of a file with those that were seen before. Used by the command line and by the verify page.
 * Proven by `test/core/evidence/history.test.ts`.
 */
import { compareHeads, type Comparison, type SignedHead } from '../note/heads.ts';
import type { SplitView } from './file.ts';

/**
 * `first`: no head of this log was seen before. `extends`: the log of the file extends the log seen before, or the other way round. `not_compared`: the paths do not tell. `split`: the log signed two histories.
 */
export type HistoryResult = 'first' | 'extends' | 'not_compared' | 'split';

export interface HistoryVerdict {
  readonly result: HistoryResult;
  /** Leaves of the head that the file was compared with; null for the first one. */
  readonly kept: number | null;
  /** Only of a split view. */
  readonly split: (SplitView & { readonly detail: string }) | null;
}

/** `heads`: of one file, which may itself show two histories. All of one origin. Cost: one comparison for each pair. */
export function judgeHistory(kept: readonly SignedHead[], heads: readonly SignedHead[]): HistoryVerdict {
  const largestFirst = kept.toSorted((one, other) => other.size - one.size);
  let extended: number | null = null;
  for (const [at, head] of heads.entries()) {
    for (const earlier of heads.slice(0, at)) {
      const split = splitOf(earlier, head, compareHeads(earlier, head));
      if (split !== null) return split;
    }
  }
  for (const old of largestFirst) {
    for (const head of heads) {
      const compared = compareHeads(old, head);
      const split = splitOf(old, head, compared);
      if (split !== null) return split;
      if (compared.result === 'extends') extended ??= old.size;
    }
  }
  const [largest] = largestFirst;
  if (largest === undefined) return { result: 'first', kept: null, split: null };
  const result = extended === null ? 'not_compared' : 'extends';
  return { result, kept: extended ?? largest.size, split: null };
}

function splitOf(one: SignedHead, other: SignedHead, compared: Comparison): HistoryVerdict | null {
  if (compared.result !== 'split') return null;
  const { detail, paths } = compared;
  return { result: 'split', kept: one.size, split: { heads: [one, other], paths, detail } };
}
