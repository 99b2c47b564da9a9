/** `gov report share ID`: shows the link once. Tested by `test/cli/commands/report/run.test.ts`. */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { safe } from '../../terminal/safe.ts';
import type { reportShare as spec } from '../../specs/prove/report.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const client = await session.client();
  const { executionId } = args;
  const format = flags.format ?? (await client.getExecution({ params: args })).body.formats[0];
  if (format === undefined) throw new CliError(exit.notFound, `report ${executionId} has no artifact`);
  const { body } = await client.createShare({
    params: args,
    body: {
      format,
      ...(flags.expires === undefined ? {} : { expiresInSeconds: Math.round(flags.expires / 1000) }),
      ...(flags.downloads === undefined ? {} : { maxDownloads: flags.downloads }),
    },
    idempotencyKey: settings.idempotencyKey,
  });
  await out.one(body, viewOf('createShare'));
  if (out.isHuman && body.signatureUrl !== null)
    await out.note(
      safe`gov report verify needs its signature beside the file, as FILE.dsse.json: ${body.signatureUrl}`,
    );
  if (out.isHuman)
    await out.note(
      safe`anybody with the link can download the ${format}; revoke it: gov report unshare ${shellWord(executionId)} ${shellWord(body.shareId)}`,
    );
};
