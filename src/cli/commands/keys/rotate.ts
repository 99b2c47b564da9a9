/**
 * `gov keys rotate ID`: after rotating its own key, the context uses the new one.
 * Tested by `test/cli/commands/keys/create.test.ts`.
 */
import type { Client } from '../../../client/create.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { updateUserState } from '../../context/config-write.ts';
import { isPersonal, readCredentials } from '../../context/credentials.ts';
import { issueKey } from '../../keys/issue.ts';
import { safe } from '../../terminal/safe.ts';
import type { keysRotate as spec } from '../../specs/account/keys.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, session, settings } = call;
  const { overlap } = flags;
  const client = await session.client();
  const mine = await isOwnKey(call, client);
  const query = overlap === undefined ? {} : { overlapSeconds: Math.ceil(overlap / 1000) };
  const { key, record } = await issueKey(call, flags, async () => {
    return (await client.rotateApiKey({ params: args, query, idempotencyKey: settings.idempotencyKey })).body;
  });
  if (mine) await keepInstead(call, { key, expiresAt: record.expiresAt });
};

/** Returns whether the call uses the key to rotate. Asked before, because that key may not work after. */
async function isOwnKey({ args, session }: Call, client: Client): Promise<boolean> {
  const credential = session.apiKey();
  if (credential === null || isPersonal(credential.value)) return false;
  return (await client.getIdentity()).body.id === args.keyId;
}

async function keepInstead(
  { io, out, session }: Call,
  { key, expiresAt }: { key: string; expiresAt: string | null },
): Promise<void> {
  const credential = session.apiKey();
  const context = session.context();
  const name = context?.context.kind === 'service' ? context.context.credential : undefined;
  const stored = name === undefined ? undefined : readCredentials(io.env)[name];
  if (name === undefined || stored === undefined || stored.token !== credential?.value)
    return out.warn(safe`${credential?.from ?? 'the credential'} still has the old key`);
  await updateUserState(io.env, ({ config, credentials }) => ({
    config,
    credentials: { ...credentials, [name]: { ...stored, token: key, expiresAt } },
  }));
  await out.note(safe`context ${context?.name ?? ''} has the new key`);
}
