/** `gov report unshare ID SHARE`. Tested by `test/cli/commands/report/run.test.ts`. */
import type { Run } from '../../context/command.ts';
import { confirm } from '../../terminal/ask.ts';
import { safe } from '../../terminal/safe.ts';
import type { reportUnshare as spec } from '../../specs/prove/report.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this ends the share link ${args.shareId}`, '--yes', call);
  const client = await session.client();
  await client.revokeShare({ params: args });
  await out.note(safe`revoked ${args.shareId}`);
};
