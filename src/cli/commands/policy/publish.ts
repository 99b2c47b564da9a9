/** `gov policy publish ID [--version N]`. */
import type { Run } from '../../program/command.ts';
import { moved } from '../../policy/moved.ts';
import type { policyPublish as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, settings }) => {
  const client = await session.client();
  const { version, reason } = flags;
  const { body } = await client.publishPolicy({
    params: { policyId: args.policyId },
    body: {
      ...(version === undefined ? {} : { version }),
      ...(reason === undefined ? {} : { reason }),
    },
    idempotencyKey: settings.idempotencyKey,
  });
  const { previousVersion, activeVersion } = body;
  const instead =
    previousVersion === null || previousVersion === activeVersion ? '' : `, was ${previousVersion}`;
  return moved(out, body, `version ${activeVersion} is in force${instead}`);
};
