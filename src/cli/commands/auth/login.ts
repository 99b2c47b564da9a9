/**
 * `gov auth login`: signs a person in by their ID token, or stores an API key.
 * Tested by `test/cli/auth/commands.test.ts`.
 */
import { GovApiError } from '../../../client/errors.ts';
import type { Identity } from '../../../contract/auth.ts';
import { confirm } from '../../terminal/ask.ts';
import { idTokenOf } from '../../auth/id-token.ts';
import { identityAt, keep, serviceAt } from '../../auth/sign-in.ts';
import type { NewContext } from '../../auth/sign-in.ts';
import { checkFree, targetOf } from '../../auth/target.ts';
import type { TargetContext, Target } from '../../auth/target.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { readUserConfig } from '../../context/config.ts';
import { personOf, placeOf, readCredentials } from '../../context/credentials.ts';
import { whyNoKeychain } from '../../keychain/secrets.ts';
import type { StoredCredential } from '../../context/credentials.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { readInput } from '../../terminal/input.ts';
import { safe } from '../../terminal/safe.ts';
import type { authLogin as spec } from '../../specs/account/auth.ts';
import { plainView } from '../../terminal/view.ts';

type Call = Invocation<typeof spec>;

interface SignedIn {
  readonly identity: Identity;
  readonly expiresAt: string | null;
  readonly found: readonly NewContext[];
  readonly current: string;
}

export const run: Run<typeof spec> = async (call) => {
  const { flags, io, out } = call;
  if (flags.apiKeyStdin && (flags.ci || flags.idToken !== undefined))
    throw usage('expected one of --api-key-stdin, --ci and --id-token, got more');
  const target = targetOf(call);
  const { identity, expiresAt, found, current } = flags.apiKeyStdin
    ? await withKey(call, target)
    : await asPerson(call, target);
  const { type, id, name, organizationId, organizationName } = identity;
  const contexts = found.map(({ place, project }) => ({
    ...place,
    projectId: project ?? identity.projectId,
  }));
  const who = { type, id, name, organizationId, organizationName, expiresAt };
  const value = { ...who, contexts, currentContext: current };
  if (!out.isHuman) await out.one(value, plainView(Object.keys(value)));
  else {
    const until = expiresAt === null ? '' : ` until ${expiresAt}`;
    await out.lines([
      safe`${out.styles.green('signed in')} at ${new URL(target.baseUrl).host} as ${out.styles.bold(name ?? id)} (${organizationName ?? organizationId})${until}`,
      ...contexts.map((each) => safe`  ${each.name}  ${each.environment}, project ${each.projectId}`),
    ]);
  }
  const stored = readCredentials(io.env)[found[0]?.credential ?? ''];
  const why = stored?.store === 'file' ? ` (${whyNoKeychain(io.env) ?? 'the keychain refused it'})` : '';
  if (stored !== undefined) await out.note(safe`the credential is in ${placeOf(io.env, stored)}${why}`);
  await out.note(safe`current context: ${current}; use another: gov context use NAME`);
};

async function asPerson(call: Call, target: Target): Promise<SignedIn> {
  const { io, session } = call;
  checkFree(target.places, 'person', call);
  const client = await session.clientAt(target.baseUrl, {});
  const idToken = await idTokenOf(client, call);
  const credential = personOf(target.base);
  const before = readCredentials(io.env)[credential];
  const { body } = await client.createCliToken({ body: { idToken } }).catch((cause: unknown) => {
    throw refusedSignIn(cause);
  });
  const stored: StoredCredential = {
    kind: 'person',
    token: body.token,
    origin: new URL(target.baseUrl).origin,
    expiresAt: body.expiresAt,
  };
  try {
    const { identity, found } = await placesOf(call, target, { credential, token: body.token });
    const current = await keep(call, { found, credentials: { [credential]: stored } });
    if (before !== undefined) await endQuietly(call, target, before.token);
    return { identity, expiresAt: body.expiresAt, found, current };
  } catch (cause) {
    // without a context nobody would know of the token
    await endQuietly(call, target, body.token);
    throw cause;
  }
}

/** Returns the person's context in each environment, with its earlier project or the organization's first one. */
async function placesOf(
  call: Call,
  { places, environment }: Target,
  { credential, token }: { credential: string; token: string },
): Promise<{ identity: Identity; found: NewContext[] }> {
  const { contexts } = readUserConfig(call.io.env);
  const found: NewContext[] = [];
  let mine: Identity | undefined;
  for (const place of places) {
    const { project } = serviceAt(contexts, place.name);
    const known = project === undefined ? null : await identityAt(call, place, { token, project });
    const identity = known ?? (await identityAt(call, place, { token }));
    if (identity === null) continue;
    if (mine === undefined || place.environment === environment) mine = identity;
    found.push({ place, credential, project: identity.projectId });
  }
  if (mine !== undefined) return { identity: mine, found };
  throw new CliError(exit.denied, 'expected a valid token from the service, which does not know it', {
    code: 'REFUSED',
  });
}

/** Ends a token that nobody needs. If this fails, the token expires by itself. */
async function endQuietly({ session, out }: Call, { baseUrl }: Target, token: string): Promise<void> {
  const client = await session.clientAt(baseUrl, { token, retries: 0 });
  await client
    .revokeCliToken()
    .catch(() => out.detail(safe`could not end an earlier token; it expires by itself`));
}

function refusedSignIn(cause: unknown): unknown {
  if (!(cause instanceof GovApiError) || cause.status !== 401) return cause;
  return new CliError(exit.denied, cause.message, {
    code: cause.code,
    next: ['gov auth login', 'gov auth signup --name NAME --organization NAME'],
    cause,
  });
}

/** The key contains its environment (contract B3). */
const kinds = { live: 'production', test: 'sandbox' } as const;

async function withKey(call: Call, target: Target): Promise<SignedIn> {
  const { io, signal } = call;
  const { bytes } = await readInput('-', { io, signal });
  const token = Buffer.from(bytes).toString().trim();
  const kind = /^gov_(live|test)_[0-9A-Za-z]{38}$/.exec(token)?.[1];
  if (kind !== 'live' && kind !== 'test')
    throw usage('standard input: expected an API key such as gov_live_…, got other text');
  const place = target.places.find(({ environment }) => environment === kinds[kind]);
  if (place === undefined)
    throw usage(`standard input: expected a key of ${target.environment}, got a gov_${kind}_ key`);
  await checkReplaced(call, place, token);
  const identity = await identityAt(call, place, { token });
  if (identity === null)
    throw new CliError(exit.denied, `the key is not valid at ${place.baseUrl}`, {
      code: 'INVALID_CREDENTIAL',
    });
  const { expiresAt } = identity;
  const origin = new URL(place.baseUrl).origin;
  const found = [{ place, credential: place.name }];
  const credentials = { [place.name]: { kind: 'api_key', token, origin, expiresAt } as const };
  return { identity, expiresAt, found, current: await keep(call, { found, credentials }) };
}

/** Asks before it replaces a key, which may be stored nowhere else. */
async function checkReplaced(call: Call, place: TargetContext, token: string): Promise<void> {
  const { io } = call;
  const { credential } = serviceAt(readUserConfig(io.env).contexts, place.name);
  const before = credential === undefined ? undefined : readCredentials(io.env)[credential];
  checkFree([place], before?.kind ?? 'none', call);
  if (before?.kind !== 'api_key' || before.token === token) return;
  await confirm(`this machine will forget the other API key of context ${place.name}`, '--yes', call);
}
