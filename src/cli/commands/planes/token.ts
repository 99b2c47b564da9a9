/** `gov planes token ID`: another token for a plane that is there, and the command that exchanges it on the plane. */
import type { Run } from '../../program/command.ts';
import { showToken } from './enrolment-token.ts';
import type { planesToken as spec } from './spec.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, settings } = call;
  await showToken(
    call,
    (client) => client.issueEnrolmentToken({ params: args, idempotencyKey: settings.idempotencyKey }),
    (dataPlaneId) => `gov planes token ${dataPlaneId}`,
  );
};
