/**
 * `gov planes token ID`: issues another token for a known plane, with the command that exchanges it.
 * Tested by `test/cli/commands/planes/create.test.ts`.
 */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { showToken } from '../../enrolment/token.ts';
import type { planesToken as spec } from '../../specs/account/planes.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, settings } = call;
  await showToken(
    call,
    (client) => client.issueEnrolmentToken({ params: args, idempotencyKey: settings.idempotencyKey }),
    (dataPlaneId) => `gov planes token ${shellWord(dataPlaneId)}`,
  );
};
