/** `gov policy rollback ID --to-version N`. Tested by `test/cli/commands/policy/change.test.ts`. */
import type { Run } from '../../context/command.ts';
import { printTransition } from '../../policies/transition.ts';
import type { policyRollback as spec } from '../../specs/decide/policy.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const client = await session.client();
  const { toVersion, reason } = flags;
  const { body } = await client.rollbackPolicy({
    params: { policyId: args.policyId },
    body: { targetVersion: toVersion, ...(reason === undefined ? {} : { reason }) },
    idempotencyKey: settings.idempotencyKey,
  });
  const was = body.previousVersion === null ? '' : `, was ${body.previousVersion}`;
  return printTransition(out, body, `version ${body.activeVersion} is active again${was}`);
};
