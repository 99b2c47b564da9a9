/** `gov webhooks delete ID`. Tested by `test/cli/commands/webhooks/create.test.ts`. */
import type { Run } from '../../context/command.ts';
import { confirm } from '../../terminal/ask.ts';
import { safe } from '../../terminal/safe.ts';
import type { webhooksDelete as spec } from '../../specs/operate/webhooks.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this deletes the endpoint ${args.endpointId} of webhooks`, '--yes', call);
  const client = await session.client();
  await client.deleteWebhookEndpoint({ params: args });
  await out.note(safe`deleted ${args.endpointId}`);
};
