/**
 * Messages as documents. A delivery is one event for one endpoint with its last attempt; it is due for removal when its
 * history ends. A turn is a document that names the next attempt, so that the turns of an endpoint can
 * be read by their time, whatever its history holds. Ids follow from leaf, kind and endpoint.
 * Proven by `test/service/webhooks/following.test.ts`.
 */
import { createHash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import type { WebhookPayload } from '../../contract/webhook-events.ts';
import type { WebhookDelivery, WebhookDeliveryStatus } from '../../contract/webhooks.ts';
import { typeId } from '../../core/id.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import type { WebhookOccurrence } from './occurred.ts';
import { withoutProject } from './stored.ts';

export const deliveryKind = 'webhook_delivery';
export const turnKind = 'webhook_turn';

export interface DeliveryData {
  readonly eventId: string;
  readonly type: WebhookPayload['type'];
  /** The body, the same bytes in every attempt. */
  readonly payload: string;
  readonly attempt: number;
  readonly statusCode: number | null;
  readonly durationMs: number | null;
  readonly redelivery: boolean;
  readonly attemptedMs: number | null;
  readonly nextMs: number | null;
  readonly error: string | null;
}

// only this room writes these documents
export const deliveryData = ({ data }: StoredDocument): DeliveryData => JSON.parse(data) as DeliveryData;

const dayMs = 86_400_000;

/** `id.seconds.body` of an event: the same for every endpoint. */
export function eventMessage(
  occurred: WebhookOccurrence,
  projectId: string,
): { eventId: string; payload: string } {
  const { type, index, atMs, data } = occurred;
  const body: WebhookPayload = {
    type,
    timestamp: formatTimestamp(atMs),
    data: { projectId, sequence: index, ...data },
  };
  const payload = JSON.stringify(body);
  if (
    payload.length * 3 > limits.webhookPayloadBytes &&
    Buffer.byteLength(payload) > limits.webhookPayloadBytes
  )
    throw new Error(`expected a payload of ${type} of at most ${limits.webhookPayloadBytes} bytes`);
  return { eventId: typeId('msg', atMs, digest([projectId, index, type])), payload };
}

export const deliveryIdOf = (
  { type, index, atMs }: WebhookOccurrence,
  projectId: string,
  endpointId: string,
): string => typeId('dlv', atMs, digest([projectId, index, type, endpointId]));

const digest = (parts: readonly (string | number)[]): Buffer =>
  createHash('sha256').update(parts.join('\n')).digest();

export interface NewDelivery {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly type: WebhookPayload['type'];
  readonly payload: string;
  readonly redelivery: boolean;
}

/** A new delivery that waits for its first attempt, with its turn. */
export function newDelivery(made: NewDelivery, nowMs: number): DocumentChange[] {
  const { deliveryId, endpointId, ...rest } = made;
  const unsent = { attempt: 0, statusCode: null, durationMs: null, attemptedMs: null, error: null };
  const data: DeliveryData = { ...rest, ...unsent, nextMs: nowMs };
  return [
    { save: deliveryDocument({ deliveryId, endpointId, data, status: 'pending', nowMs }) },
    newTurn({ deliveryId, endpointId, attempt: 1, dueMs: nowMs }),
  ];
}

export const deliveryDocument = ({
  deliveryId,
  endpointId,
  data,
  status,
  nowMs,
}: {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly data: DeliveryData;
  readonly status: WebhookDeliveryStatus;
  readonly nowMs: number;
}): Omit<StoredDocument, 'projectId'> => ({
  kind: deliveryKind,
  documentId: deliveryId,
  key: null,
  parentId: endpointId,
  status,
  createdMs: nowMs,
  dueMs: nowMs + limits.webhookHistoryDays * dayMs,
  version: 0,
  data: JSON.stringify(data),
});

/** The change of a stored delivery. */
export const changedDelivery = (
  stored: StoredDocument,
  status: WebhookDeliveryStatus,
  data: DeliveryData,
): DocumentChange => ({ save: { ...withoutProject(stored), status, data: JSON.stringify(data) } });

/** The last time that a Date can be; lists are newest first, so the turn that is due first has the greatest value. */
const lastMs = 8_640_000_000_000_000;

export const newTurn = ({
  deliveryId,
  endpointId,
  attempt,
  dueMs,
}: {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly attempt: number;
  readonly dueMs: number;
}): DocumentChange => ({
  save: {
    kind: turnKind,
    documentId: `${deliveryId}.${attempt}`,
    key: null,
    parentId: endpointId,
    status: 'waiting',
    createdMs: lastMs - dueMs,
    dueMs: null,
    version: 0,
    data: '{}',
  },
});

export const turnOf = ({ documentId, createdMs }: StoredDocument) => ({
  deliveryId: documentId.slice(0, documentId.indexOf('.')),
  dueMs: lastMs - createdMs,
});

export const endedTurn = ({ kind, documentId, version }: StoredDocument): DocumentChange => ({
  remove: { kind, documentId, version },
});

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

export function deliveryBody(stored: StoredDocument): WebhookDelivery {
  const { eventId, type, attempt, statusCode, durationMs, redelivery, attemptedMs, nextMs, error } =
    deliveryData(stored);
  return {
    deliveryId: stored.documentId,
    eventId,
    endpointId: stored.parentId ?? '',
    eventType: type,
    status: stored.status as WebhookDeliveryStatus, // this room wrote it
    attempt,
    statusCode,
    durationMs,
    redelivery,
    createdAt: formatTimestamp(stored.createdMs),
    attemptedAt: time(attemptedMs),
    nextAttemptAt: time(nextMs),
    errorSummary: error,
  };
}
