/**
 * Handlers of the history of messages, and redelivery (contract N5). Proven by
 * `test/service/webhooks/history.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { typeId } from '../../core/id.ts';
import type { ByAge, StoredDocument } from '../../store/port/store.ts';
import { notFound } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';
import { byAge, pageLimit } from '../call/pages.ts';
import { append } from '../writes/append.ts';
import { calledLane, endpointKind, isEnabled, laneKind } from './endpoint.ts';
import { deliveryBody, deliveryData, deliveryKind, newDelivery } from './message.ts';

/** Messages that one request reads, at most, to find those of a kind. */
const mostRead = 5000;
const readAtOnce = 500;

export const history: Pick<Handlers, 'listWebhookDeliveries' | 'getWebhookDelivery' | 'redeliverWebhook'> = {
  /** With a kind of events, a page may be short although more follow. */
  async listWebhookDeliveries({ query, caller }, { store, cursors, now }) {
    const { projectId } = caller.project;
    const { endpointId: parentId, eventType, status, cursor } = query;
    const limit = pageLimit(query.limit, limits.pageDefault, limits.pageMax);
    const scope = {
      list: 'webhookDeliveries',
      projectId,
      filters: { endpointId: parentId, eventType, status },
    };
    const filter = {
      kind: deliveryKind,
      ...(parentId === undefined ? {} : { parentId }),
      ...(status === undefined ? {} : { status }),
    };
    const fromMs = now() - limits.webhookHistoryDays * 86_400_000;
    // a cursor opens only for its own list, so it has this list's kind of position
    let after = cursor === undefined ? undefined : (cursors.open(scope, cursor) as ByAge);
    const rows: StoredDocument[] = [];
    for (let read = 0; ;) {
      const wanted = eventType === undefined ? limit + 1 - rows.length : readAtOnce;
      const page = { limit: wanted, ...(after === undefined ? {} : { after }) };
      const found = (await store.documents(projectId, filter, page)).filter(
        ({ createdMs }) => createdMs >= fromMs,
      );
      for (const row of found) {
        if (rows.length === limit)
          return { status: 200, body: pageOf(rows, cursors.seal(scope, positionOf(after))) };
        after = byAge(row.createdMs, row.documentId);
        if (eventType === undefined || deliveryData(row).type === eventType) rows.push(row);
      }
      read += found.length;
      if (found.length < wanted || after === undefined) return { status: 200, body: pageOf(rows, null) };
      if (read >= mostRead) return { status: 200, body: pageOf(rows, cursors.seal(scope, after)) };
    }
  },

  async getWebhookDelivery({ params, caller }, { store }) {
    const found = await store.document(caller.project.projectId, deliveryKind, params.webhookDeliveryId);
    if (found === null) throw notFound('webhook delivery');
    return { status: 200, body: deliveryBody(found) };
  },

  async redeliverWebhook({ params, caller, basePath, idempotency }, services) {
    const { store, now, randomBytes } = services;
    const { projectId } = caller.project;
    const found = await store.document(projectId, deliveryKind, params.webhookDeliveryId);
    if (found === null) throw notFound('webhook delivery');
    const endpointId = found.parentId ?? '';
    return untilStored(`the deliveries of ${endpointId}`, async () => {
      const [endpoint, lane] = await Promise.all([
        store.document(projectId, endpointKind, endpointId),
        store.document(projectId, laneKind, endpointId),
      ]);
      if (endpoint === null || lane === null || !isEnabled(endpoint)) {
        const detail = `expected an enabled endpoint ${endpointId}, got one that is disabled or deleted; enable it first`;
        throw new GovError('CONFLICT', detail);
      }
      const nowMs = now();
      const { eventId, type, payload } = deliveryData(found);
      const deliveryId = typeId('dlv', nowMs, randomBytes(10));
      const made = newDelivery({ deliveryId, endpointId, eventId, type, payload, redelivery: true }, nowMs);
      const [first] = made;
      if (first === undefined || !('save' in first)) throw new Error('expected a delivery first');
      const location = `${basePath}/webhooks/deliveries/${deliveryId}`;
      const body = deliveryBody({ projectId, ...first.save });
      const answer = { status: 202, body, headers: { location } } as const;
      const saved = append(services, {
        projectId,
        leaves: [],
        effects: [{ kind: 'saveDocuments', changes: [...made, calledLane(lane, nowMs)] }],
        ...idempotencyWrite(idempotency, answer),
      });
      const stored = await unlessOvertaken(saved, 'PRECONDITION_FAILED');
      if (stored === null) return null;
      services.webhooks.wake();
      return 'replayed' in stored ? stored : answer;
    });
  },
};

const pageOf = (rows: readonly StoredDocument[], nextCursor: string | null) => ({
  data: rows.map(deliveryBody),
  nextCursor,
});

const positionOf = (after: ByAge | undefined): ByAge => {
  if (after === undefined) throw new Error('expected a row before the end of a full page');
  return after;
};
