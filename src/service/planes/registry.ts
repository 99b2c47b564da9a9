/**
 * Handlers by which people manage a project's data planes (contract B9): register with a one-time token, list
 * with reports, revoke. Rows and events are one append. Proven by `test/service/planes/registry.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { typeId } from '../../core/id.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge, StoredPlane } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { notFound } from '../call/answer.ts';
import { sealedWrite } from '../call/idempotency.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { createToken, keyDigest } from '../credentials/token-format.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import type { Services } from '../port/services.ts';
import { planeBody, reportBody, shownAt } from './answers.ts';
import { planeChanged } from './events.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';

const scopes = ['telemetry:manage'] as const;

export const planes: Pick<
  Handlers,
  | 'createDataPlane'
  | 'issueEnrolmentToken'
  | 'listDataPlanes'
  | 'getDataPlane'
  | 'revokeDataPlane'
  | 'listUsageReports'
> = {
  async createDataPlane({ body, caller, basePath, idempotency }, services) {
    const { now, randomBytes, salt } = services;
    const nowMs = now();
    const { token, kept } = freshToken(services, caller, nowMs);
    const { projectId } = caller.project;
    const plane: StoredPlane = {
      planeId: typeId('dpl', nowMs, randomBytes(10)),
      projectId,
      name: body.name,
      createdMs: nowMs,
      createdBy: caller.id,
      ...kept,
      enrolled: null,
      revokedMs: null,
      revision: 1,
    };
    const answer = {
      ...(await tokenAnswer(services, caller, plane, token)),
      headers: shownAt(plane, basePath),
    };
    const stored = await append(
      services,
      {
        projectId,
        leaves: [planeChanged('registered', plane, { nowMs, salt, by: caller })],
        effects: [{ kind: 'savePlane', plane }],
        ...sealedWrite(idempotency, answer, services),
      },
      { by: { caller, scopes } },
    );
    return 'replayed' in stored ? stored : answer;
  },

  /** Tries again where the plane reports or rotates at the same time. An earlier token ends. */
  async issueEnrolmentToken({ params, caller, basePath, idempotency }, services) {
    const { projectId } = caller.project;
    return untilStored('the data plane', async () => {
      const before = await planeOf(services, caller, params.dataPlaneId);
      const nowMs = services.now();
      const { token, kept } = freshToken(services, caller, nowMs);
      const plane = { ...before, ...kept, revision: before.revision + 1 };
      const answer = {
        ...(await tokenAnswer(services, caller, plane, token)),
        headers: shownAt(plane, basePath),
      };
      const leaves = [planeChanged('token_issued', plane, { nowMs, salt: services.salt, by: caller })];
      const effects = [{ kind: 'savePlane', plane }] as const;
      const sealed = sealedWrite(idempotency, answer, services);
      const request = { projectId, leaves, effects, ...sealed };
      const stored = await unlessOvertaken(append(services, request, { by: { caller, scopes } }), 'CONFLICT');
      if (stored === null) return null;
      return 'replayed' in stored ? stored : answer;
    });
  },

  async listDataPlanes({ query, caller }, services) {
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'dataPlanes', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.planes>[1]) => services.store.planes(projectId, page),
      position: ({ createdMs, planeId }) => byAge(createdMs, planeId),
    });
    const nowMs = services.now();
    const data = await Promise.all(rows.map((plane) => planeBody(services, caller.project, plane, nowMs)));
    return { status: 200, body: { data, nextCursor } };
  },

  async getDataPlane({ params, caller }, services) {
    const plane = await planeOf(services, caller, params.dataPlaneId);
    return { status: 200, body: await planeBody(services, caller.project, plane, services.now()) };
  },

  /** Tries again where the plane reports or rotates at the same time. */
  async revokeDataPlane({ params, caller }, services) {
    const { projectId } = caller.project;
    await untilStored('the data plane', async () => {
      const before = await planeOf(services, caller, params.dataPlaneId);
      if (before.revokedMs !== null) throw notFound('data plane');
      const nowMs = services.now();
      const tokenExpiresMs = Math.min(before.tokenExpiresMs, nowMs);
      const plane = { ...before, tokenExpiresMs, revokedMs: nowMs, revision: before.revision + 1 };
      const context = { nowMs, salt: services.salt, by: caller };
      const leaves = [planeChanged('revoked', plane, context)];
      const request = {
        projectId,
        leaves,
        effects: [{ kind: 'savePlane', plane }] as const,
      };
      return unlessOvertaken(append(services, request, { by: { caller, scopes } }), 'CONFLICT');
    });
    services.forgetCredential(params.dataPlaneId);
    return { status: 204, body: null };
  },

  async listUsageReports({ params, query, caller }, services) {
    const { projectId } = caller.project;
    const { planeId } = await planeOf(services, caller, params.dataPlaneId);
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'usageReports', projectId, filters: { planeId } },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: ({ after, limit }: { after?: ByAge; limit: number }) =>
        services.store.reports(projectId, planeId, {
          ...(after === undefined ? {} : { after: { epoch: Number(after.id), sequence: after.ms } }),
          limit,
        }),
      // in the form of a cursor's position
      position: ({ epoch, sequence }) => byAge(sequence, String(epoch)),
    });
    const nowMs = services.now();
    return { status: 200, body: { data: rows.map((row) => reportBody(row, nowMs)), nextCursor } };
  },
};

/** A token for a day, at most as long as the caller's key lives, and its stored form. */
function freshToken({ randomBytes }: Services, { expiresMs }: Caller, nowMs: number) {
  const token = createToken('enr', randomBytes);
  const tokenExpiresMs = Math.min(nowMs + limits.enrolmentHours * 3_600_000, expiresMs ?? Infinity);
  return { token, kept: { tokenDigest: keyDigest(token), tokenExpiresMs, tokenUsedMs: null } };
}

const tokenAnswer = async (services: Services, { project }: Caller, plane: StoredPlane, token: string) =>
  ({
    status: 201,
    body: {
      dataPlane: await planeBody(services, project, plane, services.now()),
      enrolmentToken: token,
      expiresAt: formatTimestamp(plane.tokenExpiresMs),
    },
  }) as const;

/** A data plane of the project. NOT_FOUND. */
async function planeOf({ store }: Services, { project }: Caller, planeId: string): Promise<StoredPlane> {
  const plane = await store.plane(project.projectId, planeId);
  if (plane === null) throw notFound('data plane');
  return plane;
}
