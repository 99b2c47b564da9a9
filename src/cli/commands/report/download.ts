/** `gov report download ID`: to a file or a pipe. Tested by `test/cli/commands/report/run.test.ts`. */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { checkTarget, deliver } from '../../reports/created.ts';
import type { reportDownload as spec } from '../../specs/prove/report.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags } = call;
  const { executionId } = args;
  const target = { out: flags.out, force: flags.force, open: flags.open };
  checkTarget(target, call);
  const client = await call.session.client();
  const { body } = await client.getExecution({ params: { executionId } });
  if (body.status === 'failed')
    throw new CliError(
      exit.error,
      `report ${executionId} failed: ${body.errorSummary ?? 'no reason was kept'}`,
      {
        code: 'REPORT_FAILED',
      },
    );
  if (body.status !== 'completed')
    throw new CliError(
      exit.conflict,
      `expected a completed report, got ${executionId}, which is ${body.status}`,
      {
        code: 'REPORT_NOT_READY',
        next: [`gov report get ${shellWord(executionId)}`],
      },
    );
  await deliver(client, body, { call, target, format: flags.format });
};
