/** `gov auth token`: the one command that prints a credential. */
import type { Run } from '../../program/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { Safe } from '../../terminal/safe.ts';
import type { authToken as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ out, session }) => {
  const credential = session.apiKey();
  if (credential === null)
    throw new CliError(exit.denied, 'there is no credential for this address', {
      code: 'NOT_SIGNED_IN',
      next: ['gov auth login', 'gov context show'],
    });
  const { value: token, from } = credential;
  return out.isJson ? out.json({ token, from }) : out.line(Safe.cell(token));
};
