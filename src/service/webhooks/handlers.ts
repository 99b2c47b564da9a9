/**
 * Handlers of webhook endpoints (contract N4): create, list, change, delete, new secret, test. Documents and system
 * event of a change are one append, judged by the stored versions. Proven by
 * `test/service/webhooks/handlers.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { testEventKind } from '../../contract/webhook-events.ts';
import { typeId } from '../../core/id.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { AppendRequest, DocumentChange, StoredDocument } from '../../store/port/store.ts';
import { notFound, type ReplayedResponse } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { requireTag } from '../call/entity-tag.ts';
import { sealedWrite } from '../call/idempotency.ts';
import { keepAnswer } from '../writes/keep-answer.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { fieldError, refuseReadOnly } from '../call/schema.ts';
import { eventsFault } from '../call/settings.ts';
import { isMasked } from '../outbox/masked.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { newCursor } from '../outbox/follow.ts';
import { outcomeOf, send } from './attempt.ts';
import {
  calledLane,
  changedEndpoint,
  endpointBody,
  endpointData,
  endpointKind,
  isEnabled,
  laneKind,
  newEndpoint,
  newKeys,
  restedLane,
  sealedUrl,
  signingOf,
  type EndpointData,
} from './endpoint.ts';
import { endpointChanged } from './events.ts';
import { cursorId, cursorKind } from './following.ts';
import { deliveryBody, deliveryDocument, type DeliveryData } from './message.ts';
import { withoutProject } from './stored.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';

const noStore = { 'cache-control': 'no-store' } as const;

export const endpoints: Pick<
  Handlers,
  | 'createWebhookEndpoint'
  | 'listWebhookEndpoints'
  | 'getWebhookEndpoint'
  | 'updateWebhookEndpoint'
  | 'deleteWebhookEndpoint'
  | 'rotateWebhookSecret'
  | 'testWebhookEndpoint'
> = {
  async createWebhookEndpoint({ body, caller, basePath, idempotency }, services) {
    const { store, now, randomBytes, seal, salt } = services;
    const { projectId } = caller.project;
    const defaults = caller.rules.settings.webhookDefaults;
    const { url, events = defaults.events ?? ['*'], enabled = defaults.enabled ?? true } = body;
    refuseAddress(services, url);
    refuseEvents(body.events);
    const made = await judged(
      async () => {
        const nowMs = now();
        const { keys, shown } = newKeys(body.signing ?? 'v1', services);
        const endpointId = typeId('whe', nowMs, randomBytes(10));
        const [{ size }, cursor] = await Promise.all([
          store.head(projectId, 'audit'),
          store.document(projectId, cursorKind, cursorId),
        ]);
        const data: EndpointData = {
          ...sealedUrl(url, seal),
          events,
          description: body.description ?? defaults.description ?? '',
          updatedMs: nowMs,
          ...keys,
          previous: null,
          disabledReason: null,
          fromIndex: size,
        };
        const document = { projectId, kind: endpointKind, documentId: endpointId, createdMs: nowMs };
        const stored = { ...document, status: enabled ? 'enabled' : 'disabled', data: JSON.stringify(data) };
        const endpoint = endpointBody(stored, null, nowMs);
        const location = `${basePath}/webhooks/endpoints/${endpointId}`;
        const answer = {
          status: 201,
          body: { secret: shown, endpoint },
          headers: { ...noStore, location },
        } as const;
        return {
          answer,
          request: {
            leaves: [endpointChanged('created', { endpointId, data, enabled }, { nowMs, salt, by: caller })],
            changes: [
              ...newEndpoint(endpointId, { data, enabled, nowMs, most: limits.webhookEndpoints }),
              // also where one exists, so that a deletion of the last endpoint does not remove it at the same time
              cursor === null ? newCursor(cursorKind, cursorId, { next: size, nowMs }) : touched(cursor),
            ],
            ...sealedWrite(idempotency, answer, services),
          },
        };
      },
      { services, caller },
    );
    services.webhooks.follow(projectId);
    return made;
  },

  async listWebhookEndpoints({ query, caller }, services) {
    const { projectId } = caller.project;
    const { store } = services;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'webhookEndpoints', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof store.documents>[2]) =>
        store.documents(projectId, { kind: endpointKind }, page),
      position: ({ createdMs, documentId }) => byAge(createdMs, documentId),
    });
    const data = await Promise.all(
      rows.map(async (row) =>
        endpointBody(row, await store.document(projectId, laneKind, row.documentId), services.now()),
      ),
    );
    return { status: 200, body: { data, nextCursor } };
  },

  async getWebhookEndpoint({ params, caller }, { store, now }) {
    const { endpoint, lane } = await endpointOf(store, caller, params.endpointId);
    return { status: 200, body: endpointBody(endpoint, lane, now()) };
  },

  async updateWebhookEndpoint({ params, body, caller, ifMatch }, services) {
    const { store, now, salt, seal } = services;
    const { endpointId } = params;
    const { url, events, enabled, description, ...readOnly } = body;
    refuseEvents(events);
    return judged(
      async () => {
        const nowMs = now();
        const { endpoint, lane } = await endpointOf(store, caller, endpointId);
        const shown = endpointBody(endpoint, lane, nowMs);
        requireTag(ifMatch, shown, 'the endpoint');
        refuseReadOnly(readOnly, shown);
        const before = endpointData(endpoint);
        // the masked address of an answer changes nothing
        const isOther = url !== undefined && url !== shown.url;
        if (isOther) refuseAddress(services, url);
        const address = isOther ? sealedUrl(url, seal) : null;
        const isOn = enabled ?? isEnabled(endpoint);
        const data: EndpointData = {
          ...before,
          ...address,
          events: events ?? before.events,
          description: description ?? before.description,
          updatedMs: nowMs,
          disabledReason: isOn ? null : before.disabledReason,
        };
        // an address, or another try: past failures do not count
        const isFresh = (isOn && !isEnabled(endpoint)) || address !== null;
        const after = { ...endpoint, status: isOn ? 'enabled' : 'disabled', data: JSON.stringify(data) };
        const changes = [changedEndpoint(endpoint, data, isOn)];
        if (lane !== null) changes.push(isFresh ? restedLane(lane, nowMs) : calledLane(lane, nowMs));
        return {
          answer: { status: 200, body: endpointBody(after, isFresh ? null : lane, nowMs) } as const,
          request: {
            leaves: [
              endpointChanged('updated', { endpointId, data, enabled: isOn }, { nowMs, salt, by: caller }),
            ],
            changes,
          },
        };
      },
      { services, caller },
    );
  },

  async deleteWebhookEndpoint({ params, caller, ifMatch }, services) {
    const { store, now, salt } = services;
    const { endpointId } = params;
    const { projectId } = caller.project;
    const deleted = await judged(
      async () => {
        const nowMs = now();
        const { endpoint, lane } = await endpointOf(store, caller, endpointId);
        requireTag(ifMatch, endpointBody(endpoint, lane, nowMs), 'the endpoint');
        const [others, cursor] = await Promise.all([
          store.documents(projectId, { kind: endpointKind }, { limit: 2 }),
          store.document(projectId, cursorKind, cursorId),
        ]);
        const isLast = others.every(({ documentId }) => documentId === endpointId);
        const told = { endpointId, data: endpointData(endpoint), enabled: isEnabled(endpoint) };
        return {
          answer: { status: 204, body: null } as const,
          request: {
            leaves: [endpointChanged('deleted', told, { nowMs, salt, by: caller })],
            changes: [
              removed(endpoint),
              // a worker cancels what waits, then removes the lane
              ...(lane === null ? [] : [calledLane(lane, nowMs)]),
              ...(cursor === null ? [] : [isLast ? removed(cursor) : touched(cursor)]),
            ],
          },
        };
      },
      { services, caller },
    );
    services.webhooks.wake();
    return deleted;
  },

  async rotateWebhookSecret({ params, query, caller, basePath, idempotency }, services) {
    const { store, now, salt } = services;
    const { endpointId } = params;
    const { overlapSeconds = limits.webhookOverlapSeconds } = query;
    return judged(
      async () => {
        const nowMs = now();
        const { endpoint, lane } = await endpointOf(store, caller, endpointId);
        const before = endpointData(endpoint);
        if (overlapSeconds > 0) refuseThirdSecret(before, nowMs);
        const { publicKey, ...others } = before;
        const { keys, shown } = newKeys(query.signing ?? signingOf(before), services);
        const old = { secret: before.secret, ...(publicKey === undefined ? {} : { publicKey }) };
        const untilMs = nowMs + overlapSeconds * 1000;
        const previous = overlapSeconds === 0 ? null : { ...old, untilMs };
        const data: EndpointData = { ...others, ...keys, updatedMs: nowMs, previous };
        const enabled = isEnabled(endpoint);
        const after = endpointBody({ ...endpoint, data: JSON.stringify(data) }, lane, nowMs);
        const headers = { ...noStore, location: `${basePath}/webhooks/endpoints/${endpointId}` };
        const answer = { status: 201, body: { secret: shown, endpoint: after }, headers } as const;
        return {
          answer,
          request: {
            leaves: [endpointChanged('rotated', { endpointId, data, enabled }, { nowMs, salt, by: caller })],
            changes: [changedEndpoint(endpoint, data, enabled)],
            ...sealedWrite(idempotency, answer, services),
          },
        };
      },
      { services, caller },
    );
  },

  /** One test of an endpoint at a time. Its outcome is in the history, and is not repeated. */
  async testWebhookEndpoint({ params, caller, idempotency }, services) {
    const { store, now, randomBytes } = services;
    const { endpointId } = params;
    const { projectId } = caller.project;
    const answer = await services.runs.inTurn({ projectId, runId: `webhooks/${endpointId}` }, async () => {
      const { endpoint } = await endpointOf(store, caller, endpointId);
      const nowMs = now();
      const { size } = await store.head(projectId, 'audit');
      const data = { projectId, sequence: size };
      const payload = { type: testEventKind, timestamp: formatTimestamp(nowMs), data };
      const before: DeliveryData = {
        eventId: typeId('msg', nowMs, randomBytes(10)),
        type: testEventKind,
        payload: JSON.stringify(payload),
        attempt: 0,
        statusCode: null,
        durationMs: null,
        redelivery: false,
        attemptedMs: null,
        nextMs: null,
        error: null,
      };
      const got = await send(services, before, endpointData(endpoint), limits.webhookTestSeconds);
      const { data: after } = outcomeOf(before, got, { nowMs: now(), createdMs: nowMs, random: 0.5 });
      const deliveryId = typeId('dlv', nowMs, randomBytes(10));
      const status = got.ok ? 'delivered' : 'failed';
      const sent = { ...after, nextMs: null };
      const document = deliveryDocument({ deliveryId, endpointId, data: sent, status, nowMs });
      await store.saveDocuments(projectId, [{ save: document }]);
      return { status: 200, body: deliveryBody({ projectId, ...document }) } as const;
    });
    return keepAnswer({ caller, idempotency }, services, answer);
  },
};

interface Judgement<Answer> {
  readonly answer: Answer;
  readonly request: Pick<AppendRequest, 'leaves' | 'idempotency'> & { readonly changes: DocumentChange[] };
}

/** Appends the judgement, again where a document changed meanwhile. */
function judged<Answer extends object>(
  judge: () => Promise<Judgement<Answer>>,
  { services, caller }: { readonly services: Services; readonly caller: Caller },
): Promise<Answer | ReplayedResponse> {
  const { projectId } = caller.project;
  // each change of an endpoint also changes the cursor of the project
  return services.runs.inTurn({ projectId, runId: 'webhooks/' }, () =>
    untilStored('the webhooks of the project', async () => {
      const { answer, request } = await judge();
      const { changes, ...rest } = request;
      const effects = [{ kind: 'saveDocuments', changes }] as const;
      const appending = append(
        services,
        { ...rest, projectId, effects },
        { by: { caller, scopes: ['webhooks:write'] } },
      );
      const stored = await unlessOvertaken(appending, 'PRECONDITION_FAILED');
      if (stored === null) return null;
      return 'replayed' in stored ? stored : answer;
    }),
  );
}

/** NOT_FOUND. */
async function endpointOf(
  store: Services['store'],
  { project }: Caller,
  endpointId: string,
): Promise<{ readonly endpoint: StoredDocument; readonly lane: StoredDocument | null }> {
  const [endpoint, lane] = await Promise.all([
    store.document(project.projectId, endpointKind, endpointId),
    store.document(project.projectId, laneKind, endpointId),
  ]);
  if (endpoint === null) throw notFound('webhook endpoint');
  return { endpoint, lane };
}

/** VALIDATION_ERROR for an address that can be refused before its name is looked up. */
function refuseAddress({ outbound }: Services, url: string): void {
  const refused = isMasked(url)
    ? 'expected the whole address, got the masked one of an answer'
    : (outbound.refusal?.(url) ?? null);
  if (refused === null) return;
  throw fieldError({ pointer: '/url', in: 'body', code: 'NOT_ALLOWED', detail: refused });
}

/** VALIDATION_ERROR for `*` beside kinds. */
function refuseEvents(events: readonly string[] | undefined): void {
  const detail = eventsFault(events);
  if (detail === null) return;
  throw fieldError({ pointer: '/events', in: 'body', code: 'NOT_ALLOWED', detail });
}

/** CONFLICT where a third secret would end the oldest one before its time. */
function refuseThirdSecret({ previous }: EndpointData, nowMs: number): void {
  if (previous === null || previous.untilMs <= nowMs) return;
  throw new GovError(
    'CONFLICT',
    `expected no earlier rotation that still overlaps, got one until ${formatTimestamp(previous.untilMs)}; repeat after it, or end both old secrets now with overlapSeconds=0`,
    { transient: true },
  );
}

const removed = ({ kind, documentId, version }: StoredDocument): DocumentChange => ({
  remove: { kind, documentId, version },
});
const touched = (stored: StoredDocument): DocumentChange => ({ save: withoutProject(stored) });
