/** `gov webhooks update ID`. Tested by `test/cli/commands/webhooks/create.test.ts`. */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import type { webhooksUpdate as spec } from '../../specs/operate/webhooks.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session }) => {
  const { url, events, description, enable, disable } = flags;
  if (enable && disable) throw usage('expected --enable or --disable, got both');
  const body = {
    ...(url === undefined ? {} : { url }),
    ...(events.length === 0 ? {} : { events: [...events] }),
    ...(description === undefined ? {} : { description }),
    ...(enable || disable ? { enabled: enable } : {}),
  };
  if (Object.keys(body).length === 0)
    throw usage('expected a change: --url, --events, --description, --enable or --disable');
  const client = await session.client();
  const { body: endpoint } = await client.updateWebhookEndpoint({ params: args, body });
  await out.one(endpoint, viewOf('updateWebhookEndpoint'));
};
