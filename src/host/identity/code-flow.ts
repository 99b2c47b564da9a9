/**
 * The sign-in of browsers at the identity provider (contract B19): authorization code flow of OpenID Connect Core 1.0 §3.1
 * with PKCE (RFC 7636) and the issuer in the answer (RFC 9207). This process exchanges the code, so that no token reaches a
 * browser and the provider needs no CORS. A provider controls each address and text that it sends. Proven by
 * `test/service/console/sign-in.test.ts` and, with a real provider, `test/service/console/sign-in-provider.test.ts`.
 */
import * as oauth from 'oauth4webapi';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { BrowserSignIn, SignInSecrets } from '../../service/hosting/parts.ts';
import type { Log } from '../../service/call/log.ts';
import { providerFetch } from './provider-fetch.ts';
import { readDiscovery, reasonOf, type IssuerPlace } from './issuer-keys.ts';
import { urlFault } from './url-fault.ts';

export interface ClientConfig extends IssuerPlace {
  readonly clientId: string;
  /** Of a confidential client. Absent: a public one. */
  readonly clientSecret?: string | undefined;
  /** Where the provider returns browsers to. Absent: the console at the origin of the page that asks. */
  readonly redirectUri?: string | undefined;
}

interface Provider {
  readonly server: oauth.AuthorizationServer;
  readonly atMs: number;
}

interface Options {
  readonly now: () => number;
  readonly log: Log;
}

export class CodeFlow implements BrowserSignIn {
  readonly redirectUri: string | null;
  readonly #config: ClientConfig;
  readonly #options: Options;
  #known: Provider | null = null;
  #reading: Promise<Provider> | null = null;

  constructor(config: ClientConfig, options: Options) {
    this.redirectUri = config.redirectUri ?? null;
    this.#config = config;
    this.#options = options;
  }

  async begin({
    redirectUri,
    state,
    nonce,
    challenge,
  }: Parameters<BrowserSignIn['begin']>[0]): Promise<string> {
    const { server } = await this.#discover();
    const url = this.#page(server, 'authorization_endpoint');
    if (url === null) throw this.#unreachable('its discovery document names no authorization_endpoint');
    const members = {
      client_id: this.#config.clientId,
      response_type: 'code',
      scope: 'openid email',
      redirect_uri: redirectUri,
      state,
      nonce,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      // asks for a new sign-in after an older one, which the service would reject
      max_age: String(limits.signInAgeSeconds),
    };
    for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value);
    return url.href;
  }

  async finish(parameters: Readonly<Record<string, string>>, started: SignInSecrets): Promise<string> {
    const { server } = await this.#discover();
    const { clientId: client_id } = this.#config;
    const skewSeconds = Math.round((this.#options.now() - Date.now()) / 1000);
    const client: oauth.Client = {
      client_id,
      [oauth.clockSkew]: skewSeconds,
      [oauth.clockTolerance]: limits.idTokenSkewSeconds,
    };
    try {
      const answer = oauth.validateAuthResponse(
        server,
        client,
        new URLSearchParams(parameters),
        started.state,
      );
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        this.#authentication(server),
        answer,
        started.redirectUri,
        started.verifier,
        {
          [oauth.customFetch]: boundedFetch,
          // `#discover` accepts plain HTTP only on this machine
          [oauth.allowInsecureRequests]: true,
          signal: () => AbortSignal.timeout(limits.issuerTimeoutSeconds * 1000),
        },
      );
      const expected = { expectedNonce: started.nonce, requireIdToken: true };
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
      return tokens.id_token ?? '';
    } catch (error) {
      throw this.#explained(error);
    }
  }

  async signOutUrl(): Promise<string | null> {
    try {
      const url = this.#page((await this.#discover()).server, 'end_session_endpoint');
      url?.searchParams.set('client_id', this.#config.clientId);
      return url?.href ?? null;
    } catch (error) {
      if (error instanceof GovError) return null; // signing out here must not depend on the provider
      throw error;
    }
  }

  #authentication(server: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret } = this.#config;
    if (clientSecret === undefined) return oauth.None();
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return methods.includes('client_secret_basic')
      ? oauth.ClientSecretBasic(clientSecret)
      : oauth.ClientSecretPost(clientSecret);
  }

  /** A page of the provider; null where it has none. A browser must open no other kind of address, such as `javascript:`. */
  #page(
    server: oauth.AuthorizationServer,
    name: 'authorization_endpoint' | 'end_session_endpoint',
  ): URL | null {
    const text = server[name];
    if (text === undefined) return null;
    const url = URL.canParse(text) ? new URL(text) : null;
    const fault = url === null ? 'no URL' : urlFault(`${url.origin}${url.pathname}`);
    if (url === null || fault !== null || url.username !== '')
      throw this.#unreachable(`${name}: ${fault ?? 'a user'}`);
    return url;
  }

  /** The provider's discovery document, read again after ten minutes; an older one counts for an hour while it is down. */
  async #discover(): Promise<Provider> {
    const ageMs = this.#known === null ? Infinity : this.#options.now() - this.#known.atMs;
    if (this.#known !== null && ageMs >= 0 && ageMs < limits.issuerKeysSeconds * 1000) return this.#known;
    this.#reading ??= this.#read().finally(() => (this.#reading = null));
    try {
      return await this.#reading;
    } catch (error) {
      if (this.#known !== null && ageMs >= 0 && ageMs < limits.issuerKeysStaleSeconds * 1000)
        return this.#known;
      throw this.#unreachable(reasonOf(error));
    }
  }

  async #read(): Promise<Provider> {
    const { place, document } = await readDiscovery(this.#config.url);
    const server = document as oauth.AuthorizationServer;
    const fault = urlFault(String(server.token_endpoint));
    if (fault !== null) throw new Error(`${place}: token_endpoint: ${fault}`);
    this.#known = { server, atMs: this.#options.now() };
    return this.#known;
  }

  #unreachable(reason: string): GovError {
    const { url } = this.#config;
    this.#options.log.warn({ issuer: url, reason }, 'the identity provider does not answer as one');
    const detail = `the identity provider ${url} does not answer; try again in a minute, or ask the operator of this service`;
    return new GovError('UNAVAILABLE', detail, { retryAfterSeconds: limits.issuerRetrySeconds });
  }

  /** The problem for an error of the flow. The texts of a provider go to the log alone, its error codes also to the person. */
  #explained(error: unknown): GovError {
    const { url } = this.#config;
    const { log } = this.#options;
    if (error instanceof GovError) return error;
    if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
      const code = /^[a-z_]{1,64}$/.test(error.error) ? error.error : 'an unknown error';
      const said = String(error.error_description ?? '').slice(0, 200);
      log[code === 'access_denied' ? 'debug' : 'warn'](
        { issuer: url, code, said },
        'the identity provider refused a sign-in',
      );
      return refused(code, url);
    }
    if (error instanceof oauth.WWWAuthenticateChallengeError) {
      log.warn({ issuer: url }, 'the identity provider refused the client of this service');
      return refused('invalid_client', url);
    }
    if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError) {
      log.warn({ issuer: url, reason: reasonOf(error) }, 'an answer of the identity provider was refused');
      const detail = `expected an answer of the identity provider ${url} to this sign-in, got another; sign in again`;
      return new GovError('INVALID_CREDENTIAL', detail);
    }
    return this.#unreachable(reasonOf(error));
  }
}

function refused(code: string, url: string): GovError {
  switch (code) {
    case 'invalid_grant': {
      const detail = 'the code of this sign-in has expired or was used before; sign in again';
      return new GovError('INVALID_CREDENTIAL', detail);
    }
    case 'temporarily_unavailable':
    case 'server_error': {
      const detail = `the identity provider ${url} cannot sign you in now (${code}); try again in a minute`;
      return new GovError('UNAVAILABLE', detail, { retryAfterSeconds: limits.issuerRetrySeconds });
    }
    case 'invalid_client':
    case 'unauthorized_client': {
      const detail = `the identity provider ${url} refused this service (${code}); the operator checks issuer.clientId and issuer.clientSecretFile in service.json`;
      return new GovError('FORBIDDEN', detail);
    }
    default: {
      const detail = `the identity provider ${url} refused the sign-in (${code}); sign in with another account, or ask its administrator for access`;
      return new GovError('FORBIDDEN', detail);
    }
  }
}

/** `fetch` without redirects, and with a bound on the body. An error of the server is one of the network. */
async function boundedFetch(
  url: string,
  { headers, body, method, signal }: oauth.CustomFetchOptions<'POST', URLSearchParams>,
): Promise<Response> {
  const response = await providerFetch(url, {
    method,
    headers: new Headers(headers),
    body,
    signal,
    timeoutMs: limits.issuerTimeoutSeconds * 1000,
    maxBytes: limits.issuerAnswerBytes,
  });
  if (response.status >= 500) throw new Error(`${url}: expected status 200, got ${response.status}`);
  return response;
}
