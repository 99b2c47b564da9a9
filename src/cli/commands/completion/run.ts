/**
 * `gov completion SHELL`: prints a script that completes without a call to gov.
 * Tested by `test/cli/program/completion.test.ts`.
 */
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
