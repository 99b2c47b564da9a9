/**
 * Data planes as callers (contract B6, B9): by hybrid key, which is looked up by its digest and believed for at most five
 * seconds, as API keys are. The key before works until its time is over. Where no data plane is asked for, a hybrid key is
 * of no use, and nothing else is where one is. Proven by `test/http/admit/plane-credentials.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Scope } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import { refusedCredential } from '../../core/credential.ts';
import { parseSigningSecret } from '../../core/plane/signature.ts';
import type { StoredPlane } from '../../store/port/store.ts';
import type { Caller } from '../call/handler.ts';
import type { Seal } from '../hosting.ts';
import { keyDigest, type KeyKind } from './token-format.ts';
import { Recent } from '../call/recent.ts';
import { rulesOf } from '../call/settings.ts';
import {
  Denied,
  projectFault,
  wrongEnvironment,
  type CredentialOptions,
  type On,
  type Unfamiliar,
} from './shown.ts';

/** What a hybrid key carries, and no more (contract B6). */
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

/** INVALID_CREDENTIAL for a credential of the wrong kind: which one is wanted is known without asking anybody. */
export function refuseKind(kind: KeyKind | null, forPlane: boolean): void {
  if ((kind === 'hyb') === forPlane) return;
  const detail = forPlane
    ? 'expected the hybrid key of a data plane (gov_hyb_…), which it got when it enrolled, got another credential'
    : 'expected a credential of a project, got the hybrid key of a data plane, which is for its own reports alone';
  throw new GovError('INVALID_CREDENTIAL', detail);
}

export class PlaneKeys {
  readonly #options: PlaneOptions;
  readonly #known = new Recent<KnownPlane>(limits.credentialCacheKeys);

  constructor(options: PlaneOptions) {
    this.#options = options;
  }

  /** `token`: a well-formed hybrid key. As `Credentials.identify`. */
  byToken(token: string, on: On): Caller | Unfamiliar {
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
    const { store, hosting, now } = this.#options;
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
        rules: rulesOf(stored, hosting.quotas[project.environment]),
        plane: {
          stored: plane,
          byPrevious: !digest.equals(enrolled.current.keyDigest),
          secrets: openSecrets(enrolled, hosting.seal),
        },
      },
      isDeleted: stored.deletedMs !== null,
      untilMs: now() + limits.credentialCacheSeconds * 1000,
    };
  }

  /** What is remembered of the plane or the project with this id is asked for anew. O(n). */
  forget(id: string): void {
    this.#known.forget(({ caller }) => caller.id === id || caller.project.projectId === id);
  }
}

/** The secret before signs as long as the key before works. STORAGE_FAULT where one was sealed by other keys. */
export function openSecrets(
  { current, previous }: NonNullable<StoredPlane['enrolled']>,
  seal: Seal,
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

function accepted({ caller, isDeleted }: KnownPlane, { shown, place }: On, nowMs: number): Caller {
  if (isDeleted) throw refusedCredential();
  const { stored, byPrevious } = caller.plane;
  const previousUntilMs = stored.enrolled?.previous?.untilMs ?? 0;
  if (stored.revokedMs !== null || (byPrevious && previousUntilMs <= nowMs)) {
    throw new Denied(caller, refusedCredential());
  }
  const { projectId, environment } = caller.project;
  if (environment !== place.environment) throw wrongEnvironment(place.environment);
  if (shown.project !== null && shown.project !== projectId) {
    throw projectFault('NOT_ALLOWED', `expected ${projectId}, which the key is of, or no such header`);
  }
  return caller;
}
