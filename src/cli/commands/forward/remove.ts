/** `gov forward remove`. Tested by `test/cli/commands/forward.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { confirm } from '../../terminal/ask.ts';
import { safe } from '../../terminal/safe.ts';
import type { forwardRemove as spec } from '../../specs/operate/forward.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session, io } = call;
  await confirm(`this ends the forwarding to ${args.name}`, '--yes', call);
  const { removeTarget } = await import('../../../host/data/forwards.ts');
  removeTarget(resolve(io.cwd, flags.data ?? session.dataDir()), args.name);
  await out.note(safe`removed ${args.name}; a serving process sends until its next start`);
};
