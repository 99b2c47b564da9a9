/**
 * Handlers of Audit Events (contract E1-E16): record one, record many, read, count, list runs. Proven by
 * `test/service/events/handlers.engines.test.ts`.
 */
import type { AuditEvent, Run } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { eventIndex } from '../../core/id.ts';
import { openEvent, systemRun } from '../../core/events/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { RunSummary } from '../../store/port/store.ts';
import type { Leaf } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { Erasures, lostFields } from '../erased/fields.ts';
import { acceptedOf, judgeAll, recordingOf } from './batch.ts';
import { judgeEvent } from './judge.ts';
import { recordEvents } from './judged.ts';
import { listPage, pageLimit, timeRange } from '../call/pages.ts';
import { batchTemplate, createdTemplate, recordedAnswer } from './recorded.ts';
import { fieldError } from '../call/schema.ts';
import type { Slice } from '../call/slices.ts';

export const events: Pick<
  Handlers,
  'createEvent' | 'createEvents' | 'listEvents' | 'countEvents' | 'getEvent' | 'listRuns'
> = {
  async createEvent({ body, caller, basePath, idempotency }, services) {
    const response = createdTemplate(body.runId, basePath);
    const judge = (by: Caller) => {
      const judged = judgeEvent(body, services, recordingOf(by, services));
      if ('fault' in judged) throw fieldError(judged.fault);
      const accepted = { ...acceptedOf([judged]), whole: true };
      return idempotency === null ? accepted : { ...accepted, idempotency: { ...idempotency, response } };
    };
    const first = judge(caller);
    const stored = await recordEvents(services, caller, (by) => (by === caller ? first : judge(by)));
    return 'replayed' in stored ? stored : recordedAnswer(response, stored.assigned);
  },

  async createEvents({ body, caller, idempotency }, services) {
    const results = await judgeAll(body.events, services, caller);
    let response = batchTemplate(results);
    const accepted = acceptedOf(results);
    const { leaves } = accepted;
    if (leaves.length === 0 && idempotency === null) return recordedAnswer(response, []);
    const kept = () => (idempotency === null ? {} : { idempotency: { ...idempotency, response } });
    const { projectId } = caller.project;
    const stored =
      leaves.length === 0
        ? await append(services, { projectId, leaves, ...kept() })
        : await recordEvents(services, caller, async (by) => {
            if (by === caller) return { ...accepted, ...kept() };
            const again = await judgeAll(body.events, services, by);
            response = batchTemplate(again);
            return { ...acceptedOf(again), ...kept() };
          });
    return 'replayed' in stored ? stored : recordedAnswer(response, stored.assigned);
  },

  async listEvents({ query, caller }, services) {
    const { projectId } = caller.project;
    const { runId, eventType, order = 'asc', cursor } = query;
    const filter = { runId, ...(eventType === undefined ? {} : { eventType }), ...timeRange(query) };
    const scope = { list: 'events', projectId, filters: { ...filter, order } };
    const limit = pageLimit(query.limit, limits.eventPageDefault, limits.eventPageMax);
    const opened = cursor === undefined ? undefined : services.cursors.open(scope, cursor);
    const erasures = new Erasures(services.store, projectId);
    // pruned events are in an archive; events of the system run are never pruned
    const fromIndex = runId === systemRun ? 0 : await services.store.prunedBelow(projectId);
    const page = await readEvents(limit, services.slices.of(projectId), {
      require: (leaf) => erasures.require(leaf),
      after: typeof opened === 'number' ? opened : undefined,
      read: (range) => services.store.events(projectId, filter, { ...range, order, fromIndex }),
    });
    const nextCursor = page.last === null ? null : services.cursors.seal(scope, page.last);
    return { status: 200, body: { events: page.events, nextCursor } };
  },

  async countEvents({ query, caller }, { store }) {
    const { runId, eventType } = query;
    const count = await store.countEvents(caller.project.projectId, {
      ...(runId === undefined ? {} : { runId }),
      ...(eventType === undefined ? {} : { eventType }),
      ...timeRange(query),
    });
    return { status: 200, body: { count } };
  },

  async getEvent({ params, caller }, { store }) {
    const index = eventIndex(params.eventId);
    const leaf = index === null ? null : await store.leaf(caller.project.projectId, index);
    const event = leaf === null ? null : openLeaf(leaf);
    if (leaf === null || event === null || event.eventId !== params.eventId) throw notFound('event');
    if (leaf.erased !== undefined) await new Erasures(store, caller.project.projectId).require(leaf);
    return { status: 200, body: event };
  },

  async listRuns({ query, caller }, services) {
    const { projectId } = caller.project;
    const { eventType, aiSystemId, cursor } = query;
    const filter = {
      ...(eventType === undefined ? {} : { eventType }),
      ...(aiSystemId === undefined ? {} : { aiSystemId }),
      ...timeRange(query),
    };
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'runs', projectId, filters: filter },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.runs>[2]) => services.store.runs(projectId, filter, page),
      position: (run) => run.no,
    });
    return { status: 200, body: { data: rows.map(runBody), nextCursor } };
  },
};

const chunkEvents = 100;

/**
 * Up to `limit` events, fewer beyond `limits.pageBytes`. Reads in chunks, so that memory never holds a whole
 * page of large events. `last`: the index to continue after, or null at the end.
 */
async function readEvents(
  limit: number,
  slice: Slice,
  list: {
    after: number | undefined;
    read: (page: { after?: number; limit: number }) => Promise<Leaf[]>;
    /** Checks an event with erased fields. */
    require: (leaf: Leaf) => Promise<void>;
  },
): Promise<{ events: AuditEvent[]; last: number | null }> {
  const events: AuditEvent[] = [];
  let { after } = list;
  let bytes = 0;
  for (;;) {
    if (slice.isOver()) await slice.next();
    const wanted = Math.min(chunkEvents, limit - events.length) + 1;
    const leaves = await list.read({ ...(after === undefined ? {} : { after }), limit: wanted });
    for (const leaf of leaves.slice(0, wanted - 1)) {
      const event = openLeaf(leaf);
      if (leaf.erased !== undefined) await list.require(leaf);
      if (event === null)
        throw new GovError('STORAGE_FAULT', `expected the event at leaf ${leaf.index}, got another leaf`);
      events.push(event);
      after = leaf.index;
      bytes += leaf.record.length + (leaf.disclosures?.length ?? 0);
      if (bytes > limits.pageBytes) break;
    }
    const more = leaves.length === wanted || bytes > limits.pageBytes;
    if (!more) return { events, last: null };
    if (events.length >= limit || bytes > limits.pageBytes) return { events, last: after ?? null };
  }
}

/**
 * The event in a leaf, or null for a leaf of another type. STORAGE_FAULT where a field is missing that the
 * leaf does not list as erased.
 */
export function openLeaf({ index, record, disclosures, erased }: Leaf): AuditEvent | null {
  if (!record.endsWith('"type":"gov.event/1"}')) return null;
  const event = openEvent(index, record, disclosures ?? '[]', erased ?? null);
  if (event.erased?.some(({ sequence }) => sequence < 0) !== true) return event;
  throw lostFields(index, 'a field that was not erased');
}

const runBody = (run: RunSummary): Run => ({
  runId: run.runId,
  events: run.events,
  firstTimestamp: formatTimestamp(run.firstTimestampMs),
  lastTimestamp: formatTimestamp(run.lastTimestampMs),
  lastServerTimestamp: formatTimestamp(run.lastServerMs),
  aiSystemId: run.aiSystemId,
  sealed: run.sealed,
  proofs: run.proofs,
  lastDecision: run.lastDecision,
});
