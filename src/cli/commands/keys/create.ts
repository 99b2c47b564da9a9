/** `gov keys create NAME`. Tested by `test/cli/commands/keys/create.test.ts`. */
import type { Run } from '../../context/command.ts';
import { expiryOf, issueKey } from '../../keys/issue.ts';
import type { keysCreate as spec } from '../../specs/account/keys.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, io, session, settings } = call;
  const { scopes, expires, description } = flags;
  const body = {
    name: args.name,
    ...(scopes.length === 0 ? {} : { scopes: [...scopes] }),
    ...(expires === undefined ? {} : { expiresAt: expiryOf(expires, io.now()) }),
    ...(description === undefined ? {} : { description }),
  };
  const client = await session.client();
  await issueKey(call, flags, async () => {
    return (await client.createApiKey({ body, idempotencyKey: settings.idempotencyKey })).body;
  });
};
