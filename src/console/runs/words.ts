/** What states of runs are called, and how they are colored. */
import type { CoverageVerdict, RunCoverage } from '../../contract/coverage.ts';
import { counted } from '../parts/counted.ts';
import type { Tone } from '../parts/status.tsx';

const alarms: readonly CoverageVerdict[] = ['denied_but_ran', 'ungoverned', 'gap'];

/** The worst first. */
const verdictTexts: Readonly<Record<CoverageVerdict, string>> = {
  denied_but_ran: 'ran after a denial',
  ungoverned: 'ran without a decision',
  gap: 'missing in a source',
  unknown: 'may have run without a decision',
  single_source: 'reported by one source',
  failed: 'failed',
  user_refused: 'refused by its user',
  not_run: 'did not run',
  governed: 'governed',
};

const verdicts = Object.keys(verdictTexts) as CoverageVerdict[];

export interface CoverageWords {
  readonly tone: Tone;
  readonly verdict: string;
  /** `3 calls: 2 governed, 1 ran without a decision; 2 confirmed by a second source`. */
  readonly line: string;
}

/** One source that loses everything looks like a run without calls of that source, so it is not confirmed. */
export function coverageWords({ covered, confirmed, counts, gaps }: RunCoverage): CoverageWords {
  const countOf = (verdict: CoverageVerdict): number => counts[verdict] ?? 0;
  const calls = verdicts.reduce((sum, verdict) => sum + countOf(verdict), 0);
  const listed = verdicts
    .toReversed()
    .filter((verdict) => countOf(verdict) > 0)
    .map((verdict) => `${countOf(verdict)} ${verdictTexts[verdict]}`);
  const missing = gaps.length === 0 ? '' : `; ${counted(gaps.length, 'gap')} in the records of a source`;
  const line =
    calls === 0
      ? `no tool calls${missing}`
      : `${counted(calls, 'call')}: ${listed.join(', ')}; ${confirmed} confirmed by a second source${missing}`;
  if (!covered) {
    const found = alarms.reduce((sum, verdict) => sum + countOf(verdict), 0) + gaps.length;
    return { tone: 'bad', verdict: counted(found, 'gap'), line };
  }
  if (calls === 0) return { tone: 'plain', verdict: 'no calls', line };
  if (confirmed === 0) return { tone: 'plain', verdict: 'one source', line };
  return { tone: 'good', verdict: 'covered', line };
}
