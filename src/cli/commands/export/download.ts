/** `gov export download ID`: downloads to a file or a pipe. Tested by `test/cli/download/run.long.test.ts`. */
import type { Run } from '../../context/command.ts';
import { checkFlags, deliver } from '../../download/deliver.ts';
import type { exportDownload as spec } from '../../specs/prove/export.ts';

export const run: Run<typeof spec> = async (invocation) => {
  checkFlags(invocation);
  const client = await invocation.session.client();
  const { body } = await client.getExport({ params: { exportId: invocation.args.exportId } });
  return deliver(invocation, body);
};
