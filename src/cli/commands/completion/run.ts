/**
 * `gov completion SHELL`: prints a script that asks gov for words when a person presses Tab.
 * Tested by `test/cli/completion/scripts.long.test.ts`.
 */
import { completionScripts } from '../../completion/scripts.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { Safe } from '../../terminal/safe.ts';
import type { completion as spec } from '../../specs/tool/completion.ts';

export const run: Run<typeof spec> = async ({ args, out }) => {
  const script = Object.hasOwn(completionScripts, args.shell) ? completionScripts[args.shell] : undefined;
  if (script === undefined)
    throw usage(
      `shell: expected one of ${Object.keys(completionScripts).join(', ')}, got ${JSON.stringify(args.shell)}`,
    );
  await out.line(Safe.clean(script));
};
