/**
 * The state of a data plane after it enrols (contract B9), over the wire or by file: which plane may use a
 * token, its keys, its credentials, and the service's terms. Proven by
 * `test/service/planes/enrolled.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { newSigningSecret } from '../../core/planes/signature.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Fault, PlaneIdentity } from '../../core/planes/usage-report.ts';
import type { StoredPlane } from '../../store/port/store.ts';
import type { Project } from '../../store/port/store.ts';
import { append, type PlainRequest } from '../writes/append.ts';
import { createToken, keyDigest } from '../credentials/token-format.ts';
import { hostingOf } from '../access/projects.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';

/** Attempts while other processes change the plane. */
type EnrolledKeys = NonNullable<StoredPlane['enrolled']>;

/** VALIDATION_ERROR where the plane's statement about itself is invalid. */
export function refuseClaim(fault: Fault | null): void {
  if (fault === null) return;
  throw fieldError({ pointer: fault.pointer, in: 'body', code: 'NOT_ALLOWED', detail: fault.detail });
}

/**
 * The plane to store, and the credentials to show once. CONFLICT like `refuseOtherPlane` and
 * `formerKeysAfter`.
 */
export async function nextEnrolment(services: Services, plane: StoredPlane, identity: PlaneIdentity) {
  await refuseOtherPlane(services, plane, identity);
  const nowMs = services.now();
  const fresh = freshCredentials(services);
  const formerKeys = formerKeysAfter(plane, identity, nowMs);
  const { origin, auditOrigin, verifierKey, auditVerifierKey } = identity;
  const keys = { origin, auditOrigin, verifierKey, auditVerifierKey };
  const enrolled: EnrolledKeys = { atMs: nowMs, ...keys, formerKeys, ...fresh.kept, previous: null };
  const revision = plane.revision + 1;
  const after: StoredPlane = { ...plane, tokenUsedMs: nowMs, enrolled, revokedMs: null, revision };
  return { after, nowMs, shown: fresh.shown };
}

/** The terms that a plane gets with its credentials. */
export function termsOf(
  services: Services,
  {
    plane: { planeId, projectId },
    environment,
    nowMs,
  }: {
    readonly plane: StoredPlane;
    readonly environment: Project['environment'];
    readonly nowMs: number;
  },
) {
  const { cosigner, configSigner } = hostingOf(services);
  return {
    dataPlaneId: planeId,
    projectId,
    environment,
    cosignerKey: cosigner.verifierKey,
    configKey: configSigner.verifierKey,
    reportIntervalSeconds: limits.reportIntervalSeconds,
    serverTime: formatTimestamp(nowMs),
  };
}

/**
 * CONFLICT where the plane has another log, where other keys used the token, or where this plane has reported
 * since it did.
 */
async function refuseOtherPlane(
  { store }: Services,
  plane: StoredPlane,
  identity: PlaneIdentity,
): Promise<void> {
  const { enrolled, projectId, planeId, tokenUsedMs } = plane;
  if (enrolled === null) return;
  for (const name of ['origin', 'auditOrigin'] as const) {
    if (enrolled[name] === identity[name]) continue;
    const detail =
      `expected ${name} ${enrolled[name]} of data plane ${planeId}, which this token is for, got ${identity[name]}; ` +
      'ask for a token of its own (gov planes create)';
    throw new GovError('CONFLICT', detail);
  }
  if (tokenUsedMs === null) return;
  const isSame = hasSameKeys(enrolled, identity);
  const [newest] = await store.reports(projectId, planeId, { limit: 1 });
  if (isSame && (newest === undefined || newest.receivedMs < tokenUsedMs)) return;
  const detail = isSame
    ? 'expected a plane without reports since it used this token, but this one has some; rotate its credentials instead'
    : 'expected the keys that used this token first, got others';
  throw new GovError('CONFLICT', `${detail}, or ask for another token (gov planes token ${planeId})`);
}

type Keys = Pick<PlaneIdentity, 'verifierKey' | 'auditVerifierKey'>;

const hasSameKeys = (one: Keys, other: Keys): boolean =>
  one.verifierKey === other.verifierKey && one.auditVerifierKey === other.auditVerifierKey;

/** The plane's earlier keys. CONFLICT where there would be too many. */
function formerKeysAfter(
  { planeId, enrolled }: StoredPlane,
  identity: PlaneIdentity,
  untilMs: number,
): EnrolledKeys['formerKeys'] {
  if (enrolled === null) return [];
  const { formerKeys, verifierKey, auditVerifierKey } = enrolled;
  if (hasSameKeys(enrolled, identity)) return formerKeys;
  if (formerKeys.length < limits.planeFormerKeys)
    return [...formerKeys, { verifierKey, auditVerifierKey, untilMs }];
  const detail = `expected a data plane whose keys changed less than ${limits.planeFormerKeys} times, got ${planeId}`;
  throw new GovError('CONFLICT', `${detail}; register another one (gov planes create) with a log of its own`);
}

/** New credentials to show once, and their stored form. */
export function freshCredentials(services: Services) {
  const { randomBytes } = services;
  const key = createToken('hyb', randomBytes);
  const signingSecret = newSigningSecret(randomBytes(32));
  return {
    shown: { key, signingSecret },
    kept: {
      keyPrefix: key.slice(0, limits.keyPrefixChars),
      keyLast4: key.slice(-4),
      current: { keyDigest: keyDigest(key), sealedSecret: hostingOf(services).seal.seal(signingSecret) },
    },
  };
}

/** False where the plane changed in the meantime; the stored answer where the request is a repeat. */
export async function savePlane(
  services: Services,
  plane: StoredPlane,
  request: Pick<PlainRequest, 'leaves' | 'idempotency'>,
) {
  const { projectId } = plane;
  try {
    const effects = [{ kind: 'savePlane', plane }] as const;
    const stored = await append(services, { ...request, projectId, effects });
    return 'replayed' in stored ? stored : true;
  } catch (error) {
    if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
    // at the same revision, another plane has these keys
    const now = await services.store.plane(projectId, plane.planeId);
    if (now?.revision === plane.revision - 1) throw error;
    return false;
  }
}
