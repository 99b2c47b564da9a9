/** Lines about the coverage of a run. Tested by `test/cli/commands/runs/coverage.test.ts`. */
import { coverageVerdicts, type CoverageVerdict, type RunCoverage } from '../../contract/coverage.ts';
import { safe, type Safe, type Styles } from '../terminal/safe.ts';
import { counted } from '../terminal/numbers.ts';

type Summary = Pick<RunCoverage, 'covered' | 'confirmed' | 'counts'>;

/** One line about the run: `covered: 3 calls, 2 governed, 1 single_source; 2 confirmed by a second source`. */
export function coverageLine(body: Summary, styles: Styles): Safe {
  const parts = coverageVerdicts
    .toReversed()
    .filter((verdict) => countOf(body, verdict) > 0)
    .map((verdict) => `${countOf(body, verdict)} ${verdict}`);
  const calls = coverageVerdicts.reduce((sum, verdict) => sum + countOf(body, verdict), 0);
  const isAlone = body.covered && calls > 0 && body.confirmed === 0;
  // one source that loses everything looks like a run without calls of that source
  const verdict = !body.covered
    ? styles.red('not covered')
    : calls === 0
      ? safe`no calls`
      : countOf(body, 'unknown') > 0
        ? styles.yellow('not certain: a call may have run without a decision')
        : isAlone
          ? styles.yellow('not confirmed: one source only')
          : styles.green('covered');
  const how = calls === 0 ? '' : `: ${parts.join(', ')}; ${body.confirmed} confirmed by a second source`;
  return safe`${verdict}  ${counted(calls, 'call')}${how}`;
}

const countOf = ({ counts }: Summary, verdict: CoverageVerdict): number => counts[verdict] ?? 0;

/** A line for each gap in the log records of a source. */
export const gapLines = ({ gaps }: Pick<RunCoverage, 'gaps'>): Safe[] =>
  gaps.map(({ source, first, last }) =>
    first === last
      ? safe`${source}: log record ${first} is missing`
      : safe`${source}: log records ${first} to ${last} are missing`,
  );
