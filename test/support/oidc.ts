/**
 * A real OpenID provider (the package `oidc-provider`) on loopback, and the people who sign in to it: what a person
 * does in a browser is done here by following its pages. Its device grant is RFC 8628, its codes need PKCE.
 */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import type { Adapter, AdapterPayload, Configuration } from 'oidc-provider';

export interface ProviderOptions {
  /** Algorithm of ID tokens; default RS256. */
  readonly alg?: 'RS256' | 'ES256' | 'EdDSA';
  /** Whether it has the device grant; default true. */
  readonly deviceFlow?: boolean;
  readonly deviceCodeSeconds?: number;
  readonly idTokenSeconds?: number;
  /** Default a free port. */
  readonly port?: number;
  /** A secret makes its clients confidential. */
  readonly clientSecret?: string;
  /** Subjects whose address is not verified. */
  readonly unverified?: readonly string[];
}

export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Where a person lands who opens this page of the provider and signs in; `until`: how that address begins. */
  follow(address: string, subject: string, until: string): Promise<URL>;
  /** Of a person who signs in now, by the authorization code flow. `clientId`: of another client of the provider. */
  idToken(subject: string, options?: { nonce?: string; clientId?: string }): Promise<string>;
  /** What a person does with the address that a device shows. The code may be part of the address. */
  approve(address: string, subject: string, userCode?: string): Promise<void>;
  deny(address: string, userCode?: string): Promise<void>;
  close(): Promise<void>;
}

const testClientId = 'gov-cli';
export const otherClientId = 'another-application';
const redirectUri = 'http://127.0.0.1/callback';
/** The console of a service on this machine. */
const consoleUris = ['localhost', '127.0.0.1'].map((host) => `http://${host}/console/callback`);
const scopes = ['openid', 'email'];
/** Says who sits at the keyboard. */
const personHeader = 'x-test-person';

export async function startProvider(options: ProviderOptions = {}): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configurationOf(options));
  // without an interval, a client asks every 5 seconds whether the person has approved
  provider.use(async (context, next) => {
    await next();
    if (context.oidc?.route === 'device_authorization')
      context.body = { ...(context.body as object), interval: 1 };
  });
  const serve = provider.callback();
  server.on('request', (request, response) => {
    const isQuestion = request.url?.startsWith('/interaction/') === true;
    void (isQuestion ? answer(provider, request, response) : serve(request, response));
  });
  return {
    issuer,
    clientId: testClientId,
    scopes,
    follow: async (address, subject, until) =>
      new URL((await new Browser(subject).open(address, { until })).url),
    idToken: (subject, more = {}) => signIn(issuer, { subject, clientId: testClientId, ...more }),
    approve: async (address, subject, userCode) => {
      const browser = new Browser(subject);
      const page = await confirmation(browser, address, userCode);
      const { text } = await browser.submit(page, {});
      if (!/Sign-in Success/i.test(text)) throw new Error(`the device was not approved: ${text}`);
    },
    deny: async (address, userCode) => {
      const browser = new Browser('nobody');
      await browser.submit(await confirmation(browser, address, userCode), { abort: 'yes' });
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function configurationOf(options: ProviderOptions): Configuration {
  const { alg = 'RS256', deviceFlow = true, unverified = [], clientSecret } = options;
  const client = {
    application_type: 'native' as const,
    ...(clientSecret === undefined
      ? { token_endpoint_auth_method: 'none' as const }
      : { token_endpoint_auth_method: 'client_secret_basic' as const, client_secret: clientSecret }),
    id_token_signed_response_alg: alg,
    // of a native client: any port of this machine
    redirect_uris: [redirectUri, ...consoleUris],
    response_types: ['code' as const],
    grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
  };
  return {
    adapter: () => new Shelf(),
    jwks: { keys: [{ ...signingKey(alg), alg, use: 'sig', kid: 'test-1' }] },
    clients: [testClientId, otherClientId].map((client_id) => ({
      ...client,
      client_id,
      ...(deviceFlow ? {} : { grant_types: ['authorization_code'] }),
    })),
    features: {
      devInteractions: { enabled: false },
      deviceFlow: { enabled: deviceFlow, mask: '****-****', ...pages },
    },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    enabledJWA: { idTokenSigningAlgValues: [alg] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    // as most providers do, so that a service may look at them without a call
    conformIdTokenClaims: false,
    cookies: { keys: [randomBytes(32).toString('hex')] },
    clientBasedCORS: () => false,
    findAccount: (_ctx, accountId) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        email: `${accountId}@example.test`,
        email_verified: !unverified.includes(accountId),
      }),
    }),
    renderError: (ctx, out) => {
      ctx.type = 'json';
      ctx.body = out;
    },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      DeviceCode: options.deviceCodeSeconds ?? 600,
      Grant: 3600,
      IdToken: options.idTokenSeconds ?? 3600,
      Interaction: 600,
      Session: 3600,
    },
  };
}

/** Pages of the device grant: as bare as can be. */
const pages = {
  userCodeInputSource: (ctx: { body?: unknown }, form: string): void => {
    ctx.body = form;
  },
  userCodeConfirmSource: (ctx: { body?: unknown }, form: string): void => {
    ctx.body = form;
  },
  successSource: (ctx: { body?: unknown }): void => {
    ctx.body = 'Sign-in Success';
  },
};

function signingKey(alg: NonNullable<ProviderOptions['alg']>): Record<string, unknown> {
  const pair =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519');
  return { ...pair.privateKey.export({ format: 'jwk' }) };
}

/** Signs in whoever the browser says sits there, and grants what is asked for. */
async function answer(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    const accountId = String(request.headers[personHeader]);
    return provider.interactionFinished(request, response, { login: { accountId } });
  }
  const grant = new provider.Grant({
    ...(session?.accountId === undefined ? {} : { accountId: session.accountId }),
    clientId: String(params['client_id']),
  });
  grant.addOIDCScope(scopes.join(' '));
  const grantId = await grant.save();
  return provider.interactionFinished(
    request,
    response,
    { consent: { grantId } },
    { mergeWithLastSubmission: true },
  );
}

interface Page {
  readonly url: string;
  readonly text: string;
}

/** Follows redirects, keeps cookies, fills forms. */
class Browser {
  readonly #cookies = new Map<string, string>();
  readonly #person: string;

  constructor(person: string) {
    this.#person = person;
  }

  /** Stops at an address that begins with `until`, without asking for it. */
  async open(
    url: string,
    { until = '\0', form }: { until?: string; form?: URLSearchParams } = {},
  ): Promise<Page> {
    const answered = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        [personHeader]: this.#person,
      },
      ...(form === undefined ? {} : { body: form }),
    });
    for (const cookie of answered.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';');
      const [name = '', ...value] = pair.split('=');
      this.#cookies.set(name, value.join('='));
    }
    const location = answered.headers.get('location');
    if (location === null) return { url, text: await answered.text() };
    const next = new URL(location, url).href;
    return next.startsWith(until) ? { url: next, text: '' } : this.open(next, { until });
  }

  /** Sends the one form of a page with its hidden members and these. */
  submit({ url, text }: Page, members: Record<string, string>): Promise<Page> {
    const action = /<form[^>]* action="([^"]*)"/.exec(text)?.[1];
    if (action === undefined) throw new Error(`expected a form, got ${text}`);
    const form = new URLSearchParams();
    for (const [, name = '', value = ''] of text.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g))
      form.set(name, value);
    for (const [name, value] of Object.entries(members)) form.set(name, value);
    return this.open(new URL(action, url).href, { form });
  }
}

/** The page that asks whether the device may sign in. */
async function confirmation(browser: Browser, address: string, userCode?: string): Promise<Page> {
  const first = await browser.open(address);
  return browser.submit(first, userCode === undefined ? {} : { user_code: userCode });
}

/** The authorization code flow with PKCE (RFC 7636), as a native application does it. */
async function signIn(
  issuer: string,
  { subject, clientId, nonce }: { subject: string; clientId: string; nonce?: string },
): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: scopes.join(' '),
    max_age: '300',
    code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    ...(nonce === undefined ? {} : { nonce }),
  });
  const { url, text } = await new Browser(subject).open(`${issuer}/auth?${query}`, { until: redirectUri });
  const code = new URL(url).searchParams.get('code');
  if (code === null) throw new Error(`nobody was signed in: ${url} ${text}`);
  const answered = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
    }),
  });
  const { id_token: idToken } = (await answered.json()) as { id_token?: string };
  if (idToken === undefined) throw new Error(`no ID token was issued: ${answered.status}`);
  return idToken;
}

/** What the provider keeps, in memory; the package's own would say at each start that it forgets. */
class Shelf implements Adapter {
  readonly #items = new Map<string, AdapterPayload>();

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    this.#items.set(id, payload);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#items.get(id);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return [...this.#items.values()].find((each) => each.uid === uid);
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return [...this.#items.values()].find((each) => each.userCode === userCode);
  }

  async consume(id: string): Promise<void> {
    const found = this.#items.get(id);
    if (found !== undefined) this.#items.set(id, { ...found, consumed: Math.floor(Date.now() / 1000) });
  }

  async destroy(id: string): Promise<void> {
    this.#items.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, { grantId: of }] of this.#items) if (of === grantId) this.#items.delete(id);
  }
}
