/**
 * Enrolment by file (contract B9, `src/core/planes/enrolment-request.ts`), for a data plane without a
 * connection. An operator uploads the plane's request and carries the answer back. The plane may use a token
 * by file or over the wire, with the same refusals. The request proves that its sender has the token without
 * containing it. Proven by `test/service/planes/enrol-by-file.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  answerSchema,
  checkEnrolmentRequest,
  enrolmentAnswer,
  type OpenAnswer,
  type SealedCredentials,
} from '../../core/planes/enrolment-request.ts';
import type { EnrolmentAnswer } from '../../contract/telemetry.ts';
import type { StoredPlane } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { notFound } from '../call/answer.ts';
import { sealedWrite } from '../call/idempotency.ts';
import type { Handlers } from '../port/handler.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { nextEnrolment, refuseClaim, termsOf } from './enrolled.ts';
import { shownAt } from './answers.ts';
import { planeChanged } from './events.ts';
import { newestHeld } from './newest.ts';
import { untilStored } from '../call/overtaken.ts';

export const enrolmentByFile: Pick<Handlers, 'enrollDataPlaneByFile'> = {
  async enrollDataPlaneByFile({ params, body, caller, idempotency, basePath }, services) {
    const { projectId, environment } = caller.project;
    return untilStored('the data plane', async () => {
      const plane = await services.store.plane(projectId, params.dataPlaneId);
      if (plane === null) throw notFound('data plane');
      refuseEnded(plane, services.now());
      refuseClaim(checkEnrolmentRequest(body, plane.tokenDigest));
      const { after, nowMs, shown } = await nextEnrolment(services, plane, body);
      const terms = termsOf(services, { plane, environment, nowMs });
      // a plane that cannot ask continues after its newest report
      const newest = await newestHeld(services.store, plane);
      const open = { schemaVersion: answerSchema, ...terms, newest, sealTo: body.sealTo } as const;
      const sealedBody = sealed(services, plane, { open, shown });
      const answer = { status: 201, body: sealedBody, headers: shownAt(plane, basePath) } as const;
      const leaves = [planeChanged('enrolled', after, { nowMs, salt: services.salt, by: caller })];
      const effects = [{ kind: 'savePlane', plane: after }] as const;
      const request = {
        projectId,
        leaves,
        effects,
        ...sealedWrite(idempotency, answer, services),
      };
      try {
        const stored = await append(services, request, { by: { caller, scopes: ['telemetry:manage'] } });
        services.forgetCredential(plane.planeId);
        return 'replayed' in stored ? stored : answer;
      } catch (error) {
        await refuseUnlessMeanwhile(services, plane, error);
        return null;
      }
    });
  },
};

/**
 * CONFLICT where the plane's token has ended. Not INVALID_CREDENTIAL, because the caller's own credential is
 * valid.
 */
function refuseEnded({ planeId, tokenExpiresMs }: StoredPlane, nowMs: number): void {
  if (tokenExpiresMs > nowMs) return;
  const detail =
    `expected a valid token of data plane ${planeId}, but the newest one has ended; ` +
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
    const detail = 'expected an X25519 key, got a point that cannot receive a sealed answer';
    throw Object.assign(fieldError({ pointer: '/sealTo', in: 'body', code: 'NOT_ALLOWED', detail }), {
      cause,
    });
  }
}

/**
 * Rethrows an error unless the plane changed in the meantime. At the same revision, another plane has these
 * keys.
 */
async function refuseUnlessMeanwhile({ store }: Services, plane: StoredPlane, error: unknown): Promise<void> {
  if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
  const now = await store.plane(plane.projectId, plane.planeId);
  if (now?.revision === plane.revision) throw error;
}
