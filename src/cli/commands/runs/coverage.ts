/** `gov runs coverage RUN`. Tested by `test/cli/commands/runs/coverage.test.ts`. */
import { coverageVerdicts, type CoverageVerdict, type RunCoverage } from '../../../contract/coverage.ts';
import type { Run } from '../../program/command.ts';
import { exit } from '../../program/exit.ts';
import { printReport } from '../../terminal/report.ts';
import { safe, type Safe, type Styles } from '../../terminal/safe.ts';
import type { Column } from '../../terminal/view.ts';
import type { runsCoverage as spec } from './spec.ts';

const columns: readonly Column[] = [
  { name: 'verdict', kind: 'id' },
  { name: 'tool', kind: 'text' },
  { name: 'callId', kind: 'id' },
  { name: 'decision', kind: 'text' },
  { name: 'sources', kind: 'text' },
  { name: 'detail', kind: 'text' },
];

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const client = await session.client();
  const { body } = await client.getRunCoverage({ params: { runId: args.runId } });
  out.verdict = body.covered ? exit.ok : exit.checkFailed;
  if (out.format === 'tsv' && out.settings.formatFrom === 'default') await out.json(body);
  else {
    await printReport(out, {
      whole: body,
      columns,
      rows: body.calls.map((call) => ({ ...call, sources: call.sources.join(', ') })),
      head: [headOf(body, out.styles)],
      foot: gapsOf(body),
    });
  }
  if (out.isHuman && body.truncated)
    await out.warn(safe`the run has more calls than one answer: the worst are shown`);
  return out.verdict;
};

/** One line about the run: `covered: 3 calls, 2 governed, 1 single_source; 2 confirmed by a second source`. */
function headOf(body: RunCoverage, styles: Styles): Safe {
  const counted = coverageVerdicts
    .toReversed()
    .filter((verdict) => countOf(body, verdict) > 0)
    .map((verdict) => `${countOf(body, verdict)} ${verdict}`);
  const calls = coverageVerdicts.reduce((sum, verdict) => sum + countOf(body, verdict), 0);
  const verdict = body.covered ? styles.green('covered') : styles.red('not covered');
  const how = calls === 0 ? '' : `: ${counted.join(', ')}; ${body.confirmed} confirmed by a second source`;
  return safe`${verdict}  ${calls} ${calls === 1 ? 'call' : 'calls'}${how}`;
}

const countOf = ({ counts }: RunCoverage, verdict: CoverageVerdict): number => counts[verdict] ?? 0;

const gapsOf = ({ gaps }: RunCoverage): Safe[] =>
  gaps.map(({ source, first, last }) =>
    first === last
      ? safe`${source}: log record ${first} is missing`
      : safe`${source}: log records ${first} to ${last} are missing`,
  );
