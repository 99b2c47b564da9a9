/**
 * Gives a data plane its credentials and changes them (contract B9). A one-time token and a note signed with
 * the plane's key give it a hybrid key and a signing secret, shown once; the service keeps a digest and a
 * sealed copy. Until its next report the plane may ask again with the same token, because an answer can get
 * lost, and then gets new credentials.
 *
 * A known plane enrols again with a new token. It keeps its logs (that is, its origins), reports and totals,
 * so nothing is billed twice. Its keys may change; earlier keys stay for reports of their time. Earlier
 * credentials end, and a revoked plane is reinstated.
 *
 * When a plane rotates, the credentials of its call stay valid for the overlap, so that it can ask again
 * after a lost answer. Credentials of a lost answer are dropped. Proven by
 * `test/service/planes/registry.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { refusedCredential } from '../../core/credential.ts';
import { formatTimestamp } from '../../core/time.ts';
import { checkPossession } from '../../core/planes/usage-report.ts';
import type { PlaneSecrets, StoredPlane } from '../../store/port/store.ts';
import { sealedWrite } from '../call/idempotency.ts';
import type { CallingPlane, Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import type { PlainAnswer } from '../call/answer.ts';
import { keyDigest, tokenKind } from '../credentials/token-format.ts';
import { hostingOf } from '../access/projects.ts';
import type { Services } from '../port/services.ts';
import { wrongEnvironment } from '../credentials/shown.ts';
import { freshCredentials, nextEnrolment, refuseClaim, savePlane, termsOf } from './enrolled.ts';
import { shownAt } from './answers.ts';
import { planeChanged } from './events.ts';
import { untilStored } from '../call/overtaken.ts';

type EnrolledKeys = NonNullable<StoredPlane['enrolled']>;

export const enrolment: Pick<Handlers, 'enrollDataPlane' | 'rotatePlaneCredentials' | 'getCosigner'> = {
  /** Gives the key to anybody with receipts, who need not trust the plane that shows them. */
  async getCosigner(_, services) {
    return { status: 200, body: { cosignerKey: hostingOf(services).cosigner.verifierKey } };
  },

  async enrollDataPlane({ body, basePath }, services) {
    const { token, possession, ...identity } = body;
    return untilStored('the data plane', async () => {
      const { plane, project } = await planeOfToken(services, token, basePath);
      refuseClaim(checkPossession(possession, { token, ...identity }));
      const { after, nowMs, shown } = await nextEnrolment(services, plane, identity);
      const by = { id: plane.planeId, type: 'data_plane' } as const;
      const leaves = [planeChanged('enrolled', after, { nowMs, salt: services.salt, by })];
      if (!(await savePlane(services, after, { leaves }))) return null;
      services.forgetCredential(plane.planeId);
      const body = {
        ...shown,
        previousValidUntil: null,
        ...termsOf(services, { plane, environment: project.environment, nowMs }),
      };
      return { status: 201, body, headers: shownAt(plane, basePath) };
    });
  },

  async rotatePlaneCredentials({ body, caller, idempotency, basePath }, services) {
    const { store } = services;
    const { stored: known, byPrevious } = callingPlane(caller);
    const overlapMs = (body.overlapSeconds ?? limits.planeOverlapSeconds) * 1000;
    return untilStored('the data plane', async () => {
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
        headers: shownAt(plane, basePath),
      } as const;
      const leaves = [planeChanged('rotated', after, { nowMs, salt: services.salt, by: caller })];
      const saved = await savePlane(services, after, {
        leaves,
        ...sealedWrite(idempotency, answer as PlainAnswer, services),
      });
      if (saved === false) return null;
      services.forgetCredential(plane.planeId);
      return saved === true ? answer : saved;
    });
  },
};

/** The plane of an operation that only data planes call. */
export function callingPlane({ plane }: Caller): CallingPlane {
  if (plane === undefined)
    throw new Error('expected a data plane, got another caller, although only data planes are admitted');
  return plane;
}

/**
 * INVALID_CREDENTIAL with one text for malformed, unknown, expired and revoked tokens; ENVIRONMENT_MISMATCH.
 */
async function planeOfToken({ store, now }: Services, token: string, basePath: string) {
  const found = tokenKind(token) === 'enr' ? await store.planeOfToken(keyDigest(token)) : null;
  if (found === null) throw refusedToken();
  const { plane, project, stored } = found;
  // a revocation ends earlier tokens; one issued later reinstates the plane
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
      'text; ask for a new one (gov planes create, or gov planes token for a known plane)',
  );

/** The credentials that the caller used, as they were at the look-up. */
function callersSecrets({ planeId, enrolled }: StoredPlane, byPrevious: boolean): PlaneSecrets {
  const secrets = (byPrevious ? enrolled?.previous : enrolled?.current) ?? null;
  if (secrets === null) throw new Error(`expected credentials of data plane ${planeId}, got others`);
  return secrets;
}

/**
 * The caller's own current credentials, with their original end. INVALID_CREDENTIAL where they have ended.
 */
function keptOn(
  { current, previous }: EnrolledKeys,
  callers: PlaneSecrets,
  untilMs: number,
): NonNullable<EnrolledKeys['previous']> {
  if (current.keyDigest.equals(callers.keyDigest)) return { ...current, untilMs };
  if (previous === null || !previous.keyDigest.equals(callers.keyDigest)) throw refusedCredential();
  return { ...previous, untilMs: Math.min(previous.untilMs, untilMs) };
}
