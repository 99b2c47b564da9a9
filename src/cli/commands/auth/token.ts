/** `gov auth token`: the only command that prints a credential. Tested by `test/cli/auth/commands.test.ts`. */
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { Safe } from '../../terminal/safe.ts';
import type { authToken as spec } from '../../specs/account/auth.ts';

export const run: Run<typeof spec> = async ({ out, session }) => {
  const credential = session.apiKey();
  if (credential === null)
    throw new CliError(exit.denied, 'expected a credential for this address, found none', {
      code: 'NOT_SIGNED_IN',
      next: ['gov auth login', 'gov context show'],
    });
  const { value: token, from } = credential;
  return out.isJson ? out.json({ token, from }) : out.line(Safe.cell(token));
};
