/**
 * Handlers of reports (contract L1-L7): create, list, show, download. `build.ts` makes the artifacts. Proven
 * by `test/service/reports/handlers.test.ts`.
 */
import type { ReportData, ReportSignature } from '../../contract/report-parts.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { ByAge, StoredDocument } from '../../store/port/store.ts';
import type { Handlers } from '../port/handler.ts';
import { byAge, pageLimit, sizedPage } from '../call/pages.ts';
import { deliveryBody, deliveryKind } from './deliveries/document.ts';
import type { Services } from '../port/services.ts';
import { retryAfter } from '../jobs/handlers.ts';
import { artifactAnswer, completeArtifact, findReport, gone, isExpired } from './artifact.ts';
import { executionBody, statusOf } from './body.ts';
import { requireReporting } from './entitlement.ts';
import { queueAsked } from './queue.ts';
import { recordDownload } from './record.ts';
import { dataOf, reportKind, type StoredReport } from './stored.ts';

export const reports: Pick<
  Handlers,
  'createExecution' | 'listExecutions' | 'getExecution' | 'downloadReport'
> = {
  async createExecution({ body, caller, basePath, idempotency }, services) {
    const { projectId } = caller.project;
    const origin = { by: { id: caller.id, type: caller.type } };
    return queueAsked(services, projectId, {
      input: body,
      origin,
      idempotency,
      answerOf: ({ report, deliveries }) => ({
        status: 202 as const,
        body: executionBody(report, {
          deliveries: deliveries.map(deliveryBody),
          nowMs: report.createdMs,
        }),
        headers: { location: `${basePath}/reporting/executions/${report.documentId}`, ...retryAfter },
      }),
    });
  },

  async listExecutions({ query, caller }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { status, reportTemplateId, cursor } = query;
    const nowMs = services.now();
    const { items, nextCursor } = await sizedPage(services, {
      scope: { list: 'reports', projectId, filters: { status, reportTemplateId } },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: ByAge; limit: number }) =>
        matching(services, { projectId, status, reportTemplateId, nowMs }, page),
      position: ({ createdMs, documentId }) => byAge(createdMs, documentId),
      item: async (document) => ({ item: await bodyOf(services, document), bytes: document.data.length }),
    });
    return { status: 200, body: { data: items, nextCursor } };
  },

  async getExecution({ params, query, caller }, services) {
    await requireReporting(services, caller.project);
    const found = await findReport(services, caller.project.projectId, params.executionId);
    const { document, stored } = found;
    if (isExpired(found, services.now())) {
      throw gone('the artifacts of the report have expired; GET /reporting/executions still lists it');
    }
    const body = await bodyOf(services, document);
    const data = query.includeData === true ? { data: await rowsOf(services, document, stored) } : {};
    const isOpen = body.status === 'queued' || body.status === 'processing';
    // this service wrote it
    const signature =
      stored.signature === undefined ? null : (JSON.parse(stored.signature) as ReportSignature);
    return { status: 200, body: { ...body, signature, ...data }, ...(isOpen ? { headers: retryAfter } : {}) };
  },

  async downloadReport({ params, query, caller, conditions }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { executionId } = params;
    const { format } = query;
    const find = async () => {
      const found = await findReport(services, projectId, executionId);
      return { found, complete: completeArtifact(found, format, services.now()) };
    };
    const by = { id: caller.id, type: caller.type };
    return artifactAnswer(services, {
      ...(await find()),
      format,
      conditions,
      begin: () => recordDownload(services, projectId, { executionId, format, by }),
      still: async () => void (await find()),
    });
  },
};

async function bodyOf({ store, now }: Services, document: StoredDocument) {
  const filter = { kind: deliveryKind, parentId: document.documentId };
  const found = await store.documents(document.projectId, filter, { limit: limits.reportDeliveries });
  // as they were requested
  return executionBody(document, { deliveries: found.toReversed().map(deliveryBody), nowMs: now() });
}

interface ReportFilter {
  readonly projectId: string;
  readonly status: string | undefined;
  readonly reportTemplateId: string | undefined;
  readonly nowMs: number;
}

/**
 * The next reports of a list. The store filters by the stored status; template and expiry are in the data, so pages are
 * read until enough reports match. Cost: the reports of the project.
 */
async function matching(
  { store }: Services,
  { projectId, status, reportTemplateId, nowMs }: ReportFilter,
  page: { after?: ByAge; limit: number },
): Promise<StoredDocument[]> {
  const isExact = status !== undefined && status !== 'completed' && status !== 'expired';
  const filter = { kind: reportKind, ...(isExact ? { status } : {}) };
  const found: StoredDocument[] = [];
  for (let { after } = page; ;) {
    const read = await store.documents(projectId, filter, {
      limit: page.limit,
      ...(after === undefined ? {} : { after }),
    });
    for (const document of read) {
      const stored = dataOf<StoredReport>(document);
      if (reportTemplateId !== undefined && stored.reportTemplateId !== reportTemplateId) continue;
      if (status !== undefined && statusOf(document, stored, nowMs) !== status) continue;
      found.push(document);
      if (found.length === page.limit) return found;
    }
    const last = read.at(-1);
    if (read.length < page.limit || last === undefined) return found;
    after = byAge(last.createdMs, last.documentId);
  }
}

/** The first rows; null until the report is complete. NOT_FOUND where they are lost. */
async function rowsOf(
  services: Services,
  { projectId }: StoredDocument,
  { preview: { artifactId, made } }: StoredReport,
): Promise<ReportData | null> {
  if (made === null) return null;
  const parts: Uint8Array[] = [];
  const place = { projectId, exportId: artifactId };
  const range = { from: 0, to: made.sizeBytes };
  try {
    for await (const part of services.exports.artifacts.read(place, made, range)) parts.push(part);
  } catch (error) {
    services.log.error({ err: error, artifactId }, 'the rows of a report cannot be read');
    if (!(error instanceof GovError) || error.code !== 'EXPORT_FAILED') throw error;
    throw new GovError('NOT_FOUND', 'the rows of the report are lost; create it again', { cause: error });
  }
  return JSON.parse(Buffer.concat(parts).toString()) as ReportData; // the task wrote it
}
