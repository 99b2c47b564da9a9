/** `gov projects create NAME`. Tested by `test/cli/commands/projects/create.test.ts`. */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import type { projectsCreate as spec } from '../../specs/account/projects.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const environment = flags.environment ?? session.environment();
  if (environment === undefined)
    throw usage(
      'expected an environment: the address does not show it',
      'give --environment sandbox or production',
    );
  const client = await session.client();
  const { body } = await client.createProject({
    body: { name: args.name, environment },
    idempotencyKey: settings.idempotencyKey,
  });
  await out.one(body, viewOf('createProject'));
};
