/** `gov policy transition ID --to STATUS`. */
import type { Run } from '../../program/command.ts';
import { moved } from '../../policy/moved.ts';
import type { policyTransition as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const client = await session.client();
  const { to, reason } = flags;
  const { body } = await client.transitionPolicy({
    params: { policyId: args.policyId },
    body: { targetStatus: to, ...(reason === undefined ? {} : { reason }) },
    idempotencyKey: settings.idempotencyKey,
  });
  return moved(out, body, `${body.status}, was ${body.previousStatus}`);
};
