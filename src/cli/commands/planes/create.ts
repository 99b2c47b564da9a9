/**
 * `gov planes create NAME`: shows the token once, with the command that exchanges it on the plane.
 * Tested by `test/cli/commands/planes/create.test.ts`.
 */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { showToken } from '../../enrolment/token.ts';
import type { planesCreate as spec } from '../../specs/account/planes.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, settings } = call;
  const request = { body: { name: args.name }, idempotencyKey: settings.idempotencyKey };
  await showToken(
    call,
    (client) => client.createDataPlane(request),
    (dataPlaneId) => `gov planes revoke ${shellWord(dataPlaneId)}`,
  );
};
