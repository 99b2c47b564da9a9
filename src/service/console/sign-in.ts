/**
 * The sign-in of a browser at the identity provider (contract B19). What the service must know when the provider returns is
 * in a sealed cookie, not in the store: nobody can fill the store without signing in, and every process of the service opens
 * it. A sign-in opens one session, also where its cookie and code come twice. Proven by
 * `test/service/console/sign-in.test.ts`.
 */
import { callbackFile, signInCookie } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256 } from '../../core/hash.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Handlers, RawCredentials } from '../port/handler.ts';
import type { Services } from '../port/services.ts';
import type { HostParts, IdentityProvider, SignInSecrets, VerifiedPerson } from '../hosting/parts.ts';
import {
  clearedCookie,
  cookieOf,
  endSession,
  newSession,
  openSession,
  type Person,
} from '../access/sessions.ts';
import { untrustedSite } from '../credentials/shown.ts';

const secretBytes = 32;
/** Begins the sealed text, because the seal protects others too. */
const purpose = 'gov.sign-in/1 ';

interface PendingSignIn extends SignInSecrets {
  readonly untilMs: number;
}

export const signIns: Pick<Handlers, 'startSignIn' | 'finishSignIn' | 'signOut'> = {
  async startSignIn({ presented }, services) {
    const { hosting, identity } = hostedOf(services);
    const { browsers } = identity;
    const redirectUri = redirectUriFor(pageOf(presented), browsers.redirectUri);
    const [state, nonce, verifier] = [secret(services), secret(services), secret(services)];
    const challenge = sha256(verifier).toString('base64url');
    const authorizationUrl = await browsers.begin({ redirectUri, state, nonce, challenge });
    const untilMs = services.now() + limits.signInSeconds * 1000;
    const started: PendingSignIn = { untilMs, redirectUri, state, nonce, verifier };
    const cookie = `${signInCookie}=${hosting.seal.seal(purpose + JSON.stringify(started))}`;
    return {
      status: 200,
      body: { authorizationUrl, expiresAt: formatTimestamp(untilMs) },
      headers: {
        'set-cookie': `${cookie}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=${limits.signInSeconds}`,
      },
    };
  },

  async finishSignIn({ body, presented, origin }, services) {
    const { hosting, identity } = hostedOf(services);
    const started = openStarted(presented?.signIn ?? null, hosting, services.now());
    if (started === null || body.state !== started.state) throw notStarted();
    pageOf(presented);
    const idToken = await identity.browsers.finish(body, started);
    const verified = await identity.verify(idToken, { freshSignIn: true, nonce: started.nonce });
    const person = await accountOf(verified, services, origin());
    const { token, session } = newSession('browser', person, services);
    // the record of this key, kept for a day, makes the sign-in count once; it holds no secret
    const idempotency = { key: sha256(purpose + started.state).toString('hex'), fingerprint: purpose };
    const answer = { status: 200, body: { success: true } } as const;
    const opened = await openSession(services, person, { session, idempotency, answer });
    if ('replayed' in opened) throw notStarted();
    // only now: an answer that comes twice must not end the session that it opened
    const before = presented?.cookie ?? null;
    if (before !== null) await endSession(services, { token: before, kind: 'browser', reason: 'replaced' });
    return { ...answer, headers: { 'set-cookie': cookieOf(token) } };
  },

  async signOut({ presented }, services) {
    // a form of another site could clear the cookie otherwise
    pageOf(presented);
    const token = presented?.cookie ?? null;
    if (token !== null) await endSession(services, { token, kind: 'browser', reason: 'signed_out' });
    const providerUrl = (await services.hosting?.identity?.browsers.signOutUrl()) ?? null;
    return { status: 200, body: { success: true, providerUrl }, headers: { 'set-cookie': clearedCookie } };
  },
};

const secret = ({ randomBytes }: Services): string => randomBytes(secretBytes).toString('base64url');

function hostedOf({ hosting }: Services): {
  readonly hosting: HostParts;
  readonly identity: IdentityProvider;
} {
  const identity = hosting?.identity ?? null;
  if (hosting !== null && identity !== null) return { hosting, identity };
  throw new GovError('NOT_FOUND', 'no identity provider is configured here: use API keys');
}

/** The origin of the page that calls. FORBIDDEN for programs, and for pages of others. */
function pageOf(presented: RawCredentials | null): string {
  if (presented === null || presented.origin === null || presented.site === null) throw untrustedSite();
  return presented.origin;
}

/** FORBIDDEN where the provider would return to an origin that does not have the cookie. */
function redirectUriFor(page: string, configured: string | null): string {
  if (configured === null) return `${page}/console/${callbackFile}`;
  const { origin } = new URL(configured);
  if (origin === page) return configured;
  const address = configured.slice(0, -callbackFile.length);
  throw new GovError(
    'FORBIDDEN',
    `expected the console at ${address}, got it at ${page}; open that address and sign in there`,
  );
}

/** Null for a cookie that is missing, altered, of another purpose, or too old. An attacker may send any text. */
function openStarted(cookie: string | null, { seal }: HostParts, nowMs: number): PendingSignIn | null {
  const text = cookie === null ? null : seal.open(cookie);
  if (text?.startsWith(purpose) !== true) return null;
  const started = JSON.parse(text.slice(purpose.length)) as PendingSignIn; // a process of this service sealed it
  return started.untilMs > nowMs ? started : null;
}

const notStarted = (): GovError =>
  new GovError(
    'INVALID_CREDENTIAL',
    `expected the answer to a sign-in that this browser began at most ${limits.signInSeconds / 60} minutes ago and did not finish; sign in again`,
  );

async function accountOf(
  { issuer, subject, email }: VerifiedPerson,
  { store }: Services,
  origin: string,
): Promise<Person> {
  const user = await store.user(issuer, subject);
  const organization = user === null ? null : await store.organization(user.organizationId);
  if (user !== null && organization !== null) return { user, organization };
  const command = `gov auth signup --base-url ${origin} --name NAME --organization NAME`;
  const detail = `${issuer} knows ${email ?? 'you'}, but this service has no account of that person; make one with: ${command}`;
  throw new GovError('FORBIDDEN', detail, { extensions: { reason: 'no-account', command } });
}
