/** `gov keys update ID`. Tested by `test/cli/commands/keys/create.test.ts`. */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { expiryOf } from '../../keys/issue.ts';
import type { keysUpdate as spec } from '../../specs/account/keys.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ args, flags, io, out, session }) => {
  const { name, scopes, expires, description } = flags;
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(scopes.length === 0 ? {} : { scopes: [...scopes] }),
    ...(expires === undefined ? {} : { expiresAt: expiryOf(expires, io.now()) }),
    ...(description === undefined ? {} : { description: description === '' ? null : description }),
  };
  if (Object.keys(body).length === 0)
    throw usage('expected a change: --name, --scopes, --expires or --description');
  const client = await session.client();
  const { body: record } = await client.updateApiKey({ params: args, body });
  await out.one(record, viewOf('updateApiKey'));
};
