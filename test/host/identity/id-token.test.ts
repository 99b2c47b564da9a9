/** ID tokens against a provider on loopback: contract B16, S12. */
import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { exportJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { GovError } from '../../../src/contract/problems.ts';
import { createIdentity, type IssuerConfig } from '../../../src/host/identity/id-token.ts';
import type { IdentityProvider, VerifiedPerson } from '../../../src/service/hosting/parts.ts';
import type { Log } from '../../../src/service/call/log.ts';
import { clientId, newKey, startIssuer, type IssuerKey, type LocalIssuer } from './issuer.ts';

let nowMs = Date.UTC(2026, 10, 5, 12);
const now = (): number => nowMs;
const nowSeconds = (): number => Math.floor(nowMs / 1000);

const lines: string[] = [];
const write = (fields: object, message: string): void =>
  void lines.push(`${message} ${JSON.stringify(fields)}`);
const log: Log = { debug: write, info: write, warn: write, error: write };

let issuer: LocalIssuer;
let identity: IdentityProvider;
const connect = (config: Partial<IssuerConfig> = {}): IdentityProvider =>
  createIdentity({ url: issuer.url, clientId, ...config }, { now, log });

beforeAll(async () => {
  issuer = await startIssuer(now);
  identity = connect();
});
afterAll(() => issuer.pause());

type Outcome = VerifiedPerson | GovError;
const outcome = (token: string, freshSignIn = false, by = identity): Promise<Outcome> =>
  by.verify(token, { freshSignIn }).catch((error: GovError) => error);
const codeOf = (result: Outcome): string => ('code' in result ? result.code : 'accepted');
const judge = async (token: string, freshSignIn = false, by = identity): Promise<string> =>
  codeOf(await outcome(token, freshSignIn, by));

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = () => ({
  iss: issuer.url,
  aud: clientId,
  sub: 'ada',
  iat: nowSeconds(),
  exp: nowSeconds() + 600,
});
const publicPem = (key: IssuerKey): string =>
  createPublicKey({ key: key.jwk as never, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
const firstKey = (): IssuerKey => issuer.keys[0]!;

/** Everything here would be accepted but for the one thing it is named after. */
const forged: Readonly<Record<string, () => Promise<string> | string>> = {
  'alg none without a signature': () => `${part({ alg: 'none', typ: 'JWT' })}.${part(claims())}.`,
  'alg none with the signature of a good token': async () => {
    const [, , signature] = (await issuer.token()).split('.');
    return `${part({ alg: 'none', kid: 'first' })}.${part(claims())}.${signature}`;
  },
  'HS256 with the public key as the secret': () => {
    const signed = `${part({ alg: 'HS256', kid: 'first', typ: 'JWT' })}.${part(claims())}`;
    return `${signed}.${createHmac('sha256', publicPem(firstKey())).update(signed).digest('base64url')}`;
  },
  'an algorithm outside the list': async () => {
    const key = await newKey('ES384', 'es384');
    issuer.keys.push(key);
    return issuer.token({}, { key });
  },
  'another issuer': () => issuer.token({ iss: 'https://accounts.example' }),
  'the issuer with a slash': () => issuer.token({ iss: `${issuer.url}/` }),
  'another audience': () => issuer.token({ aud: 'somebody-else' }),
  'no audience': () => issuer.token({ aud: undefined }),
  'an audience of a number': () => issuer.token({ aud: 7 }),
  'several audiences without an authorized party': () => issuer.token({ aud: [clientId, 'other'] }),
  'one audience for another party': () => issuer.token({ azp: 'other' }),
  'one audience for nobody': () => issuer.token({ azp: null }),
  'several audiences for another party': () => issuer.token({ aud: [clientId, 'other'], azp: 'other' }),
  'an expired token': () => issuer.token({ exp: nowSeconds() - limits.idTokenSkewSeconds }),
  'a time before which it is not valid': () =>
    issuer.token({ nbf: nowSeconds() + limits.idTokenSkewSeconds + 1 }),
  'an issue time ahead': () => issuer.token({ iat: nowSeconds() + limits.idTokenSkewSeconds + 1 }),
  'an issue time too far back': () =>
    issuer.token({ iat: nowSeconds() - limits.idTokenAgeSeconds - limits.idTokenSkewSeconds - 1 }),
  'times as texts': () => issuer.token({ iat: `${nowSeconds()}` }),
  'no subject': () => issuer.token({ sub: undefined }),
  'an empty subject': () => issuer.token({ sub: '' }),
  'a subject that is no text': () => issuer.token({ sub: 7 }),
  'a subject that is too long': () => issuer.token({ sub: 'a'.repeat(limits.subjectChars + 1) }),
  'a subject with a NUL': () => issuer.token({ sub: 'a\u0000b' }),
  'a subject with a line break': () => issuer.token({ sub: 'ada\n' }),
  'a subject with a C1 control': () => issuer.token({ sub: 'ada\u0085' }),
  'a subject with half a character': () => issuer.token({ sub: 'ada\ud800' }),
  'a sign-in time that is a text': () => issuer.token({ auth_time: 'x' }),
  'a sign-in time of null': () => issuer.token({ auth_time: null }),
  'no issue time': () => issuer.token({ iat: undefined }),
  'no end': () => issuer.token({ exp: undefined }),
  'a jku header': () => issuer.token({}, { header: { jku: `${issuer.url}/jwks` } }),
  'an x5u header': () => issuer.token({}, { header: { x5u: `${issuer.url}/x5u` } }),
  'an x5c header': () => issuer.token({}, { header: { x5c: ['MIIB'] } }),
  'the key in a jwk header': async () => {
    const key = await newKey();
    return issuer.token({}, { key, header: { jwk: key.jwk as never } });
  },
  'a critical header that jose knows': () => issuer.token({}, { header: { b64: true, crit: ['b64'] } }),
  'an access token by its type': () => issuer.token({}, { header: { typ: 'at+jwt' } }),
  'a token of a sign-out': () => issuer.token({}, { header: { typ: 'logout+jwt' } }),
  'an access token by its scope': () => issuer.token({ scope: 'openid' }),
  'an access token by its scp': () => issuer.token({ scp: ['openid'] }),
  'an access token of Keycloak': () => issuer.token({ typ: 'Bearer' }),
  'a key id that the issuer does not have': () => issuer.token({}, { header: { kid: 'other' } }),
  'a key of somebody else under the right id': async () => issuer.token({}, { key: await newKey() }),
  'a signature of other claims': async () => {
    const [head, , signature] = (await issuer.token()).split('.');
    return `${head}.${part({ ...claims(), sub: 'eve' })}.${signature}`;
  },
  'a bit of the signature flipped': async () => {
    const token = await issuer.token();
    const at = token.lastIndexOf('.') + 5;
    return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
  },
  'RSA of 1024 bits': async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'short', alg: 'RS256' };
    issuer.keys.push({ kid: 'short', alg: 'RS256', privateKey: privateKey as never, jwk });
    const signed = `${part({ alg: 'RS256', kid: 'short' })}.${part(claims())}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
  },
  'a token cut short': async () => (await issuer.token()).slice(0, -20),
  'two parts': async () => (await issuer.token()).split('.').slice(0, 2).join('.'),
  'five parts, as of an encrypted one': async () => `${await issuer.token()}.a.b`,
  'claims that are no JSON': () => {
    const signed = `${part({ alg: 'ES256', kid: 'first' })}.${Buffer.from('{').toString('base64url')}`;
    return `${signed}.${Buffer.alloc(64).toString('base64url')}`;
  },
  nothing: () => '',
  dots: () => '..',
  'bytes that are no base64': () => '\u0000.ÿ.🚀',
  'a header of an array': () => `${part([])}.${part(claims())}.AAAA`,
  'one of our own keys': () => `gov_live_${'a'.repeat(38)}`,
  'more characters than a token has': async () => issuer.token({ pad: 'a'.repeat(limits.idTokenChars) }),
};

describe('an ID token', () => {
  it('an ID token gives issuer, subject, email and expiry of a person', async () => {
    const token = await issuer.token({ email: 'ada@example.com', email_verified: true });
    expect(await outcome(token, true)).toEqual({
      issuer: issuer.url,
      subject: 'ada',
      email: 'ada@example.com',
      expiresMs: (nowSeconds() + 600) * 1000,
    });
  });

  it.each(Object.entries(forged))('an ID token is refused: %s', async (_, make) => {
    // a fresh connection reads the keys as they are now
    const by = connect();
    expect(await judge(await make(), false, by)).toBe('INVALID_CREDENTIAL');
    expect(await judge(await issuer.token(), false, by)).toBe('accepted');
    issuer.keys.splice(1);
  });

  it('an ID token is refused with the same text, whatever is wrong with it', async () => {
    const details = new Set<string>();
    for (const make of Object.values(forged)) {
      const result = await outcome(await make());
      details.add((result as GovError).message);
    }
    issuer.keys.splice(1);
    expect([...details]).toEqual([
      `expected a valid ID token of ${issuer.url} for client ${clientId}, at most 60 minutes old; sign in again`,
    ]);
  });

  it('the log says why an ID token was refused, without the token', async () => {
    const token = await issuer.token({ aud: 'somebody-else' });
    lines.splice(0);
    await judge(token);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/an ID token was refused .*unexpected \\"aud\\" claim value/);
    for (const piece of token.split('.')) expect(lines[0]).not.toContain(piece);
  });

  it.each([
    ['the end of a token', () => ({ exp: nowSeconds() - limits.idTokenSkewSeconds + 1 })],
    ['the time before which it is not valid', () => ({ nbf: nowSeconds() + limits.idTokenSkewSeconds })],
    ['an issue time ahead', () => ({ iat: nowSeconds() + limits.idTokenSkewSeconds })],
    [
      'an issue time back',
      () => ({ iat: nowSeconds() - limits.idTokenAgeSeconds - limits.idTokenSkewSeconds }),
    ],
    ['the length of a subject', () => ({ sub: 'a'.repeat(limits.subjectChars) })],
    ['several audiences', () => ({ aud: ['other', clientId], azp: clientId })],
    ['one audience in a list', () => ({ aud: [clientId] })],
    ['one audience for us', () => ({ azp: clientId })],
    ['characters of any script in a subject', () => ({ sub: 'Αδα 🚀 |/' })],
    ['the type that Keycloak gives ID tokens', () => ({ typ: 'ID' })],
  ])('an ID token is accepted at the edge: %s', async (_, members) => {
    expect(await judge(await issuer.token(members()))).toBe('accepted');
  });

  it('an ID token of the largest size is read, and one more character is refused', async () => {
    const length = (await issuer.token({ pad: '' })).length;
    const room = limits.idTokenChars - length;
    // base64url writes three bytes as four characters
    const largest = await issuer.token({ pad: 'a'.repeat(Math.floor((room * 3) / 4)) });
    expect(largest.length).toBeGreaterThan(limits.idTokenChars - 4);
    expect(await judge(largest)).toBe('accepted');
    expect(await judge(largest.padEnd(limits.idTokenChars + 1, 'A'))).toBe('INVALID_CREDENTIAL');
  });

  it('an ID token needs no type, and the type may be in any case', async () => {
    for (const typ of [undefined, 'jwt', 'JWT', 'application/jwt']) {
      expect(await judge(await issuer.token({}, { header: { typ } as never }))).toBe('accepted');
    }
  });

  it.each(['RS256', 'ES256', 'EdDSA'])('an ID token is accepted under %s', async (alg) => {
    issuer.keys = [await newKey(alg)];
    expect(await judge(await issuer.token(), true, connect())).toBe('accepted');
    issuer.keys = [await newKey()];
    identity = connect();
  });

  it('an ID token must use an algorithm that is configured for the issuer', async () => {
    const by = connect({ algorithms: ['EdDSA'] });
    expect(await judge(await issuer.token(), false, by)).toBe('INVALID_CREDENTIAL');
    issuer.keys.push(await newKey('EdDSA', 'ed'));
    nowMs += limits.issuerCooldownSeconds * 1000;
    expect(await judge(await issuer.token({}, { key: issuer.keys[1]! }), false, by)).toBe('accepted');
    issuer.keys.splice(1);
  });

  it('an ID token must have the configured audience instead of the client', async () => {
    const by = connect({ audience: 'https://gov.example' });
    expect(await judge(await issuer.token(), false, by)).toBe('INVALID_CREDENTIAL');
    expect(await judge(await issuer.token({ aud: 'https://gov.example' }), false, by)).toBe('accepted');
  });

  it.each([
    ['verified', true, 'ada@example.com'],
    ['not verified', false, null],
    ['verified by a text', 'true', null],
    ['said nothing of', undefined, null],
  ])('an ID token gives an email only if it is verified: %s', async (_, verified, email) => {
    const token = await issuer.token({ email: 'ada@example.com', email_verified: verified });
    expect(await outcome(token)).toMatchObject({ email });
  });

  it('an ID token with an email of another type or size gives no email', async () => {
    for (const email of [7, 'a'.repeat(limits.emailChars + 1), 'ada@example.com\u0000']) {
      expect(await outcome(await issuer.token({ email, email_verified: true }))).toMatchObject({
        email: null,
      });
    }
    const email = 'a'.repeat(limits.emailChars);
    expect(await outcome(await issuer.token({ email, email_verified: true }))).toMatchObject({ email });
  });

  it('an ID token is accepted for at most an hour, whatever its own expiry says', async () => {
    const token = await issuer.token({ exp: 8e12 });
    expect(await outcome(token)).toMatchObject({ expiresMs: (nowSeconds() + 3600) * 1000 });
  });
});

describe('a fresh sign-in', () => {
  it.each([
    ['as old as it may be', () => ({ auth_time: nowSeconds() - limits.signInAgeSeconds }), 'accepted'],
    [
      'a second older',
      () => ({ auth_time: nowSeconds() - limits.signInAgeSeconds - 1 }),
      'INVALID_CREDENTIAL',
    ],
    [
      'by the token where it says no time',
      () => ({ iat: nowSeconds() - limits.signInAgeSeconds }),
      'accepted',
    ],
    [
      'by a token that is a second older',
      () => ({ iat: nowSeconds() - limits.signInAgeSeconds - 1 }),
      'INVALID_CREDENTIAL',
    ],
    ['ahead', () => ({ auth_time: nowSeconds() + limits.idTokenSkewSeconds + 1 }), 'INVALID_CREDENTIAL'],
    ['at a time of another kind', () => ({ auth_time: 'now' }), 'INVALID_CREDENTIAL'],
    ['at no time', () => ({ auth_time: null }), 'INVALID_CREDENTIAL'],
  ])('the age of a sign-in is checked: %s', async (_, members, expected) => {
    const token = await issuer.token(members());
    expect(await judge(token, true)).toBe(expected);
  });

  it('an ID token needs a fresh sign-in only when the operation asks for one', async () => {
    const token = await issuer.token({ auth_time: nowSeconds() - 40_000 });
    expect(await judge(token, false)).toBe('accepted');
    expect(await outcome(token, true)).toMatchObject({
      message: `expected a valid ID token of ${issuer.url} for client ${clientId}, at most 60 minutes old, of a sign-in at most 5 minutes ago; sign in again`,
    });
  });
});

describe('the configuration of an issuer', () => {
  it.each([
    ['an http URL of the network', { url: 'http://accounts.example' }],
    ['a URL with a password', { url: 'https://a:b@accounts.example' }],
    ['a URL with a query', { url: 'https://accounts.example?a=b' }],
    ['no URL', { url: 'accounts.example' }],
    ['keys over http', { jwksUri: 'http://accounts.example/keys' }],
    ['an empty client', { clientId: '' }],
    ['an empty audience', { audience: '' }],
    ['a symmetric algorithm', { algorithms: ['HS256' as never] }],
    ['no signature', { algorithms: ['none' as never] }],
  ])('the configuration of an issuer is refused: %s', (_, config) => {
    expect(() => connect(config)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  it.each([
    'https://accounts.example',
    'https://id.example/realms/a/',
    'http://localhost:1',
    'http://[::1]:1',
  ])('the configuration of an issuer is accepted: %s', (url) => {
    expect(connect({ url }).configuration).toEqual({ issuer: url, clientId, scopes: ['openid', 'email'] });
  });
});
