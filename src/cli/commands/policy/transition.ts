/** `gov policy transition ID --to STATUS`. Tested by `test/cli/commands/policy/change.test.ts`. */
import type { Run } from '../../context/command.ts';
import { printTransition } from '../../policies/transition.ts';
import type { policyTransition as spec } from '../../specs/decide/policy.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const client = await session.client();
  const { to, reason } = flags;
  const { body } = await client.transitionPolicy({
    params: { policyId: args.policyId },
    body: { targetStatus: to, ...(reason === undefined ? {} : { reason }) },
    idempotencyKey: settings.idempotencyKey,
  });
  return printTransition(out, body, `${body.status}, was ${body.previousStatus}`);
};
