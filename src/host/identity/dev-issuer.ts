/**
 * An identity provider for one machine (`gov service serve --dev-issuer`): it believes any e-mail address that
 * a person enters. It implements the device grant (RFC 8628) and, in `dev-issuer-codes.ts`, the authorization code
 * flow of OpenID Connect, so that `gov auth login`, the console and the service treat it as any other provider. Keys and codes are in memory and end with the process. It serves
 * only on loopback, only for a service on loopback, and refuses pages of other sites. The package
 * `oidc-provider`, which tests use, would add 976 KiB to dist/ and 134 ms to this start. Proven by
 * `test/host/identity/dev-issuer.test.ts`.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import { isLoopback } from '../../client/proxy.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Log } from '../../service/call/log.ts';
import { emailOf, refused, type Answer, type DevIdentity } from './dev-issuer-answers.ts';
import { AuthorizationCodes } from './dev-issuer-codes.ts';
import { confirmedPage, signInPage } from './dev-issuer-pages.ts';
import type { IssuerConfig } from './id-token.ts';
import type { Address } from '../config/layers.ts';

/** The address is the same at each start, because a person is identified by (issuer, subject). */
const devIssuerAddress: Address = { host: '127.0.0.1', port: 7472 };

export interface DevIssuerOptions {
  readonly listen?: Address;
  /** Address of the service. */
  readonly serviceListen: Address;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  readonly log: Log;
}

export interface DevIssuer {
  readonly issuer: IssuerConfig;
  close(): Promise<void>;
}

const clientId = 'gov';
const codeSeconds = 600;
const pollSeconds = 1;
const maxCodes = 1000;
const maxFormBytes = 4096;
const grantType = 'urn:ietf:params:oauth:grant-type:device_code';

/** Starts the issuer. VALIDATION_ERROR unless both addresses are loopback, CONFLICT where the port is taken. */
export async function startDevIssuer(options: DevIssuerOptions): Promise<DevIssuer> {
  const { listen = devIssuerAddress, serviceListen, log } = options;
  for (const { host, port } of [serviceListen, listen]) {
    if (isLoopback(host)) continue;
    const detail = `--dev-issuer lets anybody sign in: expected the service on loopback, such as 127.0.0.1:7470, got ${host}:${port}`;
    throw new GovError('VALIDATION_ERROR', detail);
  }
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'development' };
  const server = createServer();
  server.listen(listen.port, listen.host);
  await once(server, 'listening').catch((cause: unknown) => {
    const detail = `expected ${listen.host}:${listen.port} to be free for --dev-issuer; end what listens there`;
    throw new GovError('CONFLICT', detail, { cause });
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${port}`;
  const issuer = new Issuer({ ...options, url, jwk, privateKey });
  server.on('request', (request, response) => void issuer.answer(request, response));
  server.requestTimeout = 5000;
  // the service decides when the process ends
  server.unref();
  log.warn(
    { issuer: url },
    'DEVELOPMENT ISSUER: anybody on this machine can sign in as anybody; never use it elsewhere',
  );
  return {
    issuer: { url, clientId, algorithms: ['ES256'] },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A device that waits for a sign-in. */
interface WaitingDevice {
  readonly userCode: string;
  readonly untilMs: number;
  person: DevIdentity | null;
}

interface Parts extends Pick<DevIssuerOptions, 'now' | 'randomBytes'> {
  readonly url: string;
  readonly jwk: object;
  readonly privateKey: CryptoKey;
}

class Issuer {
  readonly #parts: Parts;
  /** By device code, the oldest first. */
  readonly #waiting = new Map<string, WaitingDevice>();
  readonly #codes: AuthorizationCodes;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#codes = new AuthorizationCodes({ ...parts, clientId });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const {
      status,
      body,
      headers = {},
    } = await this.#route(request).catch(() => refused(400, 'invalid_request'));
    const isPage = typeof body === 'string';
    response.writeHead(status, {
      'content-type': isPage ? 'text/html; charset=utf-8' : 'application/json',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; form-action ${headers.formAction ?? "'self'"}; frame-ancestors 'none'`,
      // `no-referrer` would make browsers send a form with `Origin: null`
      'referrer-policy': 'same-origin',
      ...(headers.location === undefined ? {} : { location: headers.location }),
    });
    response.end(isPage ? body : JSON.stringify(body));
  }

  async #route(request: IncomingMessage): Promise<Answer> {
    const { url } = this.#parts;
    const { host, origin } = request.headers;
    // refuses another site's name for this machine (DNS rebinding) and forms of another site
    if (`http://${host}` !== url || (origin !== undefined && origin !== url))
      return refused(403, 'access_denied');
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    switch (`${request.method} ${pathname}`) {
      case 'GET /.well-known/openid-configuration':
        return { status: 200, body: this.#discovery() };
      case 'GET /jwks':
        return { status: 200, body: { keys: [this.#parts.jwk] } };
      case 'GET /authorize':
        return this.#codes.ask(searchParams);
      case 'POST /authorize':
        return this.#codes.answer(await readForm(request));
      case 'POST /device':
        return this.#begin(await readForm(request));
      case 'GET /sign-in':
        return { status: 200, body: signInPage(searchParams.get('user_code') ?? '') };
      case 'POST /sign-in':
        return this.#signIn(await readForm(request));
      case 'POST /token':
        return this.#token(await readForm(request));
      default:
        return refused(404, 'not_found');
    }
  }

  #discovery(): Record<string, unknown> {
    const { url } = this.#parts;
    return {
      issuer: url,
      jwks_uri: `${url}/jwks`,
      authorization_endpoint: `${url}/authorize`,
      device_authorization_endpoint: `${url}/device`,
      token_endpoint: `${url}/token`,
      token_endpoint_auth_methods_supported: ['none'],
      grant_types_supported: ['authorization_code', grantType],
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: ['openid', 'email'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    };
  }

  /** Device authorization, RFC 8628 §3.1 and §3.2. */
  #begin(form: URLSearchParams): Answer {
    if (form.get('client_id') !== clientId) return refused(401, 'invalid_client');
    const { url, now, randomBytes } = this.#parts;
    for (const [code, { untilMs }] of this.#waiting) {
      if (untilMs > now() && this.#waiting.size < maxCodes) break;
      this.#waiting.delete(code);
    }
    const deviceCode = randomBytes(32).toString('base64url');
    const userCode = userCodeOf(randomBytes(8));
    this.#waiting.set(deviceCode, { userCode, untilMs: now() + codeSeconds * 1000, person: null });
    const body = {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${url}/sign-in`,
      verification_uri_complete: `${url}/sign-in?user_code=${userCode}`,
      expires_in: codeSeconds,
      interval: pollSeconds,
    };
    return { status: 200, body };
  }

  /** The submitted sign-in form. */
  #signIn(form: URLSearchParams): Answer {
    const userCode = (form.get('user_code') ?? '').trim().toUpperCase();
    const email = emailOf(form);
    if (email === null) {
      return {
        status: 400,
        body: signInPage(userCode, 'Expected an e-mail address, such as ada@example.com.'),
      };
    }
    const nowMs = this.#parts.now();
    const device = [...this.#waiting.values()].find(
      (each) => each.userCode === userCode && each.untilMs > nowMs,
    );
    if (device === undefined) {
      return {
        status: 400,
        body: signInPage('', 'No device waits with this code. Begin again on the device.'),
      };
    }
    device.person = { email, atMs: nowMs, nonce: null };
    return { status: 200, body: confirmedPage };
  }

  /** Token request: OpenID Connect Core 1.0 §3.1.3, and RFC 8628 §3.4 and §3.5. */
  #token(form: URLSearchParams): Promise<Answer> | Answer {
    const grant = form.get('grant_type');
    if (grant !== grantType && grant !== 'authorization_code') return refused(400, 'unsupported_grant_type');
    if (form.get('client_id') !== clientId) return refused(401, 'invalid_client');
    const found = grant === grantType ? this.#takeDevice(form) : this.#codes.take(form);
    return 'status' in found ? found : this.#tokensFor(found);
  }

  #takeDevice(form: URLSearchParams): DevIdentity | Answer {
    const deviceCode = form.get('device_code') ?? '';
    const device = this.#waiting.get(deviceCode);
    if (device === undefined) return refused(400, 'invalid_grant');
    if (device.untilMs <= this.#parts.now()) return refused(400, 'expired_token');
    if (device.person === null) return refused(400, 'authorization_pending');
    this.#waiting.delete(deviceCode);
    return device.person;
  }

  async #tokensFor({ email, atMs, nonce }: DevIdentity): Promise<Answer> {
    const { url, now, privateKey, randomBytes } = this.#parts;
    const nowSeconds = Math.floor(now() / 1000);
    const claims = {
      email,
      email_verified: true,
      auth_time: Math.floor(atMs / 1000),
      ...(nonce === null ? {} : { nonce }),
    };
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'development', typ: 'JWT' })
      .setIssuer(url)
      .setAudience(clientId)
      .setSubject(email)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + limits.idTokenAgeSeconds)
      .sign(privateKey);
    // the grant requires an access token, but no endpoint accepts it
    const accessToken = randomBytes(32).toString('base64url');
    const lifetime = { token_type: 'Bearer', expires_in: limits.idTokenAgeSeconds };
    return { status: 200, body: { access_token: accessToken, id_token: idToken, ...lifetime } };
  }
}

/** 20 consonants, as RFC 8628 §6.1 proposes: they form no words and are easy to tell apart. 34 bits. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';

const userCodeOf = (bytes: Uint8Array): string => {
  const code = Array.from(bytes, (byte) => letters[byte % letters.length]).join('');
  return `${code.slice(0, 4)}-${code.slice(4)}`;
};

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > maxFormBytes) throw new Error('a form that is too large');
  }
  return new URLSearchParams(text);
}
