/**
 * How a data plane gets its credentials and changes them (contract B9): a one-time token and a note by its own key for a
 * hybrid key and a signing secret, which are shown once and kept as a digest and sealed. The same plane may ask again with
 * the same token until its next report, since an answer can be lost; it then gets other credentials.
 *
 * A plane that is there already enrols again with another token: it stays the same data plane, with its logs (that is, its
 * origins), its reports and its totals, so nothing is billed twice. Its keys may be others; those before are kept for the
 * reports of their time. The credentials before end, and a plane that was revoked is reinstated.
 *
 * When a plane rotates, the credentials that it called with work on for the overlap, so that it can ask again where the
 * answer was lost: what was made in between and never arrived is dropped.
 * Proven by `test/service/telemetryplanes.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import { refusedCredential } from '../core/credential.ts';
import { newSigningSecret } from '../core/telemetrysignature.ts';
import { formatTimestamp } from '../core/time.ts';
import { checkPossession, type PlaneIdentity } from '../core/usagereport.ts';
import type { PlaneSecrets, StoredPlane } from '../store/port.ts';
import { append, unmetered } from './append.ts';
import { sealedWrite, type CallingPlane, type Caller, type Handlers, type PlainAnswer } from './call.ts';
import { createToken, keyDigest, tokenKind } from './keys.ts';
import { hostingOf } from './projects.ts';
import { fieldError } from './schema.ts';
import type { Services } from './services.ts';
import { wrongEnvironment } from './shown.ts';
import { planeChanged } from './telemetryevents.ts';

const noStore = { 'cache-control': 'no-store' } as const;
const attempts = 5;
type Enrolled = NonNullable<StoredPlane['enrolled']>;

export const enrolment: Pick<Handlers, 'enrollDataPlane' | 'rotatePlaneCredentials'> = {
  async enrollDataPlane({ body, basePath }, services) {
    const { token, possession, ...identity } = body;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { plane, project } = await planeOfToken(services, token, basePath);
      checkIdentity(possession, { token, ...identity });
      await refuseOtherPlane(services, plane, identity);
      const nowMs = services.now();
      const fresh = freshCredentials(services);
      const formerKeys = formerKeysAfter(plane, identity, nowMs);
      const enrolled: Enrolled = { atMs: nowMs, ...identity, formerKeys, ...fresh.kept, previous: null };
      const revision = plane.revision + 1;
      const after = { ...plane, tokenUsedMs: nowMs, enrolled, revokedMs: null, revision };
      const by = { id: plane.planeId, type: 'data_plane' } as const;
      const telling = { nowMs, salt: services.salt, by };
      if (!(await savePlane(services, after, { leaves: [planeChanged('enrolled', after, telling)] })))
        continue;
      services.forgetCredential(plane.planeId);
      const shown = { dataPlaneId: plane.planeId, ...fresh.shown, previousValidUntil: null };
      const { cosigner, configSigner } = hostingOf(services);
      return {
        status: 201,
        body: {
          ...shown,
          projectId: plane.projectId,
          environment: project.environment,
          cosignerKey: cosigner.verifierKey,
          configKey: configSigner.verifierKey,
          reportIntervalSeconds: limits.reportIntervalSeconds,
          serverTime: formatTimestamp(nowMs),
        },
        headers: noStore,
      };
    }
    throw keptChanging();
  },

  async rotatePlaneCredentials({ body, caller, idempotency }, services) {
    const { store } = services;
    const { stored: known, byPrevious } = callingPlane(caller);
    const overlapMs = (body.overlapSeconds ?? limits.planeOverlapSeconds) * 1000;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const plane = await store.plane(known.projectId, known.planeId);
      const before = plane?.enrolled ?? null;
      if (plane === null || before === null || plane.revokedMs !== null) throw refusedCredential();
      const nowMs = services.now();
      const fresh = freshCredentials(services);
      const previous = keptOn(before, callersSecrets(known, byPrevious), nowMs + overlapMs);
      const after = {
        ...plane,
        enrolled: { ...before, ...fresh.kept, previous },
        revision: plane.revision + 1,
      };
      const answer = {
        status: 201,
        body: {
          dataPlaneId: plane.planeId,
          ...fresh.shown,
          previousValidUntil: formatTimestamp(previous.untilMs),
        },
        headers: noStore,
      } as const;
      const leaves = [planeChanged('rotated', after, { nowMs, salt: services.salt, by: caller })];
      const saved = await savePlane(services, after, {
        leaves,
        ...sealedWrite(idempotency, answer as PlainAnswer, services),
      });
      if (saved === false) continue;
      services.forgetCredential(plane.planeId);
      return saved === true ? answer : saved;
    }
    throw keptChanging();
  },
};

/** Of an operation that only data planes call. */
export function callingPlane({ plane }: Caller): CallingPlane {
  if (plane === undefined) throw new Error('expected a data plane, which is admitted here alone');
  return plane;
}

/** INVALID_CREDENTIAL, one text for what is malformed, unknown, expired or revoked; ENVIRONMENT_MISMATCH. */
async function planeOfToken({ store, now }: Services, token: string, basePath: string) {
  const found = tokenKind(token) === 'enr' ? await store.planeOfToken(keyDigest(token)) : null;
  if (found === null) throw refusedToken();
  const { plane, project, stored } = found;
  // revoking ends the token of then, and one that was issued since reinstates
  const isOver = plane.tokenExpiresMs <= now() || stored.deletedMs !== null;
  if (isOver) throw refusedToken();
  const environment = basePath.startsWith('/sandbox/') ? 'sandbox' : 'production';
  if (project.environment !== environment) throw wrongEnvironment(environment);
  return { plane, project };
}

const refusedToken = (): GovError =>
  new GovError(
    'INVALID_CREDENTIAL',
    `expected an enrolment token of the last ${limits.enrolmentHours} h that no other plane has used, got another ` +
      'text; ask for a new one (gov planes create, or gov planes token for a plane that is there)',
  );

function checkIdentity(possession: string, claim: { readonly token: string } & PlaneIdentity): void {
  const fault = checkPossession(possession, claim);
  if (fault === null) return;
  throw fieldError({ pointer: fault.pointer, in: 'body', code: 'NOT_ALLOWED', detail: fault.detail });
}

/**
 * CONFLICT where the plane has another log, where its token was used with other keys, or by this very plane, which has
 * reported since.
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
    ? 'expected a plane that has not reported since it used this token, but this one has; rotate its credentials instead'
    : 'expected the keys with which this token was used first, got others';
  throw new GovError('CONFLICT', `${detail}, or ask for another token (gov planes token ${planeId})`);
}

type Keys = Pick<PlaneIdentity, 'verifierKey' | 'auditVerifierKey'>;

const hasSameKeys = (one: Keys, other: Keys): boolean =>
  one.verifierKey === other.verifierKey && one.auditVerifierKey === other.auditVerifierKey;

/** CONFLICT where they would be too many. */
function formerKeysAfter(
  { planeId, enrolled }: StoredPlane,
  identity: PlaneIdentity,
  untilMs: number,
): Enrolled['formerKeys'] {
  if (enrolled === null) return [];
  const { formerKeys, verifierKey, auditVerifierKey } = enrolled;
  if (hasSameKeys(enrolled, identity)) return formerKeys;
  if (formerKeys.length < limits.planeFormerKeys)
    return [...formerKeys, { verifierKey, auditVerifierKey, untilMs }];
  const detail = `expected a data plane whose keys changed less than ${limits.planeFormerKeys} times, got ${planeId}`;
  throw new GovError('CONFLICT', `${detail}; register another one (gov planes create) with a log of its own`);
}

function freshCredentials(services: Services) {
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

/** Which credentials the caller came with, as they were when they were looked up. */
function callersSecrets({ planeId, enrolled }: StoredPlane, byPrevious: boolean): PlaneSecrets {
  const secrets = (byPrevious ? enrolled?.previous : enrolled?.current) ?? null;
  if (secrets === null) throw new Error(`data plane ${planeId} called with credentials that it has not`);
  return secrets;
}

/** The caller's own, as they are now; INVALID_CREDENTIAL where they have ended. None works longer than it was promised. */
function keptOn(
  { current, previous }: Enrolled,
  callers: PlaneSecrets,
  untilMs: number,
): NonNullable<Enrolled['previous']> {
  if (current.keyDigest.equals(callers.keyDigest)) return { ...current, untilMs };
  if (previous === null || !previous.keyDigest.equals(callers.keyDigest)) throw refusedCredential();
  return { ...previous, untilMs: Math.min(previous.untilMs, untilMs) };
}

/** False where the plane was changed meanwhile; the kept answer where the request is a repeat. */
async function savePlane(
  services: Services,
  plane: StoredPlane,
  request: Pick<Parameters<typeof append>[1], 'leaves' | 'idempotency'>,
) {
  const { projectId } = plane;
  try {
    const effects = [{ kind: 'savePlane', plane }] as const;
    const stored = await append(services, { ...request, projectId, meter: unmetered, effects });
    return 'replayed' in stored ? stored : true;
  } catch (error) {
    if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
    // the same revision: it is another plane that has these keys
    const now = await services.store.plane(projectId, plane.planeId);
    if (now?.revision === plane.revision - 1) throw error;
    return false;
  }
}

const keptChanging = (): GovError =>
  new GovError('OVERLOADED', 'the data plane kept changing meanwhile; repeat later', {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
