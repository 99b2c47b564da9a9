/**
 * Handlers of deliveries (contract L9): list, show, send again. `due.ts` sends them. Proven by
 * `test/service/reports/deliveries/due.test.ts`.
 */
import type { ListedDelivery } from '../../../contract/report-deliveries.ts';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { ByAge, StoredDocument } from '../../../store/port/store.ts';
import { notFound } from '../../call/answer.ts';
import type { Caller } from '../../call/caller.ts';
import type { Handlers } from '../../port/handler.ts';
import { idempotencyWrite } from '../../call/idempotency.ts';
import { byAge, listPage, pageLimit } from '../../call/pages.ts';
import type { Services } from '../../port/services.ts';
import { append } from '../../writes/append.ts';
import { statusOf } from '../body.ts';
import { requireReporting } from '../entitlement.ts';
import { dataOf, reportKind, type StoredReport } from '../stored.ts';
import { deliveryBody, deliveryKind, type StoredDelivery } from './document.ts';
import { deliveryRetried } from './events.ts';

export const reportDeliveries: Pick<
  Handlers,
  'listReportDeliveries' | 'getReportDelivery' | 'retryReportDelivery'
> = {
  async listReportDeliveries({ query, caller }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { status, executionId, cursor } = query;
    const filter = {
      kind: deliveryKind,
      ...(status === undefined ? {} : { status }),
      ...(executionId === undefined ? {} : { parentId: executionId }),
    };
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'report-deliveries', projectId, filters: { status, executionId } },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: ByAge; limit: number }) => services.store.documents(projectId, filter, page),
      position: ({ createdMs, documentId }) => byAge(createdMs, documentId),
    });
    return { status: 200, body: { data: rows.map(listed), nextCursor } };
  },

  async getReportDelivery({ params, caller }, services) {
    await requireReporting(services, caller.project);
    return { status: 200, body: listed(await find(services, caller, params.deliveryId)) };
  },

  /** Starts over with all attempts. A delivered one is never sent again: its id stands for one message. */
  async retryReportDelivery({ params, caller, basePath, idempotency }, services) {
    await requireReporting(services, caller.project);
    const { now, salt } = services;
    const { projectId } = caller.project;
    const nowMs = now();
    const found = await find(services, caller, params.deliveryId);
    await requireRetryable(services, found, nowMs);
    const before = dataOf<StoredDelivery>(found);
    const delivery: StoredDelivery = { ...before, attempts: 0, errorSummary: null };
    const document = { ...found, status: 'pending', dueMs: nowMs, data: JSON.stringify(delivery) };
    const answer = {
      status: 202,
      body: listed(document),
      headers: { location: `${basePath}/reporting/deliveries/${found.documentId}` },
    } as const;
    const { projectId: _own, ...save } = document;
    const of = { deliveryId: found.documentId, executionId: found.parentId ?? '', delivery: before };
    const outcome = await append(services, {
      projectId,
      leaves: [deliveryRetried(of, { nowMs, salt, by: caller })],
      effects: [{ kind: 'saveDocuments', changes: [{ save }] }],
      ...idempotencyWrite(idempotency, answer),
    }).catch((error: unknown) => {
      if (!(error instanceof GovError) || error.code !== 'PRECONDITION_FAILED') throw error;
      throw new GovError('CONFLICT', 'expected a failed delivery, but somebody retries it already', {
        cause: error,
      });
    });
    services.wakeScheduler();
    return 'replayed' in outcome ? outcome : answer;
  },
};

function listed(document: StoredDocument): ListedDelivery {
  return {
    ...deliveryBody(document),
    executionId: document.parentId ?? '',
    createdAt: formatTimestamp(document.createdMs),
  };
}

async function find({ store }: Services, { project }: Caller, deliveryId: string): Promise<StoredDocument> {
  const found = await store.document(project.projectId, deliveryKind, deliveryId);
  if (found === null) throw notFound('delivery');
  return found;
}

/** CONFLICT. */
async function requireRetryable({ store }: Services, found: StoredDocument, nowMs: number): Promise<void> {
  const { status, projectId, parentId } = found;
  if (status !== 'failed') {
    const how = status === 'delivered' ? '; create the report again to send it once more' : '';
    throw new GovError('CONFLICT', `expected a failed delivery, got one that is ${status}${how}`);
  }
  const report = await store.document(projectId, reportKind, parentId ?? '');
  if (report !== null && statusOf(report, dataOf<StoredReport>(report), nowMs) === 'completed') return;
  throw new GovError(
    'CONFLICT',
    'expected a report whose artifacts exist, but they have expired; create it again',
  );
}
