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
 * Proven by `test/service/planes/registry.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { refusedCredential } from '../../core/credential.ts';
import { formatTimestamp } from '../../core/time.ts';
import { checkPossession } from '../../core/plane/usage-report.ts';
import type { PlaneSecrets, StoredPlane } from '../../store/port/store.ts';
import {
  sealedWrite,
  type CallingPlane,
  type Caller,
  type Handlers,
  type PlainAnswer,
} from '../call/handler.ts';
import { keyDigest, tokenKind } from '../access/token-format.ts';
import { hostingOf } from '../access/projects.ts';
import type { Services } from '../dependencies.ts';
import { wrongEnvironment } from '../access/shown.ts';
import {
  attempts,
  freshCredentials,
  keptChanging,
  nextEnrolment,
  refuseClaim,
  savePlane,
  termsOf,
} from './enrolled.ts';
import { planeChanged } from './events.ts';

const noStore = { 'cache-control': 'no-store' } as const;
type Enrolled = NonNullable<StoredPlane['enrolled']>;

export const enrolment: Pick<Handlers, 'enrollDataPlane' | 'rotatePlaneCredentials' | 'getCosigner'> = {
  /** For whoever has receipts: nobody has to take the key from the plane that shows them. */
  async getCosigner(_, services) {
    return { status: 200, body: { cosignerKey: hostingOf(services).cosigner.verifierKey } };
  },

  async enrollDataPlane({ body, basePath }, services) {
    const { token, possession, ...identity } = body;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { plane, project } = await planeOfToken(services, token, basePath);
      refuseClaim(checkPossession(possession, { token, ...identity }));
      const { after, nowMs, shown } = await nextEnrolment(services, plane, identity);
      const by = { id: plane.planeId, type: 'data_plane' } as const;
      const leaves = [planeChanged('enrolled', after, { nowMs, salt: services.salt, by })];
      if (!(await savePlane(services, after, { leaves }))) continue;
      services.forgetCredential(plane.planeId);
      const body = {
        ...shown,
        previousValidUntil: null,
        ...termsOf(services, { plane, environment: project.environment, nowMs }),
      };
      return { status: 201, body, headers: noStore };
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
