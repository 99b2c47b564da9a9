/**
 * Finds the caller of a credential (contract A17, B1-B7): API keys and run tokens here, people in `persons.ts`, data planes
 * in `plane-keys.ts`. A key's checksum is tested before any look-up. A look-up uses the digest and is cached
 * for at most five seconds, but that of a session is not. So every process refuses a revoked key within that time, and the process that
 * revoked it at once (`forget`). Proven by `test/http/admit/credentials.test.ts`,
 * `test/http/admit/persons.test.ts` and `test/http/admit/revoked.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { holds, isRevoked, refusedCredential } from '../../core/credential.ts';
import { readRequestToken, type RequestToken } from '../../core/request-token.ts';
import { readRunToken, type RunToken } from '../../core/run-token.ts';
import type { ApiKeyRow } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import { TokenReader } from './token-format.ts';
import { Persons } from './persons.ts';
import { keptRunKey } from './run-keys.ts';
import { PlaneKeys, refuseKind } from './plane-keys.ts';
import { CredentialCache } from '../call/recent.ts';
import { planeRulesWith, rulesOf } from '../call/settings.ts';
import {
  DenialError,
  missingCredential,
  missingHybridKey,
  projectFault,
  wrongEnvironment,
  type CredentialOptions,
  type CredentialCheck,
  type RequestCredentials,
  type OperationPlace,
  type UnknownCredential,
} from './shown.ts';
import { minuteOf, Uses, type UsedCredential } from './uses.ts';

/** What run tokens and request tokens have in common. */
type MadeToken = Pick<RunToken, 'projectId' | 'keyId' | 'expiresMs' | 'isOf'>;

interface KnownKey extends UsedCredential {
  readonly key: ApiKeyRow;
  readonly caller: Caller;
  readonly isDeleted: boolean;
  /** Null where a token of the key was not looked up. */
  readonly runKey: Buffer | null;
  readonly as: { readonly projectId: string; readonly keyId: string };
  readonly untilMs: number;
}

export class Credentials {
  readonly uses = new Uses();
  readonly #options: CredentialOptions;
  readonly #tokens = new TokenReader();
  readonly #keys = new CredentialCache<KnownKey>(limits.credentialCacheKeys);
  readonly #persons: Persons | null;
  readonly #planes: PlaneKeys | null;

  constructor(options: CredentialOptions) {
    const { hosting } = options;
    this.#options = options;
    this.#persons = hosting === null ? null : new Persons({ ...options, hosting, uses: this.uses });
    this.#planes = hosting === null ? null : new PlaneKeys({ ...options, hosting });
  }

  /**
   * The caller, without a promise where the key was looked up within five seconds. UNAUTHENTICATED without a
   * credential. INVALID_CREDENTIAL for unknown, malformed, revoked and expired ones alike.
   * ENVIRONMENT_MISMATCH for a key or project of the other environment. VALIDATION_ERROR and NOT_FOUND for
   * the named project.
   */
  identify(shown: RequestCredentials, place: OperationPlace): Caller | UnknownCredential {
    const { token } = shown;
    if (token === null && place.forPlane === true) throw missingHybridKey();
    if (token === null) {
      const person = this.#persons?.byCookie(shown, place) ?? null;
      if (person !== null) return person;
      if (shown.cookie === null || !this.#options.keySessions) throw missingCredential();
      const session = this.#options.keySessions.use(shown.cookie);
      if (session === null) throw refusedCredential();
      return this.#byKey(Buffer.from(session.key), { shown, place });
    }
    const run = place.forPlane === true ? null : readRunToken(token);
    if (run !== null) return this.#byRun(run, { shown, place });
    const request = place.forPlane === true ? null : readRequestToken(token);
    if (request !== null) return this.#byRequest(request, token, { shown, place });
    const { kind, digest } = this.#tokens.read(token);
    if (this.#planes !== null) {
      refuseKind(kind, place.forPlane === true);
      if (kind === 'hyb') return this.#planes.byToken(token, { shown, place });
    }
    if (kind !== 'live' && kind !== 'test') {
      const person = this.#persons?.byToken(token, kind, { shown, place }) ?? null;
      if (person === null) throw refusedCredential();
      return person;
    }
    if ((kind === 'live') !== (place.environment === 'production')) throw wrongEnvironment(place.environment);
    return this.#byKey(digest, { shown, place });
  }

  #byKey(digest: Buffer, { shown, place }: CredentialCheck): Caller | UnknownCredential {
    const name = digest.toString('latin1');
    const nowMs = this.#options.now();
    const known = this.#keys.get(name, nowMs);
    if (known !== null) return this.#accept(name, known, { shown, place, nowMs });
    return {
      isNew: !this.#keys.has(name),
      lookUp: async () => {
        const found = await this.#keys.find(name, () => this.#ask(digest));
        return this.#accept(name, found, { shown, place, nowMs: this.#options.now() });
      },
    };
  }

  /** The key of a run token, as the caller of this run alone. */
  #byRun(run: RunToken, check: CredentialCheck): Caller | UnknownCredential {
    return this.#byMaker(run, check, (caller) => {
      const scopes = run.scopes.filter((scope) => holds(caller.scopes, scope));
      return { ...caller, scopes, expiresMs: run.expiresMs, run: run.runId };
    });
  }

  /** The key of a request token, as the caller of this request alone. */
  #byRequest(
    { requestHash, ...made }: RequestToken,
    token: string,
    check: CredentialCheck,
  ): Caller | UnknownCredential {
    const longestMs = this.#options.now() + limits.requestTokenSeconds * 2000;
    if (made.expiresMs > longestMs) throw refusedCredential();
    return this.#byMaker(made, check, (caller) => ({ ...caller, request: { token, requestHash } }));
  }

  /** The key that made a token. The token names the project of the key, so no index is searched. */
  #byMaker(
    made: MadeToken,
    { shown, place }: CredentialCheck,
    as: (caller: Caller) => Caller,
  ): Caller | UnknownCredential {
    const name = `${made.projectId} ${made.keyId}`;
    const accept = (known: KnownKey): Caller => {
      const nowMs = this.#options.now();
      if (known.runKey === null || !made.isOf(known.runKey)) throw refusedCredential();
      const caller = this.#accept(name, known, { shown, place, nowMs });
      if (made.expiresMs <= nowMs) throw new DenialError(caller, refusedCredential());
      return as(caller);
    };
    const known = this.#keys.get(name, this.#options.now());
    if (known !== null) return accept(known);
    return {
      isNew: !this.#keys.has(name),
      lookUp: async () => accept(await this.#keys.find(name, () => this.#askKey(made))),
    };
  }

  async #askKey({ projectId, keyId }: MadeToken): Promise<KnownKey> {
    const key = await this.#options.store.apiKeyOf(projectId, keyId).catch((error: unknown) => {
      if (error instanceof GovError && error.code === 'NOT_FOUND') return null; // no such project
      throw error;
    });
    const runKey = key === null ? null : await keptRunKey(this.#options, { projectId, keyId });
    if (key === null || runKey === null) throw refusedCredential();
    return { ...(await this.#ask(Buffer.from(key.digest))), runKey };
  }

  async #ask(digest: Buffer): Promise<KnownKey> {
    const { store, hosting, now, settings } = this.#options;
    const found = await store.apiKey(digest);
    if (found === null) throw refusedCredential();
    const { key, project, stored } = found;
    const { keyId, scopes, digest: own } = key;
    const isPlane = stored === null || hosting === null;
    const rules = isPlane
      ? planeRulesWith(settings?.())
      : rulesOf(stored, hosting.quotas[project.environment]);
    return {
      key,
      caller: {
        id: keyId,
        type: 'api_key',
        credential: { kind: 'key', digest: own },
        project,
        scopes,
        expiresMs: key.expiresMs,
        rules,
      },
      isDeleted: stored !== null && stored.deletedMs !== null,
      runKey: null,
      as: { projectId: key.projectId, keyId },
      untilMs: now() + limits.credentialCacheSeconds * 1000,
      usedMinute: minuteOf(key.lastUsedMs),
    };
  }

  #accept(
    name: string,
    known: KnownKey,
    { shown, place, nowMs }: CredentialCheck & { nowMs: number },
  ): Caller {
    const { key, caller, isDeleted } = known;
    if (isDeleted) throw refusedCredential();
    if (isRevoked(key, nowMs)) throw new DenialError(caller, refusedCredential());
    if (key.expiresMs !== null && key.expiresMs <= nowMs) throw new DenialError(caller, refusedCredential());
    const { projectId, environment } = caller.project;
    if (environment !== place.environment) throw wrongEnvironment(place.environment);
    if (shown.project !== null && shown.project !== projectId) {
      throw projectFault('NOT_ALLOWED', `expected ${projectId}, the project of the key, or no such header`);
    }
    this.uses.add(name, known, nowMs);
    return caller;
  }

  /** Drops the cache entries of the key, project, user or data plane with this id. O(n). */
  forget(id: string): void {
    this.#keys.forget(({ key }) => key.keyId === id || key.projectId === id);
    this.#persons?.forget(id);
    this.#planes?.forget(id);
  }
}
