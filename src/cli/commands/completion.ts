/** `gov completion SHELL`: a script that needs no call to gov while completing. */
import { completionFor } from '../completion.ts';
import type { Run } from '../command.ts';
import { usage } from '../exit.ts';
import { Safe } from '../safe.ts';
import type { completion as spec } from '../specs/general.ts';

export const run: Run<typeof spec> = async ({ args, out }) => {
  const script = completionFor(args.shell);
  if (script === undefined)
    throw usage(`shell: expected bash, zsh or fish, got ${JSON.stringify(args.shell)}`);
  await out.line(Safe.clean(script));
};
