/** `gov runs coverage RUN`. Tested by `test/cli/commands/runs/coverage.test.ts`. */
import type { Run } from '../../context/command.ts';
import { stateOf } from '../../../core/coverage/state.ts';
import { exit } from '../../program/exit.ts';
import { printReport } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import { coverageLine, gapLines } from '../../runs/coverage.ts';
import type { Column } from '../../terminal/view.ts';
import type { runsCoverage as spec } from '../../specs/record/runs.ts';

const columns: readonly Column[] = [
  { name: 'verdict', kind: 'id' },
  { name: 'tool', kind: 'text' },
  { name: 'callId', kind: 'id' },
  { name: 'decision', kind: 'text' },
  { name: 'sources', kind: 'text' },
  { name: 'compared', kind: 'text' },
  { name: 'ending', kind: 'text' },
  { name: 'detail', kind: 'text' },
];

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const client = await session.client();
  const { body } = await client.getRunCoverage({ params: { runId: args.runId } });
  const state = stateOf(body);
  out.verdict = state === 'red' ? exit.checkFailed : state === 'amber' ? exit.partial : exit.ok;
  if (out.format === 'tsv' && out.settings.formatFrom === 'default') await out.json(body);
  else {
    await printReport(out, {
      whole: body,
      columns,
      rows: body.calls.map((call) => ({ ...call, sources: call.sources.join(', ') })),
      head: [coverageLine(body, out.styles)],
      foot: gapLines(body),
    });
  }
  if (out.isHuman && body.truncated)
    await out.warn(safe`the run has more calls than one answer: the worst are shown`);
  return out.verdict;
};
