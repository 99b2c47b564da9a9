/**
 * Who calls (contract B1, B3, B5-B7; RFC 6750): reads the API key from `Authorization: Bearer` or `X-API-Key`,
 * tests its checksum before any look-up, looks its digest up, and keeps the answer for at most five seconds,
 * so that a revoked key is refused within that time on every open connection.
 * Proven by `test/http/credentials.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import type { Scope } from '../contract/operation.ts';
import { GovError } from '../contract/problems.ts';
import { allows, type Caller } from '../service/call.ts';
import { keyDigest, tokenKind } from '../service/keys.ts';
import { planeRules } from '../service/settings.ts';
import type { ApiKeyRow, Project, StoreReader } from '../store/port.ts';

/** Request headers as Node gives them. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface Known {
  readonly key: ApiKeyRow;
  readonly caller: Caller;
  readonly untilMs: number;
}

const refused = (): GovError =>
  new GovError('INVALID_CREDENTIAL', 'expected a valid API key, got one that is unknown, revoked or expired');

const missing = (): GovError =>
  new GovError(
    'UNAUTHENTICATED',
    'expected an API key in the header Authorization: Bearer gov_… or X-API-Key',
  );

/** The token of a request, or null where none was sent. UNAUTHENTICATED or AMBIGUOUS_CREDENTIAL otherwise. */
export function readToken(headers: Headers): string | null {
  const authorization = headers['authorization'];
  const apiKey = headers['x-api-key'];
  if (authorization === undefined && apiKey === undefined) return null;
  const bearer = authorization === undefined ? null : bearerToken(String(authorization));
  if (apiKey === undefined) return bearer;
  if (bearer !== null && bearer !== apiKey) {
    throw new GovError(
      'AMBIGUOUS_CREDENTIAL',
      'expected one credential, got different ones in Authorization and X-API-Key',
    );
  }
  return String(apiKey);
}

function bearerToken(header: string): string {
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') throw missing();
  return header.slice(7).trim();
}

export class Credentials {
  readonly #store: Pick<StoreReader, 'apiKey'>;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  constructor(store: Pick<StoreReader, 'apiKey'>, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * The caller behind a token, at once where the key was looked up less than five seconds ago. Throws
   * INVALID_CREDENTIAL for unknown, malformed, revoked and expired keys alike, ENVIRONMENT_MISMATCH for a
   * key of the other environment. The token is an attacker's.
   */
  identify(token: string, environment: Project['environment']): Caller | Promise<Caller> {
    const kind = tokenKind(token);
    if (kind === null) throw refused();
    if (kind === (environment === 'production' ? 'test' : 'live')) throw mismatch(environment);
    const digest = keyDigest(token);
    const name = digest.toString('latin1');
    const nowMs = this.#now();
    const known = this.#known.get(name);
    if (known !== undefined && known.untilMs > nowMs) return this.#accept(known, environment, nowMs);
    return this.#lookUp(name, digest, environment);
  }

  async #lookUp(name: string, digest: Buffer, environment: Project['environment']): Promise<Caller> {
    const found = await this.#store.apiKey(digest);
    if (found === null) throw refused();
    const nowMs = this.#now();
    const known: Known = {
      key: found.key,
      caller: {
        id: found.key.keyId,
        type: 'api_key',
        project: found.project,
        scopes: found.key.scopes,
        rules: planeRules,
      },
      untilMs: nowMs + limits.credentialCacheSeconds * 1000,
    };
    const caller = this.#accept(known, environment, nowMs);
    if (this.#known.size >= limits.credentialCacheKeys) this.#known.clear();
    this.#known.set(name, known);
    return caller;
  }

  #accept({ key, caller }: Known, environment: Project['environment'], nowMs: number): Caller {
    if (key.revokedMs !== null && key.revokedMs <= nowMs) throw refused();
    if (key.expiresMs !== null && key.expiresMs <= nowMs) throw refused();
    if (caller.project.environment !== environment) throw mismatch(environment);
    return caller;
  }
}

const mismatch = (environment: Project['environment']): GovError =>
  new GovError(
    'ENVIRONMENT_MISMATCH',
    `expected a key of the ${environment} environment; production keys are gov_live_…, sandbox keys gov_test_…`,
  );

/** UNAUTHENTICATED where no token came. */
export const requireToken = (token: string | null): string => {
  if (token === null) throw missing();
  return token;
};

/** INSUFFICIENT_SCOPE unless the caller's key holds the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (allows(caller.scopes, scope)) return;
  throw new GovError('INSUFFICIENT_SCOPE', `expected a key with scope ${scope}`, {
    extensions: { requiredScope: scope },
  });
}
