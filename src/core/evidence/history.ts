/**
 * Compares the signed heads of a file with those that were seen before. Used by the command line and by the verify page.
 * Proven by `test/core/evidence/history.test.ts`.
 */
import { compareHeads, type Comparison, type SignedHead } from '../note/heads.ts';
import type { SplitView } from './file.ts';

/**
 * `first`: no head of this log was seen before. `extends`: one of the file and the largest head seen before extends the
 * other. `not_compared`: the paths do not tell. `split`: the log signed two histories.
 */
export type HistoryResult = 'first' | 'extends' | 'not_compared' | 'split';

export interface HistoryVerdict {
  readonly result: HistoryResult;
  /** Leaves of the largest head that was seen before, or of the one that contradicts; null for the first one. */
  readonly kept: number | null;
  /** Only of a split view. */
  readonly split: (SplitView & { readonly detail: string }) | null;
}

/** `heads`: of one file, which may itself show two histories. All of one origin. Cost: one comparison for each pair. */
export function judgeHistory(kept: readonly SignedHead[], heads: readonly SignedHead[]): HistoryVerdict {
  const largestFirst = kept.toSorted((one, other) => other.size - one.size);
  for (const [at, head] of heads.entries()) {
    for (const earlier of heads.slice(0, at)) {
      const split = splitOf(earlier, head, compareHeads(earlier, head));
      if (split !== null) return split;
    }
  }
  const [largest] = largestFirst;
  if (largest === undefined) return { result: 'first', kept: null, split: null };
  let result: HistoryResult = 'not_compared';
  for (const old of largestFirst) {
    for (const head of heads) {
      const compared = compareHeads(old, head);
      const split = splitOf(old, head, compared);
      if (split !== null) return split;
      if (old === largest && compared.result === 'extends') result = 'extends';
    }
  }
  return { result, kept: largest.size, split: null };
}

function splitOf(one: SignedHead, other: SignedHead, compared: Comparison): HistoryVerdict | null {
  if (compared.result !== 'split') return null;
  const { detail, paths } = compared;
  return { result: 'split', kept: one.size, split: { heads: [one, other], paths, detail } };
}
