/**
 * The check of ID tokens from the configured identity provider (contract B16): OpenID Connect Core 1.0
 * §3.1.3.7, with the advice of RFC 8725. The configuration decides issuer, audience, algorithms and key source,
 * never the token. Proven by `test/host/identity/id-token.test.ts` and, against a real provider,
 * `test/service/access/auth-provider.test.ts`.
 */
import { errors, jwtVerify, type JWSHeaderParameters, type JWTPayload } from 'jose';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { IdentityProvider, VerifiedPerson } from '../../service/hosting/parts.ts';
import type { Log } from '../../service/call/log.ts';
import { CodeFlow, type ClientConfig } from './code-flow.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { urlFault } from './url-fault.ts';

/**
 * The algorithms that an operator may choose. All are asymmetric, so that a public key can never act as a
 * secret.
 */
export const issuerAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;
export type IssuerAlgorithm = (typeof issuerAlgorithms)[number];
const defaultAlgorithms: readonly IssuerAlgorithm[] = ['RS256', 'ES256', 'EdDSA'];

export interface IssuerConfig extends ClientConfig {
  /** Audience of the tokens. Absent: the client id. */
  readonly audience?: string | undefined;
  /** Absent: RS256, ES256 and EdDSA. */
  readonly algorithms?: readonly IssuerAlgorithm[] | undefined;
}

/** Creates the check without contacting the provider. VALIDATION_ERROR for an unsafe configuration. */
export function createIdentity(
  config: IssuerConfig,
  { now, log }: { readonly now: () => number; readonly log: Log },
): IdentityProvider {
  checkConfig(config);
  const { url, clientId, audience = clientId, algorithms = defaultAlgorithms } = config;
  const keys = new IssuerKeys(config, { now, log });
  const keyOf = (header: JWSHeaderParameters): ReturnType<IssuerKeys['find']> => {
    checkHeader(header);
    return keys.find(header);
  };
  return {
    configuration: { issuer: url, clientId, scopes: ['openid', 'email'] },
    browsers: new CodeFlow(config, { now, log }),
    async verify(idToken, { freshSignIn, nonce }) {
      try {
        if (idToken.length > limits.idTokenChars) throw new Unfit('longer than any ID token');
        const { payload } = await jwtVerify(idToken, keyOf, {
          issuer: url,
          audience,
          algorithms: [...algorithms],
          maxTokenAge: limits.idTokenAgeSeconds,
          clockTolerance: limits.idTokenSkewSeconds,
          requiredClaims: ['sub', 'iat', 'exp'],
          currentDate: new Date(now()),
        });
        checkClaims(payload, clientId);
        if (freshSignIn) checkSignIn(payload, now() / 1000);
        if (nonce !== undefined && payload['nonce'] !== nonce) throw new Unfit('nonce');
        return personOf(payload);
      } catch (error) {
        if (error instanceof GovError) throw error;
        const isToken = error instanceof Unfit || error instanceof errors.JOSEError;
        const reason = String(error);
        log[isToken ? 'debug' : 'warn']({ issuer: url, reason }, 'an ID token was refused');
        throw refusal(config, freshSignIn);
      }
    },
  };
}

/** A fault of a token that jose does not check. */
class Unfit extends Error {}

/** One text for all faults, so that an attacker learns nothing about a forged token. */
function refusal({ url, clientId }: IssuerConfig, freshSignIn: boolean): GovError {
  const signIn = freshSignIn ? `, of a sign-in at most ${limits.signInAgeSeconds / 60} minutes ago` : '';
  const age = limits.idTokenAgeSeconds / 60;
  const detail = `expected a valid ID token of ${url} for client ${clientId}, at most ${age} minutes old${signIn}; sign in again`;
  return new GovError('INVALID_CREDENTIAL', detail);
}

function checkConfig({ url, jwksUri, clientId, audience = clientId, algorithms = [] }: IssuerConfig): void {
  for (const [name, text] of Object.entries({ url, jwksUri })) {
    const fault = text === undefined ? null : urlFault(text);
    if (fault !== null) throw new GovError('VALIDATION_ERROR', `issuer ${name}: ${fault}`);
  }
  if (clientId === '' || audience === '') {
    throw new GovError('VALIDATION_ERROR', 'issuer: expected a client id and audience that are not empty');
  }
  const foreign = algorithms.find((name) => !issuerAlgorithms.includes(name));
  if (foreign !== undefined) {
    const detail = `issuer algorithms: expected some of ${issuerAlgorithms.join(', ')}, got ${foreign}`;
    throw new GovError('VALIDATION_ERROR', detail);
  }
}

/** Refuses a token that contains or names a key (RFC 8725 §3.10), or has another type (§3.11). */
function checkHeader(header: JWSHeaderParameters): void {
  const own = ['jku', 'jwk', 'x5u', 'x5c', 'crit'].find((name) => header[name] !== undefined);
  if (own !== undefined) throw new Unfit(`header ${own}`);
  const { typ } = header;
  if (typ !== undefined && !/^(application\/)?jwt$/i.test(String(typ)))
    throw new Unfit(`type ${String(typ)}`);
}

/** Checks claims of an ID token that jose does not check. */
function checkClaims(payload: JWTPayload, clientId: string): void {
  const { sub, aud, azp, auth_time: authTime, scope, scp, typ } = payload;
  if (typeof sub !== 'string' || sub === '' || sub.length > limits.subjectChars || !isPlain(sub)) {
    throw new Unfit('subject');
  }
  // Core §3.1.3.7 steps 4 and 5: several audiences require `azp`, and `azp` must be this client
  const hasSeveral = Array.isArray(aud) && aud.length > 1;
  if ((azp !== undefined || hasSeveral) && azp !== clientId) throw new Unfit('authorized party');
  if (authTime !== undefined && typeof authTime !== 'number') throw new Unfit('sign-in time');
  // only access tokens have scopes, and Keycloak marks its access tokens with `typ`
  if (scope !== undefined || scp !== undefined || (typ !== undefined && typ !== 'ID')) {
    throw new Unfit('an access token');
  }
}

/**
 * Whether every store keeps the text unchanged, so that no two people become one: no control characters,
 * well-formed Unicode.
 */
const isPlain = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);

/** Checks the time of the sign-in. Where the issuer omits it, the creation time of the token counts. */
function checkSignIn({ auth_time: authTime, iat }: JWTPayload, nowSeconds: number): void {
  const at = authTime === undefined ? iat : authTime;
  if (typeof at !== 'number' || at > nowSeconds + limits.idTokenSkewSeconds) throw new Unfit('sign-in time');
  if (nowSeconds - at > limits.signInAgeSeconds) throw new Unfit('an old sign-in');
}

function personOf({ iss, sub, exp, iat, email, email_verified: isVerified }: JWTPayload): VerifiedPerson {
  const isText = typeof email === 'string' && email.length <= limits.emailChars && isPlain(email);
  return {
    // jose checked that these claims exist
    issuer: String(iss),
    subject: String(sub),
    email: isVerified === true && isText ? email : null,
    expiresMs: Math.floor(Math.min(Number(exp), Number(iat) + limits.idTokenAgeSeconds) * 1000),
  };
}
