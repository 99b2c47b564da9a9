/** `gov projects create NAME`. */
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import type { projectsCreate as spec } from './spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const environment = flags.environment ?? session.environment();
  if (environment === undefined)
    throw usage(
      'the address does not say which environment it is of',
      'give --environment sandbox or production',
    );
  const client = await session.client();
  const { body } = await client.createProject({
    body: { name: args.name, environment },
    idempotencyKey: settings.idempotencyKey,
  });
  await out.one(body, viewOf('createProject'));
};
