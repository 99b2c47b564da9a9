/**
 * An identity provider on loopback that does what a test tells it to: signs any token, changes its keys, breaks. For
 * what a real one answers see `test/support/oidc.ts`.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type JWK,
  type JWTHeaderParameters,
  type CryptoKey,
} from 'jose';

export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function newKey(alg = 'ES256', kid = 'first'): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

export const clientId = 'gov-test';

export interface LocalIssuer {
  readonly url: string;
  /** Answered as its key set; change it to rotate. */
  keys: IssuerKey[];
  /** By path: answers instead of what an issuer should. */
  readonly answers: Map<string, (response: ServerResponse) => void>;
  /** Members of the discovery document that differ from the usual ones. */
  discovery: Record<string, unknown>;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** A token of a person who signed in a moment ago; a claim or header member that is undefined is left out. */
  token(
    claims?: Record<string, unknown>,
    options?: { readonly key?: IssuerKey; readonly header?: Partial<JWTHeaderParameters> },
  ): Promise<string>;
  /** Stops listening; `resume` listens on the same port again. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

const jwksPath = '/jwks';
const discoveryPath = '/.well-known/openid-configuration';

export async function startIssuer(now: () => number = Date.now): Promise<LocalIssuer> {
  const keys = [await newKey()];
  const answers: LocalIssuer['answers'] = new Map();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const answer = answers.get(path);
    if (answer !== undefined) answer(response);
    else if (path === discoveryPath)
      send(response, {
        issuer: issuer.url,
        jwks_uri: `${issuer.url}${jwksPath}`,
        authorization_endpoint: `${issuer.url}/authorize`,
        token_endpoint: `${issuer.url}/token`,
        authorization_response_iss_parameter_supported: true,
        id_token_signing_alg_values_supported: ['ES256'],
        ...issuer.discovery,
      });
    else if (path === jwksPath) send(response, { keys: issuer.keys.map(({ jwk }) => jwk) });
    else response.writeHead(404).end();
  });
  const port = await listen(server, 0);
  const issuer: LocalIssuer = {
    url: `http://127.0.0.1:${port}`,
    keys,
    answers,
    discovery: {},
    asked,
    token: (claims = {}, { key = issuer.keys[0], header = {} } = {}) => {
      if (key === undefined) throw new Error('expected a key');
      const nowSeconds = Math.floor(now() / 1000);
      const usual = { iss: issuer.url, aud: clientId, sub: 'ada', iat: nowSeconds, exp: nowSeconds + 600 };
      const { kid, alg } = key;
      return new SignJWT(present({ ...usual, ...claims }))
        .setProtectedHeader({ ...present({ alg, kid, typ: 'JWT', ...header }), alg: header.alg ?? alg })
        .sign(key.privateKey);
    },
    pause: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    resume: async () => {
      await listen(server, port);
    },
  };
  return issuer;
}

const send = (response: ServerResponse, body: unknown): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const present = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
