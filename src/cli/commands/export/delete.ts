/** `gov export delete ID`. Tested by `test/cli/download/run.long.test.ts`. */
import { confirm } from '../../terminal/ask.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { exportDelete as spec } from '../../specs/prove/export.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this removes the file of ${args.exportId} from the service`, '--yes', call);
  const client = await session.client();
  await client.deleteExport({ params: args });
  await out.note(safe`deleted ${args.exportId}`);
};
