/** Where the keys of ID tokens come from, and when they are read. */
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { connect as connectTo, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { exportJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { GovError } from '../../../src/contract/problems.ts';
import { createIdentity, type IssuerConfig } from '../../../src/host/identity/id-token.ts';
import { readIssuerKeys } from '../../../src/host/identity/issuer-keys.ts';
import { providerFetch } from '../../../src/host/identity/provider-fetch.ts';
import type { IdentityProvider } from '../../../src/service/hosting/parts.ts';
import type { Log } from '../../../src/service/call/log.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { clientId, newKey, startIssuer, type LocalIssuer } from './issuer.ts';

let nowMs = Date.UTC(2026, 10, 5, 12);
const now = (): number => nowMs;

const lines: string[] = [];
const write = (fields: object, message: string): void =>
  void lines.push(`${message} ${JSON.stringify(fields)}`);
const log: Log = { debug: () => {}, info: write, warn: write, error: write };

let issuer: LocalIssuer;
const connect = (config: Partial<IssuerConfig> = {}): IdentityProvider =>
  createIdentity({ url: issuer.url, clientId, ...config }, { now, log });

beforeAll(async () => {
  issuer = await startIssuer(now);
});
afterAll(() => issuer.pause());

const outcome = (token: string, by: IdentityProvider) =>
  by.verify(token, { freshSignIn: false }).catch((error: GovError) => error);
const judge = async (token: string, by: IdentityProvider): Promise<string> => {
  const result = await outcome(token, by);
  return 'code' in result ? result.code : 'accepted';
};

describe('the keys of an issuer', () => {
  it('the keys of an issuer are read once, and again after some time', async () => {
    const by = connect();
    issuer.asked.splice(0);
    await Promise.all([1, 2, 3].map(async () => judge(await issuer.token(), by)));
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/jwks']);
    nowMs += limits.issuerKeysSeconds * 1000 - 1;
    await judge(await issuer.token(), by);
    expect(issuer.asked).toHaveLength(2);
    nowMs += 1;
    await judge(await issuer.token(), by);
    expect(issuer.asked).toHaveLength(4);
  });

  it('the keys of an issuer may change while the service runs', async () => {
    const by = connect();
    const [old] = issuer.keys;
    expect(await judge(await issuer.token(), by)).toBe('accepted');
    issuer.keys = [await newKey('RS256', 'second')];
    const token = await issuer.token();
    // a stranger could make us ask for every token otherwise
    expect(await judge(token, by)).toBe('INVALID_CREDENTIAL');
    nowMs += limits.issuerCooldownSeconds * 1000;
    expect(await judge(await issuer.token(), by)).toBe('accepted');
    expect(await judge(await issuer.token({}, { key: old! }), by)).toBe('INVALID_CREDENTIAL');
  });

  it('the keys of an issuer are not fetched again for every token with an unknown key id', async () => {
    const by = connect();
    await judge(await issuer.token(), by);
    issuer.asked.splice(0);
    for (let at = 0; at < 20; at += 1) {
      const token = await issuer.token({}, { header: { kid: `k${at}` } });
      expect(await judge(token, by)).toBe('INVALID_CREDENTIAL');
    }
    expect(issuer.asked).toEqual([]);
  });

  it('known keys of an issuer are used for an hour while the issuer is away', async () => {
    const by = connect();
    expect(await judge(await issuer.token(), by)).toBe('accepted');
    await issuer.pause();
    nowMs += limits.issuerKeysSeconds * 1000;
    expect(await judge(await issuer.token(), by)).toBe('accepted');
    nowMs += limits.issuerRetrySeconds * 1000;
    const unknown = await outcome(await issuer.token({}, { header: { kid: 'new' } }), by);
    expect(unknown).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: limits.issuerRetrySeconds });
    nowMs += (limits.issuerKeysStaleSeconds - limits.issuerKeysSeconds) * 1000;
    expect(await judge(await issuer.token(), by)).toBe('UNAVAILABLE');
    await issuer.resume();
    nowMs += limits.issuerRetrySeconds * 1000;
    expect(await judge(await issuer.token(), by)).toBe('accepted');
  });

  it('the keys of an issuer are fetched again after a pause when a fetch failed', async () => {
    await issuer.pause();
    const by = connect();
    expect(await judge(await issuer.token(), by)).toBe('UNAVAILABLE');
    await issuer.resume();
    issuer.asked.splice(0);
    expect(await judge(await issuer.token(), by)).toBe('UNAVAILABLE');
    expect(issuer.asked).toEqual([]);
    nowMs += limits.issuerRetrySeconds * 1000;
    expect(await judge(await issuer.token(), by)).toBe('accepted');
  });

  it('the keys of an issuer are fetched again when the clock was set back', async () => {
    const by = connect();
    await judge(await issuer.token(), by);
    nowMs -= 86_400_000;
    issuer.asked.splice(0);
    expect(await judge(await issuer.token(), by)).toBe('accepted');
    expect(issuer.asked).toHaveLength(2);
    nowMs += 86_400_000;
  });

  it('the keys of an issuer come from the configured address if there is one', async () => {
    const by = connect({ jwksUri: `${issuer.url}/jwks` });
    issuer.asked.splice(0);
    expect(await judge(await issuer.token(), by)).toBe('accepted');
    expect(issuer.asked).toEqual(['/jwks']);
  });

  const json = (body: unknown) => (response: ServerResponse) =>
    response.writeHead(200).end(JSON.stringify(body));
  const discovery = '/.well-known/openid-configuration';
  it.each([
    [
      'a document of another issuer',
      discovery,
      () => json({ issuer: 'https://other', jwks_uri: 'https://other/k' }),
    ],
    [
      'keys that come in clear over the network',
      discovery,
      () => json({ issuer: issuer.url, jwks_uri: 'http://192.0.2.1/k' }),
    ],
    ['keys in a file', discovery, () => json({ issuer: issuer.url, jwks_uri: 'file:///etc/keys' })],
    ['no place of keys', discovery, () => json({ issuer: issuer.url })],
    ['null', discovery, () => json(null)],
    ['a redirect', '/jwks', () => (r: ServerResponse) => r.writeHead(302, { location: '/keys' }).end()],
    ['an error', '/jwks', () => (r: ServerResponse) => r.writeHead(500).end('{"keys":[]}')],
    ['what is no JSON', '/jwks', () => (r: ServerResponse) => r.writeHead(200).end('<html>')],
    ['what is no key set', '/jwks', () => json({ keys: 'none' })],
    ['a broken connection', '/jwks', () => (r: ServerResponse) => r.destroy()],
    [
      'more than a key set needs',
      '/jwks',
      () => json({ keys: [issuer.keys[0]?.jwk], pad: 'a'.repeat(limits.issuerAnswerBytes) }),
    ],
  ])('the keys of an issuer are refused, and nobody is signed in: %s', async (_, path, answer) => {
    issuer.answers.set(path, answer());
    lines.splice(0);
    const result = await outcome(await issuer.token(), connect());
    issuer.answers.clear();
    expect(result).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('could not read the keys of the identity provider');
  });

  it('the keys of an issuer are read up to the largest allowed answer', async () => {
    const body = JSON.stringify({ keys: [issuer.keys[0]?.jwk] }).padEnd(limits.issuerAnswerBytes);
    issuer.answers.set('/jwks', (response) => response.writeHead(200).end(body));
    expect(await judge(await issuer.token(), connect())).toBe('accepted');
    issuer.answers.clear();
  });

  it('a service does not wait without limit for the keys of an issuer', async () => {
    issuer.answers.set('/jwks', (response) => response.writeHead(200).write('{"keys":['));
    const started = performance.now();
    expect(await judge(await issuer.token(), connect())).toBe('UNAVAILABLE');
    expect(performance.now() - started).toBeLessThan(limits.issuerTimeoutSeconds * 1000 + 2000);
    issuer.answers.clear();
  });

  it('private or secret keys of an issuer sign nobody in', async () => {
    const key = await newKey('ES256', 'private');
    const jwk = { ...(await exportJWK(key.privateKey)), kid: 'private', alg: 'ES256' };
    issuer.keys.push({ ...key, jwk });
    const token = await issuer.token({}, { key });
    expect(await judge(token, connect())).toBe('INVALID_CREDENTIAL');
    expect(createPrivateKey({ key: jwk as never, format: 'jwk' }).type).toBe('private');
    issuer.keys.pop();
  });
});

describe('a provider beyond a proxy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-provider-'));
  const authority = makeAuthority(folder);
  const { cert, key } = authority.issue('server');
  const usual = getCACertificates('default');
  const sockets = new Set<Duplex>();
  const tunnels: string[] = [];
  let provider: Server;
  let proxy: Server;
  let url = '';
  const portOf = (each: Server): number => (each.address() as AddressInfo).port;

  beforeAll(async () => {
    setDefaultCACertificates([...usual, authority.cert]);
    provider = createSecure({ cert, key }, (request, response) => {
      let body = `${request.method} `;
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      const answers: Record<string, unknown> = {
        '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/jwks` },
        '/jwks': { keys: issuer.keys.map(({ jwk }) => jwk) },
      };
      request.on('end', () => response.end(JSON.stringify(answers[request.url ?? ''] ?? body)));
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    url = `https://gov.test:${portOf(provider)}`;
    proxy = createServer().on('connect', (request, socket: Duplex) => {
      tunnels.push(String(request.url));
      const through = connectTo(portOf(provider), '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      for (const [from, to] of [
        [socket, through],
        [through, socket],
      ] as const) {
        sockets.add(from);
        from.on('error', () => to.destroy()).on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${portOf(proxy)}`);
    vi.stubEnv('https_proxy', undefined);
    vi.stubEnv('NO_PROXY', undefined);
    vi.stubEnv('no_proxy', undefined);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    setDefaultCACertificates(usual);
    for (const socket of sockets) socket.destroy();
    await Promise.all([provider, proxy].map((each) => new Promise((resolve) => each.close(resolve))));
    rmSync(folder, { recursive: true, force: true });
  });

  it('discovery, keys and the requests of a sign-in go through HTTPS_PROXY', async () => {
    const by = connect({ url });
    expect(await judge(await issuer.token({ iss: url }), by)).toBe('accepted');
    const bounds = { timeoutMs: 5000, maxBytes: 100 };
    const body = new URLSearchParams({ code: 'a b' });
    const posted = await providerFetch(`${url}/token`, { method: 'POST', body, ...bounds });
    expect(await posted.json()).toBe('POST code=a+b');
    const target = new URL(url).host;
    expect(tunnels).toEqual([target, target, target]);
    await expect(providerFetch(`${url}/token`, { ...bounds, maxBytes: 5 })).rejects.toThrow(
      /at most 5 bytes/,
    );
  });

  it('a host of NO_PROXY is asked without the proxy, and a proxy that is away is named', async () => {
    tunnels.splice(0);
    vi.stubEnv('NO_PROXY', 'gov.test');
    await expect(readIssuerKeys({ url })).rejects.toThrow(/could not reach https:\/\/gov\.test:\d+: /);
    expect(tunnels).toEqual([]);
    vi.stubEnv('NO_PROXY', '');
    vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:1');
    await expect(readIssuerKeys({ url })).rejects.toThrow(/through the proxy http:\/\/127\.0\.0\.1:1: /);
  });
});
