/**
 * Handlers of accounts (contract B14-B16, I1, I2): sign-up, sessions, tokens of the command line, and the
 * owner of a credential. People authenticate at the identity provider; this service never sees a password.
 * Proven by `test/service/access/auth.test.ts`, `test/service/access/auth-sessions.test.ts` and, with a real
 * provider, `test/service/access/auth-provider.test.ts`.
 */
import type { Identity } from '../../contract/auth.ts';
import { GovError } from '../../contract/problems.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers, RawCredentials } from '../port/handler.ts';
import type { IdentityProvider, VerifiedPerson } from '../hosting/parts.ts';
import { keyDigest, tokenKind } from '../credentials/token-format.ts';
import { keptRunKey, runKeyDocument } from '../credentials/run-keys.ts';
import { append } from '../writes/append.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { clearedCookie, cookieOf, endSession, newSession, openSession, type Person } from './sessions.ts';
import { ofPerson, signUp } from './sign-up.ts';

export const auth: Pick<
  Handlers,
  | 'signUp'
  | 'openSession'
  | 'closeSession'
  | 'createCliToken'
  | 'revokeCliToken'
  | 'getIdentity'
  | 'getAuthConfiguration'
> = {
  async signUp({ body, presented, idempotency, basePath }, services) {
    const person = await identityOf(services).verify(presented?.bearer ?? '', { freshSignIn: false });
    return signUp(services, { person, body, idempotency: ofPerson(idempotency, person), basePath });
  },

  /** Each call opens a new session (contract B14), a repeat under the same Idempotency-Key too. */
  async openSession({ body, presented }, services) {
    const { person } = await signIn(services, body.idToken);
    const before = presented?.cookie ?? null;
    if (before !== null) await endSession(services, { token: before, kind: 'browser', reason: 'replaced' });
    const { token, session } = newSession('browser', person, services);
    const headers = { 'set-cookie': cookieOf(token) };
    const answer = { status: 200, body: { success: true }, headers } as const;
    return openSession(services, person, { session, idempotency: null, answer });
  },

  async closeSession({ presented }, services) {
    const token = presented?.cookie ?? null;
    if (token !== null) await endSession(services, { token, kind: 'browser', reason: 'signed_out' });
    return { status: 200, body: { success: true }, headers: { 'set-cookie': clearedCookie } };
  },

  async createCliToken({ body, idempotency, basePath }, services) {
    const { person, verified } = await signIn(services, body.idToken);
    const { token, session } = newSession('cli', person, services);
    const { organizationId } = person.organization;
    const expiresAt = formatTimestamp(session.expiresMs);
    // the token has no address; this one shows whom it names
    const headers = { location: `${basePath}/auth/identity` };
    const answer = { status: 201, body: { token, organizationId, expiresAt }, headers } as const;
    return openSession(services, person, {
      session,
      idempotency: ofPerson(idempotency, verified),
      answer,
    });
  },

  async revokeCliToken({ presented }, services) {
    const token = presented?.bearer ?? '';
    if (tokenKind(token) !== 'cli') {
      const detail =
        'expected the token gov_cli_… that should end; an API key ends by DELETE /api-keys/{keyId}';
      throw fieldError({ pointer: '/Authorization', in: 'header', code: 'NOT_ALLOWED', detail });
    }
    await endSession(services, { token, kind: 'cli', reason: 'signed_out' });
    return { status: 200, body: { success: true } };
  },

  async getIdentity({ caller, presented }, services) {
    const { store } = services;
    const { type } = caller;
    if (type === 'data_plane')
      throw new Error(
        'expected an API key or a person, got a hybrid key, which can only send signed reports',
      );
    const { projectId, organizationId, environment } = caller.project;
    await keepRunKey(services, caller, presented?.bearer ?? null);
    const [credential, organization, project] = await Promise.all([
      type === 'api_key' ? keyNamed(services, caller) : personNamed(services, caller, presented),
      store.organization(organizationId),
      store.storedProject(organizationId, projectId),
    ]);
    const { name, expiresMs } = credential ?? { name: null, expiresMs: null };
    const body: Identity = {
      type,
      id: caller.id,
      name,
      organizationId,
      organizationName: organization?.name ?? null,
      projectId,
      projectName: project?.name ?? null,
      environment,
      scopes: [...caller.scopes],
      expiresAt: expiresMs === null ? null : formatTimestamp(expiresMs),
    };
    return { status: 200, body };
  },

  async getAuthConfiguration(_, { hosting }) {
    const { identity = null } = hosting ?? {};
    if (identity === null) {
      throw new GovError('NOT_FOUND', 'no identity provider is configured here: use API keys');
    }
    const { issuer, clientId, scopes } = identity.configuration;
    return { status: 200, body: { issuer, clientId, scopes: [...scopes] } };
  },
};

/** The identity provider. INVALID_CREDENTIAL where none is configured. */
function identityOf({ hosting }: Services): IdentityProvider {
  const { identity = null } = hosting ?? {};
  if (identity !== null) return identity;
  const detail = 'no identity provider is configured here, so nobody can sign in: use API keys';
  throw new GovError('INVALID_CREDENTIAL', detail);
}

/**
 * The person who just signed in at the identity provider. INVALID_CREDENTIAL also where that person has not
 * signed up.
 */
async function signIn(
  services: Services,
  idToken: string,
): Promise<{ readonly person: Person; readonly verified: VerifiedPerson }> {
  const verified = await identityOf(services).verify(idToken, { freshSignIn: true });
  const { store } = services;
  const user = await store.user(verified.issuer, verified.subject);
  const organization = user === null ? null : await store.organization(user.organizationId);
  if (user !== null && organization !== null) return { person: { user, organization }, verified };
  const detail = 'expected someone who has signed up; POST /auth/signup with this ID token first';
  throw new GovError('INVALID_CREDENTIAL', detail);
}

interface SessionName {
  readonly name: string;
  readonly expiresMs: number | null;
}

/** Keeps the run key of the API key that calls. Where that fails, such as on a full disk, the key has no run tokens. */
async function keepRunKey(services: Services, caller: Caller, token: string | null): Promise<void> {
  const { store, seal, now } = services;
  const { projectId } = caller.project;
  const isOwn = caller.credential?.kind === 'key' && caller.run === undefined;
  if (
    token === null ||
    !isOwn ||
    (await keptRunKey({ store, seal }, { projectId, keyId: caller.id })) !== null
  )
    return;
  const change = runKeyDocument(token, { keyId: caller.id, createdMs: now(), seal });
  try {
    await append(services, {
      projectId,
      leaves: [],
      effects: [{ kind: 'saveDocuments', changes: [change] }],
    });
  } catch (cause) {
    // another process kept it meanwhile, or nothing can be written
    if (!(cause instanceof GovError)) throw cause;
  }
}

const keyNamed = ({ store }: Services, { id, project }: Caller): Promise<SessionName | null> =>
  store.apiKeyOf(project.projectId, id);

/**
 * The person of the call's credential, which was checked before. Null where the person was deleted in the
 * meantime.
 */
async function personNamed(
  services: Services,
  { id }: Caller,
  presented: RawCredentials | null,
): Promise<SessionName | null> {
  const { bearer = null, cookie = null } = presented ?? {};
  const { store } = services;
  if (bearer !== null && tokenKind(bearer) === null) {
    const { issuer, subject, expiresMs } = await identityOf(services).verify(bearer, { freshSignIn: false });
    const user = await store.user(issuer, subject);
    return user?.userId === id ? { name: user.name, expiresMs } : null;
  }
  const found = await store.session(keyDigest(bearer ?? cookie ?? ''));
  return found?.user.userId === id ? { name: found.user.name, expiresMs: found.session.expiresMs } : null;
}
