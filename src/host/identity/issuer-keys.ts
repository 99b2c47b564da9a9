/**
 * The signing keys of an identity provider (RFC 7517). They come only from the provider: its discovery document
 * (OpenID Connect Discovery 1.0 §4) names their URL. The service caches the keys, and reads them again after a
 * time and for an unknown key. The provider can therefore change keys while the service runs. Known keys stay
 * valid for an hour while the provider is down, which `createRemoteJWKSet` of jose does not offer. Proven by
 * `test/host/identity/issuer-keys.test.ts`.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Log } from '../../service/call/log.ts';
import { providerFetch } from './provider-fetch.ts';
import { urlFault } from './url-fault.ts';

type LocalKeys = ReturnType<typeof createLocalJWKSet>;
type SigningKey = Awaited<ReturnType<LocalKeys>>;

export interface IssuerPlace {
  /** Issuer identifier, equal to `iss` in tokens. */
  readonly url: string;
  /** URL of the keys. Absent: the URL in the discovery document. */
  readonly jwksUri?: string | undefined;
}

export class IssuerKeys {
  readonly #issuer: IssuerPlace;
  readonly #now: () => number;
  readonly #log: Log;
  #known: { readonly keys: LocalKeys; readonly atMs: number } | null = null;
  #tried: { readonly atMs: number; readonly failed: boolean } | null = null;
  #reading: Promise<void> | null = null;

  constructor(issuer: IssuerPlace, { now, log }: { now: () => number; log: Log }) {
    this.#issuer = issuer;
    this.#now = now;
    this.#log = log;
  }

  /**
   * Returns the key that a token header names. An attacker controls the header. Throws a `JOSEError` where the
   * issuer has no such key, UNAVAILABLE where the issuer does not answer. Meanwhile keys stay valid for an hour
   * after they were read. Cost: nothing for a known key, else two requests, at most one such pair in
   * `issuerCooldownSeconds`.
   */
  async find(header: JWSHeaderParameters): Promise<SigningKey> {
    if (this.#isPast(this.#known?.atMs, limits.issuerKeysSeconds)) await this.#read();
    const known = await this.#match(header);
    if (known !== null) return known;
    await this.#read();
    const found = await this.#match(header);
    if (found !== null) return found;
    if (this.#tried?.failed === true) throw unreachable();
    throw new errors.JWKSNoMatchingKey();
  }

  async #match(header: JWSHeaderParameters): Promise<SigningKey | null> {
    if (this.#known === null || this.#isPast(this.#known.atMs, limits.issuerKeysStaleSeconds)) return null;
    try {
      return await this.#known.keys(header);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return null;
      throw error;
    }
  }

  /** Asks the issuer, unless a request just ran. A failure is logged and keeps the known keys. */
  #read(): Promise<void> {
    const pause = this.#tried?.failed === true ? limits.issuerRetrySeconds : limits.issuerCooldownSeconds;
    if (!this.#isPast(this.#tried?.atMs, pause)) return this.#reading ?? Promise.resolve();
    this.#tried = { atMs: this.#now(), failed: false };
    this.#reading = this.#fetch().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #fetch(): Promise<void> {
    const { url } = this.#issuer;
    try {
      this.#known = { keys: await readIssuerKeys(this.#issuer), atMs: this.#now() };
    } catch (error) {
      this.#tried = { atMs: this.#now(), failed: true };
      const fields = { issuer: url, reason: reasonOf(error) };
      this.#log.warn(fields, 'could not read the keys of the identity provider');
    }
  }

  /** Whether a time is that long ago. True also without a time, or after the clock was set back. */
  #isPast(atMs: number | undefined, seconds: number): boolean {
    if (atMs === undefined) return true;
    const ageMs = this.#now() - atMs;
    return ageMs < 0 || ageMs >= seconds * 1000;
  }
}

/** Asks an issuer for its keys now. Throws an `Error` that names any other response. */
export async function readIssuerKeys({ url, jwksUri }: IssuerPlace): Promise<LocalKeys> {
  const keys = await fetchJson(jwksUri ?? (await discover(url)));
  return createLocalJWKSet(keys as JSONWebKeySet); // jose refuses an invalid key set
}

const unreachable = (): GovError =>
  new GovError('UNAVAILABLE', 'the identity provider cannot be asked for its keys; repeat later', {
    retryAfterSeconds: limits.issuerRetrySeconds,
  });

/** Message and cause: `fetch` puts its reason into `cause`. */
export const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
};

/** Returns the URL of an issuer's keys. */
async function discover(issuer: string): Promise<string> {
  const { place, document } = await readDiscovery(issuer);
  const { jwks_uri: jwksUri } = document;
  const fault = urlFault(String(jwksUri));
  if (fault !== null) throw new Error(`${place}: jwks_uri: ${fault}`);
  return String(jwksUri);
}

/** The discovery document and its address. Refuses a document of another issuer, as Discovery §4.3 requires. */
export async function readDiscovery(issuer: string): Promise<{
  readonly place: string;
  readonly document: { readonly issuer: string; [name: string]: unknown };
}> {
  const place = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = (await fetchJson(place)) as { issuer?: unknown } | null;
  if (document?.issuer !== issuer) {
    throw new Error(`${place}: expected issuer ${issuer}, got ${String(document?.issuer)}; configure that`);
  }
  return { place, document: { ...document, issuer } };
}

/** Fetches JSON of at most `issuerAnswerBytes` within `issuerTimeoutSeconds`. Follows no redirect. */
async function fetchJson(url: string): Promise<unknown> {
  const response = await providerFetch(url, {
    headers: new Headers({ accept: 'application/json' }),
    timeoutMs: limits.issuerTimeoutSeconds * 1000,
    maxBytes: limits.issuerAnswerBytes,
  });
  if (response.status !== 200) throw new Error(`${url}: expected status 200, got ${response.status}`);
  return response.json();
}
