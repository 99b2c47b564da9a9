/**
 * Handlers of exports (contract K1-K14): create, list, show, cancel, download, delete. `job.ts` builds artifacts.
 * Proven by `test/service/exports/handlers.test.ts` and `test/http/answer/exports.test.ts`.
 */
import type { ExportFilters, ExportInput, ExportJob, ExportManifest } from '../../contract/exports.ts';
import { isOpen, jobStatuses } from '../../contract/job-words.ts';
import { limits } from '../../contract/limits.ts';
import { hashText } from '../../core/hash.ts';
import { typeId } from '../../core/id.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge, StoredExport } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { notFound } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { downloadAnswer, notReady } from './download.ts';
import { exportCancelled, exportCreated, exportDeleted } from './events.ts';
import type { ExportJobRequest } from './job.ts';
import { removeExport } from './room.ts';
import { cancel } from '../jobs/cancel.ts';
import { retryAfter } from '../jobs/handlers.ts';
import { byAge, listPage, pageLimit, timeRange } from '../call/pages.ts';
import { fieldError } from '../call/schema.ts';

export const exports: Pick<
  Handlers,
  'createExport' | 'listExports' | 'getExport' | 'cancelExport' | 'deleteExport' | 'downloadExport'
> = {
  async createExport({ body, caller, basePath, idempotency }, services) {
    refuseOther(body);
    const { projectId } = caller.project;
    const { resource, format, filters = {}, includeProof = false } = body;
    // read before the append, so that the export ends before the event that records it
    const { size, root } = await services.store.head(projectId, 'audit');
    const createdMs = services.now();
    const exported = {
      exportId: typeId('exp', createdMs, services.randomBytes(10)),
      projectId,
      jobId: typeId('job', createdMs, services.randomBytes(10)),
      resource,
      format,
      filters: canonicalize(filters as Json), // a parsed body is JSON
      includeProof,
      treeSize: size,
      createdMs,
    };
    const { exportId, jobId } = exported;
    const [newest] = resource === 'jobs' ? await services.store.jobs(projectId, {}, { limit: 1 }) : [];
    const jobsUntilMs = Math.max(createdMs, newest?.createdMs ?? 0);
    const request: ExportJobRequest = { rootHash: root.toString('base64'), jobsUntilMs };
    const answer = {
      status: 202,
      body: { exportId, resource, format, status: 'pending', createdAt: formatTimestamp(createdMs) },
      headers: { location: `${basePath}/exports/${exportId}`, ...retryAfter },
    } as const;
    const queued = { jobId, type: 'export', runId: '', resultId: exportId, createdMs } as const;
    const stored = await append(services, {
      projectId,
      leaves: [exportCreated(exported, { salt: services.salt, by: caller })],
      effects: [
        { kind: 'createExport', most: services.exports.most, exported },
        { kind: 'enqueueJob', job: { ...queued, request: JSON.stringify(request) } },
      ],
      ...idempotencyWrite(idempotency, answer),
    });
    if ('replayed' in stored) return stored;
    services.wakeJobs();
    return answer;
  },

  async listExports({ query, caller }, services) {
    const { projectId } = caller.project;
    const { resource, status, cursor } = query;
    const filter = {
      ...(resource === undefined ? {} : { resource }),
      ...(status === undefined ? {} : { status }),
    };
    const atMs = services.now();
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'exports', projectId, filters: filter },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: ByAge; limit: number }) =>
        services.store.exports(projectId, { ...filter, atMs }, page),
      position: ({ createdMs, exportId }) => byAge(createdMs, exportId),
    });
    return { status: 200, body: { data: rows.map(exportBody), nextCursor } };
  },

  async getExport({ params, caller }, { store, now }) {
    const exported = await store.exported(caller.project.projectId, params.exportId, now());
    if (exported === null) throw notFound('export');
    return { ...exportAnswer(exported), ...(isOpen(exported.status) ? { headers: retryAfter } : {}) };
  },

  /** The worker removes what it wrote when it stops; after a crash, the sweep does. */
  cancelExport(call, services) {
    const { params, caller } = call;
    const { store, now, salt } = services;
    return cancel(call, services, {
      find: async () => {
        const exported = await store.exported(caller.project.projectId, params.exportId, now());
        if (exported === null) throw notFound('export');
        return exported;
      },
      event: (exported, nowMs) => exportCancelled(exported, { nowMs, salt, by: caller }),
      cancelled: (exported) => ({ ...exported, status: 'cancelled' }),
      answer: exportAnswer,
      refusal: ({ exportId, status }) =>
        `expected an export that has not ended, got ${exportId}, which is ${status}; ` +
        (status === 'completed'
          ? 'delete its file with DELETE /exports/{exportId}'
          : 'there is nothing to stop'),
    });
  },

  /** After a crash between the event and the removal, the client deletes it again. */
  async deleteExport({ params, caller }, services) {
    const { store, now, salt, fingerprint } = services;
    const { projectId } = caller.project;
    const { exportId } = params;
    const exported = await store.exported(projectId, exportId, now());
    if (exported === null) throw notFound('export');
    if (isOpen(exported.status)) throw notReady(exported);
    if (exported.status === 'completed') {
      const nowMs = now();
      const event = exportDeleted(exported, { nowMs, salt, by: caller });
      const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
      await append(services, { projectId, leaves: [event], fingerprints });
      await store.expireExport(projectId, exportId, nowMs);
    }
    await removeExport(services, exported);
    return { status: 204, body: null };
  },

  async downloadExport({ params, caller, conditions }, services) {
    const exported = await services.store.exported(caller.project.projectId, params.exportId, services.now());
    if (exported === null) throw notFound('export');
    return downloadAnswer(services, { exported, caller, conditions });
  },
};

function refuse(pointer: string, detail: string): never {
  throw fieldError({ pointer, in: 'body', code: 'NOT_ALLOWED', detail });
}

/** VALIDATION_ERROR for members that do not fit together (contract K2). */
function refuseOther({ resource, format, filters = {}, includeProof = false }: ExportInput): void {
  if (resource === 'causal_graphs' && format === 'csv') {
    refuse('/format', 'expected json for causal_graphs, which have no columns');
  }
  if (includeProof && format === 'csv') refuse('/includeProof', 'expected it with json alone, got csv');
  if (includeProof && resource === 'jobs') {
    refuse('/includeProof', 'expected a logged resource, got jobs, whose state changes');
  }
  refuseFilters(resource, filters);
}

function refuseFilters(resource: ExportInput['resource'], filters: ExportFilters): void {
  const { eventType, status, startTime, endTime } = filters;
  if (eventType !== undefined && resource !== 'audit_events') {
    refuse('/filters/eventType', `expected it with audit_events alone, got ${resource}`);
  }
  if (status !== undefined && resource !== 'jobs' && resource !== 'replays') {
    refuse('/filters/status', `expected it with jobs and replays alone, got ${resource}`);
  }
  const known: readonly string[] = resource === 'jobs' ? jobStatuses : ['completed'];
  if (status !== undefined && !known.includes(status)) {
    refuse('/filters/status', `expected one of ${known.join(', ')} for ${resource}, got ${status}`);
  }
  if (resource === 'causal_graphs' && (startTime ?? endTime) !== undefined) {
    refuse('/filters', 'expected no times for causal_graphs: the export has the newest graph of each run');
  }
  timeRange(filters, 'body');
}

const exportAnswer = (exported: StoredExport) => ({ status: 200, body: exportBody(exported) }) as const;

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

function exportBody(exported: StoredExport): ExportJob {
  const { exportId, resource, format, status, createdMs, includeProof, startedMs, errorSummary, done } =
    exported;
  return {
    exportId,
    resource,
    format,
    status,
    createdAt: formatTimestamp(createdMs),
    // the service wrote both itself
    filters: JSON.parse(exported.filters) as ExportFilters,
    includeProof,
    rowCount: done?.rowCount ?? null,
    sizeBytes: done?.sizeBytes ?? null,
    sha256: done === null ? null : hashText(done.digest),
    startedAt: time(startedMs),
    completedAt: time(done?.completedMs ?? null),
    expiresAt: time(done?.expiresMs ?? null),
    errorSummary: done === null ? errorSummary : null,
    manifest: done === null ? null : (JSON.parse(done.manifest) as ExportManifest),
  };
}
