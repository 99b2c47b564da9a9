/**
 * People as callers (contract A15, B2, B14): by session cookie, by token of the command line, by ID token.
 * Each person acts on the organization with every scope, and on the project that `Gov-Project` names. A session is read
 * at each use, so that every process refuses it once it has ended; an ID token is verified once in five seconds. Proven
 * by `test/service/credentials/persons.test.ts` and `test/http/admit/persons.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { refusedCredential } from '../../core/credential.ts';
import type { StoredOrganization, StoredSession } from '../../store/port/store.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import { keyDigest, type KeyKind } from './token-format.ts';
import { CredentialCache } from '../call/recent.ts';
import { rulesOf } from '../call/settings.ts';
import {
  projectFault,
  type CredentialOptions,
  type CredentialCheck,
  type OperationPlace,
  type RequestCredentials,
  type UnknownCredential,
} from './shown.ts';
import { minuteOf, type UsedCredential, type Uses } from './uses.ts';

interface PersonOptions extends CredentialOptions {
  readonly hosting: NonNullable<CredentialOptions['hosting']>;
  readonly uses: Uses;
}

interface CachedPerson {
  readonly userId: string;
  readonly organization: StoredOrganization;
  /** Null for an ID token. */
  readonly session: { readonly stored: StoredSession; readonly counted: UsedCredential } | null;
  readonly untilMs: number;
}

const idleMs = limits.sessionIdleMinutes * 60_000;

export class Persons {
  readonly #options: PersonOptions;
  readonly #known = new CredentialCache<CachedPerson>(limits.credentialCacheKeys);

  constructor(options: PersonOptions) {
    this.#options = options;
  }

  /** Null without a cookie. */
  byCookie(shown: RequestCredentials, place: OperationPlace): UnknownCredential | null {
    const { cookie } = shown;
    if (cookie === null) return null;
    const digest = keyDigest(cookie);
    return this.#unfamiliar('browser', digest, {
      ask: () => this.#bySession(digest, 'browser'),
      shown,
      place,
    });
  }

  /**
   * Null for a credential that is neither a token of the command line nor a JWT. `kind`: the kind of a
   * well-formed `gov_` token.
   */
  byToken(token: string, kind: KeyKind | null, on: CredentialCheck): UnknownCredential | null {
    if (kind !== 'cli' && !isJwt(token)) return null;
    const digest = keyDigest(token);
    return kind === 'cli'
      ? this.#unfamiliar('cli', digest, { ask: () => this.#bySession(digest, 'cli'), ...on })
      : this.#unfamiliar('id', digest, { ask: () => this.#byIdToken(token), ...on });
  }

  #unfamiliar(
    kind: StoredSession['kind'] | 'id',
    digest: Buffer,
    { ask, shown, place }: CredentialCheck & { ask: () => Promise<CachedPerson> },
  ): UnknownCredential {
    // the kind is part of the name, so that a cookie never matches a cached token, nor the reverse
    const name = `${kind} ${digest.toString('latin1')}`;
    return {
      isNew: !this.#known.has(name),
      lookUp: async () => {
        const known = this.#known.get(name, this.#options.now()) ?? (await this.#known.find(name, ask));
        this.#accept(name, known);
        return this.#callerIn(known, shown.project, place);
      },
    };
  }

  async #bySession(digest: Buffer, kind: StoredSession['kind']): Promise<CachedPerson> {
    const found = await this.#options.store.session(digest);
    if (found === null || found.session.kind !== kind) throw refusedCredential();
    const { session, user, organization } = found;
    const counted = { usedMinute: minuteOf(session.lastUsedMs), as: { digest } };
    return {
      userId: user.userId,
      organization,
      session: { stored: session, counted },
      // read at each use: another process may have ended the session
      untilMs: 0,
    };
  }

  async #byIdToken(idToken: string): Promise<CachedPerson> {
    const { store, hosting } = this.#options;
    if (hosting.identity === null) throw refusedCredential();
    const { issuer, subject } = await hosting.identity.verify(idToken, { freshSignIn: false });
    const user = await store.user(issuer, subject);
    const organization = user === null ? null : await store.organization(user.organizationId);
    if (user === null || organization === null) {
      const detail = 'expected someone who has signed up; POST /auth/signup with this ID token first';
      throw new GovError('INVALID_CREDENTIAL', detail);
    }
    const untilMs = this.#options.now() + limits.credentialCacheSeconds * 1000;
    return { userId: user.userId, organization, session: null, untilMs };
  }

  /** INVALID_CREDENTIAL once the session ended or expired; for a browser also after an hour without use. */
  #accept(name: string, { session }: CachedPerson): void {
    if (session === null) return;
    const nowMs = this.#options.now();
    const { kind, endedMs, lastUsedMs, expiresMs } = session.stored;
    const isIdle = kind === 'browser' && nowMs - lastUsedMs > idleMs;
    if (endedMs !== null || expiresMs <= nowMs || isIdle) throw refusedCredential();
    this.#options.uses.add(name, session.counted, nowMs);
  }

  /**
   * The person in the named project. Without a name, where none is needed, in the home of the organization.
   */
  async #callerIn(
    { userId, organization, session }: CachedPerson,
    named: string | null,
    { environment, needsProject }: OperationPlace,
  ): Promise<Caller> {
    if (named === null && needsProject) {
      throw projectFault('MISSING_FIELD', 'expected the header Gov-Project: prj_…, which names the project');
    }
    const { organizationId, home } = organization;
    const projectId = named ?? home[environment];
    const { store, hosting } = this.#options;
    const stored = projectPattern.test(projectId)
      ? await store.storedProject(organizationId, projectId)
      : null;
    // the home may be a deleted project where no other is left, or until this process sees the new one
    if (stored === null || (named !== null && stored.deletedMs !== null)) throw notFound('project');
    const { project } = stored;
    // the home may be in the other environment where this one has no project
    if (named !== null && project.environment !== environment) {
      const detail = `expected a project of the ${environment} environment; others are under the other base path`;
      throw new GovError('ENVIRONMENT_MISMATCH', detail);
    }
    const rules = rulesOf(stored, hosting.quotas[project.environment]);
    const credential =
      session === null ? null : ({ kind: 'session', digest: session.stored.digest } as const);
    return { id: userId, type: 'person', credential, project, scopes: ['*'], expiresMs: null, rules };
  }

  /** Drops the cache entries of a user, or of people whose home is this project. */
  forget(id: string): void {
    this.#known.forget(
      ({ userId, organization: { home } }) => userId === id || Object.values(home).includes(id),
    );
  }
}

const isJwt = (token: string): boolean =>
  token.length <= limits.idTokenChars && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);

const projectPattern = /^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
