/**
 * The state of a run by the verdicts of its calls, alike for the command line, the console and reports.
 * Tested by `test/core/coverage/state.test.ts`.
 */
import { coverageVerdicts, type CoverageVerdict } from '../../contract/coverage.ts';

/**
 * `red`: a call or a gap of a source is an alarm. `amber`: of a call nobody knows whether it ran undecided. `one_source`: a source that
 * lost everything looks the same. `green`: sources agree.
 */
export type CoverageState = 'red' | 'amber' | 'no_calls' | 'one_source' | 'green';

interface Covered {
  readonly covered: boolean;
  readonly confirmed: number;
  readonly counts: Readonly<Partial<Record<string, number>>>;
}

export const countOf = ({ counts }: Pick<Covered, 'counts'>, verdict: CoverageVerdict): number =>
  counts[verdict] ?? 0;

/** Returns the number of calls. */
export const callsIn = (body: Pick<Covered, 'counts'>): number =>
  coverageVerdicts.reduce((sum, verdict) => sum + countOf(body, verdict), 0);

export function stateOf(body: Covered): CoverageState {
  if (!body.covered) return 'red';
  if (countOf(body, 'unknown') > 0) return 'amber';
  if (callsIn(body) === 0) return 'no_calls';
  return body.confirmed === 0 ? 'one_source' : 'green';
}
