/** `gov auth status`: asks the service about the credential. Tested by `test/cli/auth/commands.test.ts`. */
import { showIdentity } from '../../auth/identity.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import type { authStatus as spec } from '../../specs/account/auth.ts';

export const run: Run<typeof spec> = async (call) => {
  const context = call.session.context();
  if (context?.context.kind === 'plane')
    throw new CliError(exit.usage, `context ${context.name} is a data plane, where nobody signs in`, {
      hint: 'gov auth whoami shows the API key of calls',
      next: ['gov auth whoami', 'gov auth login --base-url https://…'],
    });
  await showIdentity(call);
};
