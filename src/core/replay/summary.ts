/**
 * The summary of a replay: counts, and the commitment {n, root} to diverging steps, a claim of `replay_determinism`.
 * An item is JCS({ eventId, index, status }): identifiers and words only, so nobody can guess a payload from the root, and
 * everybody with the whole result can recompute it.
 * Proven by `test/core/replay/summary.test.ts` (`merkleRoot` as oracle).
 */
import type { StepStatus } from '../../contract/replay-words.ts';
import type { ListCommitment } from '../graphs/rows.ts';
import { hashText } from '../hash.ts';
import { canonicalize } from '../json/parse.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { diverges, type StepRecord } from './steps.ts';

/** `match` + `mismatch` + `missing` + `extra` + `notReplayable` = `steps`. */
export interface ReplayCounts {
  readonly steps: number;
  readonly match: number;
  readonly mismatch: number;
  readonly missing: number;
  readonly extra: number;
  readonly notReplayable: number;
  /** Index of the first diverging step. */
  readonly firstDivergence: number | null;
}

type StepMark = Pick<StepRecord, 'eventId' | 'index' | 'status'>;

/** Counts steps and commits to diverging ones, in memory that does not grow with them. */
export class ReplaySummary {
  readonly #byStatus: Record<StepStatus, number> = {
    match: 0,
    mismatch: 0,
    missing: 0,
    extra: 0,
    not_replayable: 0,
  };
  readonly #root = new ListRoot();
  #total = 0;
  #first: number | null = null;

  add({ eventId, index, status }: StepMark): void {
    this.#total++;
    this.#byStatus[status]++;
    if (!diverges(status)) return;
    this.#first ??= index;
    this.#root.add(`\0${canonicalize({ eventId, index, status })}`);
  }

  counts(): ReplayCounts {
    const { match, mismatch, missing, extra, not_replayable: notReplayable } = this.#byStatus;
    return {
      steps: this.#total,
      match,
      mismatch,
      missing,
      extra,
      notReplayable,
      firstDivergence: this.#first,
    };
  }

  mismatches(): ListCommitment {
    return { n: this.#root.size, root: hashText(this.#root.root()) };
  }
}
