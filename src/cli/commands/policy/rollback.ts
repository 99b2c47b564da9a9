/** `gov policy rollback ID --to-version N`. */
import type { Run } from '../../program/command.ts';
import { moved } from '../../policy/moved.ts';
import type { policyRollback as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const client = await session.client();
  const { toVersion, reason } = flags;
  const { body } = await client.rollbackPolicy({
    params: { policyId: args.policyId },
    body: { targetVersion: toVersion, ...(reason === undefined ? {} : { reason }) },
    idempotencyKey: settings.idempotencyKey,
  });
  const was = body.previousVersion === null ? '' : `, was ${body.previousVersion}`;
  return moved(out, body, `version ${body.activeVersion} is in force again${was}`);
};
