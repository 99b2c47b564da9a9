/** `gov keys update ID`. */
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { expiryOf } from './issued.ts';
import type { keysUpdate as spec } from './spec.ts';
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
    throw usage('expected something to change: --name, --scopes, --expires or --description');
  const client = await session.client();
  const { body: record } = await client.updateApiKey({ params: args, body });
  await out.one(record, viewOf('updateApiKey'));
};
