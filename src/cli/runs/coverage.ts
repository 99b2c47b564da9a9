/** Lines about the coverage of a run. Tested by `test/cli/commands/runs/coverage.test.ts`. */
import { coverageVerdicts, type RunCoverage } from '../../contract/coverage.ts';
import { callsIn, countOf, stateOf } from '../../core/coverage/state.ts';
import { safe, type Safe, type Styles } from '../terminal/safe.ts';
import { counted } from '../terminal/numbers.ts';

type Summary = Pick<RunCoverage, 'covered' | 'confirmed' | 'counts'>;

/** One line about the run: `covered: 3 calls, 2 governed, 1 single_source; 2 confirmed by a second source`. */
export function coverageLine(body: Summary, styles: Styles): Safe {
  const parts = coverageVerdicts
    .toReversed()
    .filter((verdict) => countOf(body, verdict) > 0)
    .map((verdict) => `${countOf(body, verdict)} ${verdict}`);
  const calls = callsIn(body);
  const verdict = headline(body, styles);
  const how = calls === 0 ? '' : `: ${parts.join(', ')}; ${body.confirmed} confirmed by a second source`;
  return safe`${verdict}  ${counted(calls, 'call')}${how}`;
}

function headline(body: Summary, styles: Styles): Safe {
  switch (stateOf(body)) {
    case 'red':
      return styles.red('not covered');
    case 'amber':
      return styles.yellow('not certain: a call may have run without a decision');
    case 'no_calls':
      return safe`no calls`;
    case 'one_source':
      return styles.yellow('not confirmed: one source only');
    case 'green':
      return styles.green('covered');
  }
}

/** A line for each gap in the log records of a source. */
export const gapLines = ({ gaps }: Pick<RunCoverage, 'gaps'>): Safe[] =>
  gaps.map(({ source, first, last }) =>
    first === last
      ? safe`${source}: log record ${first} is missing`
      : safe`${source}: log records ${first} to ${last} are missing`,
  );
