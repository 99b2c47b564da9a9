/** `gov webhooks create URL`. Tested by `test/cli/commands/webhooks/create.test.ts`. */
import type { Run } from '../../context/command.ts';
import { issueSecret } from '../../webhooks/issue.ts';
import type { webhooksCreate as spec } from '../../specs/operate/webhooks.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, session, settings } = call;
  const { events, description, disabled, signing } = flags;
  const body = {
    url: args.url,
    ...(events.length === 0 ? {} : { events: [...events] }),
    ...(description === undefined ? {} : { description }),
    ...(signing === undefined ? {} : { signing }),
    ...(disabled ? { enabled: false } : {}),
  };
  const client = await session.client();
  await issueSecret(call, flags, async () => {
    return (await client.createWebhookEndpoint({ body, idempotencyKey: settings.idempotencyKey })).body;
  });
};
