/** `gov webhooks rotate ID`. Tested by `test/cli/commands/webhooks/create.test.ts`. */
import type { Run } from '../../context/command.ts';
import { issueSecret } from '../../webhooks/issue.ts';
import type { webhooksRotate as spec } from '../../specs/operate/webhooks.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, session, settings } = call;
  const { overlap, signing } = flags;
  const query = {
    ...(overlap === undefined ? {} : { overlapSeconds: Math.ceil(overlap / 1000) }),
    ...(signing === undefined ? {} : { signing }),
  };
  const client = await session.client();
  await issueSecret(call, flags, async () => {
    const { idempotencyKey } = settings;
    return (await client.rotateWebhookSecret({ params: args, query, idempotencyKey })).body;
  });
};
