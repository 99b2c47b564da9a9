/** `gov policy publish ID [--version N]`. Tested by `test/cli/commands/policy/change.test.ts`. */
import type { Run } from '../../context/command.ts';
import { printTransition } from '../../policies/transition.ts';
import type { policyPublish as spec } from '../../specs/decide/policy.ts';

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
  return printTransition(out, body, `version ${activeVersion} is active${instead}`);
};
