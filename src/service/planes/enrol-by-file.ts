/**
 * Enrolment by file (contract B9, `src/core/plane/enrolment-request.ts`): an operator hands over what a data plane without a way here asks,
 * and gets what is carried back. The same plane may use a token by file or over the wire, with the same refusals; that
 * the request is by whoever has the token is proven without it. Proven by `test/service/planes/enrol-by-file.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  answerSchema,
  checkEnrolmentRequest,
  enrolmentAnswer,
  type OpenAnswer,
  type SealedCredentials,
} from '../../core/plane/enrolment-request.ts';
import type { EnrolmentAnswer } from '../../contract/telemetry.ts';
import type { StoredPlane } from '../../store/port/store.ts';
import { unmetered } from '../events/append.ts';
import { appendFor } from '../events/asking.ts';
import { notFound, sealedWrite, type Handlers } from '../call/handler.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../dependencies.ts';
import { attempts, keptChanging, nextEnrolment, refuseClaim, termsOf } from './enrolled.ts';
import { planeChanged } from './events.ts';
import { newestHeld } from './newest.ts';

export const enrolmentByFile: Pick<Handlers, 'enrollDataPlaneByFile'> = {
  async enrollDataPlaneByFile({ params, body, caller, idempotency }, services) {
    const { projectId, environment } = caller.project;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const plane = await services.store.plane(projectId, params.dataPlaneId);
      if (plane === null) throw notFound('data plane');
      refuseEnded(plane, services.now());
      refuseClaim(checkEnrolmentRequest(body, plane.tokenDigest));
      const { after, nowMs, shown } = await nextEnrolment(services, plane, body);
      const terms = termsOf(services, { plane, environment, nowMs });
      // a plane that cannot ask goes on behind it
      const newest = await newestHeld(services.store, plane);
      const open = { schemaVersion: answerSchema, ...terms, newest, sealTo: body.sealTo } as const;
      const answer = { status: 201, body: sealed(services, plane, { open, shown }) } as const;
      const leaves = [planeChanged('enrolled', after, { nowMs, salt: services.salt, by: caller })];
      const effects = [{ kind: 'savePlane', plane: after }] as const;
      const request = {
        projectId,
        leaves,
        meter: unmetered,
        effects,
        ...sealedWrite(idempotency, answer, services),
      };
      try {
        const stored = await appendFor(services, { caller, scopes: ['telemetry:manage'] }, request);
        services.forgetCredential(plane.planeId);
        return 'replayed' in stored ? stored : answer;
      } catch (error) {
        await refuseUnlessMeanwhile(services, plane, error);
      }
    }
    throw keptChanging();
  },
};

/** CONFLICT: the credential of the caller is as good as before. */
function refuseEnded({ planeId, tokenExpiresMs }: StoredPlane, nowMs: number): void {
  if (tokenExpiresMs > nowMs) return;
  const detail =
    `expected a token of data plane ${planeId} that is in force, but the newest one has ended; ` +
    `issue another one (gov planes token ${planeId}), and have the plane ask with it`;
  throw new GovError('CONFLICT', detail);
}

function sealed(
  { randomBytes }: Services,
  { tokenDigest: secret }: StoredPlane,
  { open, shown }: { readonly open: OpenAnswer; readonly shown: SealedCredentials },
): EnrolmentAnswer {
  try {
    return enrolmentAnswer(open, shown, { secret, ephemeral: randomBytes(32) });
  } catch (cause) {
    const detail = 'expected an X25519 key, got a point to which nothing can be sealed';
    throw Object.assign(fieldError({ pointer: '/sealTo', in: 'body', code: 'NOT_ALLOWED', detail }), {
      cause,
    });
  }
}

/** Throws what is no change of the plane meanwhile: with the same revision another plane has these keys. */
async function refuseUnlessMeanwhile({ store }: Services, plane: StoredPlane, error: unknown): Promise<void> {
  if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
  const now = await store.plane(plane.projectId, plane.planeId);
  if (now?.revision === plane.revision) throw error;
}
