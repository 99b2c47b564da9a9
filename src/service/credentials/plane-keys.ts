/**
 * Data planes as callers (contract B6, B9). A hybrid key is looked up by its digest and cached for at most
 * five seconds, like an API key. The previous key works until its time is over. Operations of data planes
 * accept only hybrid keys, and all other operations accept none. Proven by
 * `test/http/admit/plane-credentials.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Scope } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import { refusedCredential } from '../../core/credential.ts';
import { parseSigningSecret } from '../../core/planes/signature.ts';
import type { StoredPlane } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { Seal } from '../call/secrets.ts';
import { keyDigest, type KeyKind } from './token-format.ts';
import { CredentialCache } from '../call/recent.ts';
import { rulesOf } from '../call/settings.ts';
import {
  DenialError,
  projectFault,
  wrongEnvironment,
  type CredentialOptions,
  type CredentialCheck,
  type UnknownCredential,
} from './shown.ts';

/** The scopes of a hybrid key (contract B6). */
export const hybridScopes = [
  'telemetry:write',
  'telemetry:manage',
  'approvals:decide',
  'erasure:write',
  'log:read',
] as const satisfies readonly Scope[];

interface PlaneOptions extends CredentialOptions {
  readonly hosting: NonNullable<CredentialOptions['hosting']>;
}

interface KnownPlane {
  readonly caller: Caller & { readonly plane: NonNullable<Caller['plane']> };
  readonly isDeleted: boolean;
  readonly untilMs: number;
}

/** INVALID_CREDENTIAL for a credential of the wrong kind, without a look-up. */
export function refuseKind(kind: KeyKind | null, forPlane: boolean): void {
  if ((kind === 'hyb') === forPlane) return;
  const detail = forPlane
    ? 'expected the hybrid key of a data plane (gov_hyb_…), which its enrolment returned, got another credential'
    : 'expected a credential of a project, got the hybrid key of a data plane, which can only send its own reports';
  throw new GovError('INVALID_CREDENTIAL', detail);
}

export class PlaneKeys {
  readonly #options: PlaneOptions;
  readonly #known = new CredentialCache<KnownPlane>(limits.credentialCacheKeys);

  constructor(options: PlaneOptions) {
    this.#options = options;
  }

  /** `token`: a well-formed hybrid key. Throws like `Credentials.identify`. */
  byToken(token: string, on: CredentialCheck): Caller | UnknownCredential {
    const digest = keyDigest(token);
    const name = digest.toString('latin1');
    const { now } = this.#options;
    const known = this.#known.get(name, now());
    if (known !== null) return accepted(known, on, now());
    return {
      isNew: !this.#known.has(name),
      lookUp: async () => accepted(await this.#known.find(name, () => this.#ask(digest)), on, now()),
    };
  }

  async #ask(digest: Buffer): Promise<KnownPlane> {
    const { store, hosting, seal, now } = this.#options;
    const found = await store.planeOfKey(digest);
    const enrolled = found?.plane.enrolled ?? null;
    if (found === null || enrolled === null) throw refusedCredential();
    const { plane, project, stored } = found;
    return {
      caller: {
        id: plane.planeId,
        type: 'data_plane',
        credential: null,
        project,
        scopes: hybridScopes,
        expiresMs: null,
        rules: rulesOf(stored, hosting.quotas[project.environment]),
        plane: {
          stored: plane,
          byPrevious: !digest.equals(enrolled.current.keyDigest),
          secrets: openSecrets(enrolled, seal),
        },
      },
      isDeleted: stored.deletedMs !== null,
      untilMs: now() + limits.credentialCacheSeconds * 1000,
    };
  }

  /** Drops the cache entries of the plane or project with this id. O(n). */
  forget(id: string): void {
    this.#known.forget(({ caller }) => caller.id === id || caller.project.projectId === id);
  }
}

/**
 * The secrets that may sign now. The previous secret is valid as long as the previous key. STORAGE_FAULT
 * where other keys sealed one.
 */
export function openSecrets(
  { current, previous }: NonNullable<StoredPlane['enrolled']>,
  seal: Pick<Seal, 'open'>,
): (nowMs: number) => readonly Uint8Array[] {
  const open = (sealed: string): Buffer => {
    const secret = seal.open(sealed);
    if (secret !== null) return parseSigningSecret(secret);
    throw new GovError(
      'STORAGE_FAULT',
      'expected a signing secret that was sealed with the keys of this service',
    );
  };
  const own = open(current.sealedSecret);
  if (previous === null) return () => [own];
  const before = open(previous.sealedSecret);
  return (nowMs) => (previous.untilMs > nowMs ? [own, before] : [own]);
}

function accepted(
  { caller, isDeleted }: KnownPlane,
  { shown, place }: CredentialCheck,
  nowMs: number,
): Caller {
  if (isDeleted) throw refusedCredential();
  const { stored, byPrevious } = caller.plane;
  const previousUntilMs = stored.enrolled?.previous?.untilMs ?? 0;
  if (stored.revokedMs !== null || (byPrevious && previousUntilMs <= nowMs)) {
    throw new DenialError(caller, refusedCredential());
  }
  const { projectId, environment } = caller.project;
  if (environment !== place.environment) throw wrongEnvironment(place.environment);
  if (shown.project !== null && shown.project !== projectId) {
    throw projectFault('NOT_ALLOWED', `expected ${projectId}, the project of the key, or no such header`);
  }
  return caller;
}
