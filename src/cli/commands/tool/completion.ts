/** `gov completion SHELL`: a script that needs no call to gov while completing. */
import { completionFor } from '../../program/completion.ts';
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { Safe } from '../../terminal/safe.ts';
import type { completion as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ args, out }) => {
  const script = completionFor(args.shell);
  if (script === undefined)
    throw usage(`shell: expected bash, zsh or fish, got ${JSON.stringify(args.shell)}`);
  await out.line(Safe.clean(script));
};
