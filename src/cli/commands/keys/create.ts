/** `gov keys create NAME`. */
import type { Run } from '../../program/command.ts';
import { expiryOf, issueKey } from './issued.ts';
import type { keysCreate as spec } from './spec.ts';

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
  await issueKey(call, { file: flags.out, force: flags.force }, async () => {
    return (await client.createApiKey({ body, idempotencyKey: settings.idempotencyKey })).body;
  });
};
