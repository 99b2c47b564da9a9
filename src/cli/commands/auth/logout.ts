/**
 * `gov auth logout`: ends the sign-in at the service first, so that no valid token remains unnoticed.
 * Tested by `test/cli/auth/commands.test.ts`.
 */
import { GovApiError, GovNetworkError } from '../../../client/errors.ts';
import { confirm } from '../../terminal/ask.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { updateUserState } from '../../context/config-write.ts';
import { readCredentials } from '../../context/credentials.ts';
import type { StoredCredential } from '../../context/credentials.ts';
import { refusePlane } from '../../context/target.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { authLogout as spec } from '../../specs/account/auth.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { out, io, session } = call;
  const chosen = session.context();
  if (chosen === null) throw usage('expected a context to sign out of, found none', 'gov context list');
  refusePlane('auth logout', call);
  const { name, context } = chosen;
  const credential = context.kind === 'service' ? context.credential : undefined;
  const stored = credential === undefined ? undefined : readCredentials(io.env)[credential];
  if (credential === undefined || stored === undefined)
    return out.note(safe`nobody is signed in: context ${name}`);
  if (stored.kind === 'person') await end(call, stored);
  else await confirm(`this machine will forget the API key of context ${name}`, '--yes', call);
  await updateUserState(io.env, ({ config, credentials }) => {
    const { [credential]: _gone, ...rest } = credentials;
    return { config, credentials: rest };
  });
  await out.note(safe`signed out: context ${name}`);
};

/** Errors: exit 10 if the service cannot be reached, unless --force. A sign-in that has already ended is fine. */
async function end(
  { flags, out, session }: Call,
  { token, origin, expiresAt }: StoredCredential,
): Promise<void> {
  const { pathname } = new URL(session.baseUrl().value);
  const client = await session.clientAt(`${origin}${pathname}`, { token });
  try {
    await client.revokeCliToken();
  } catch (cause) {
    if (cause instanceof GovApiError && cause.status === 401) return;
    if (!(cause instanceof GovNetworkError) || !flags.force) throw cause;
    await out.warn(safe`${cause.message}; the sign-in stays valid until ${expiresAt ?? 'it is revoked'}`);
  }
}
