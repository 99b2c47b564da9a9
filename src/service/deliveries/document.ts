/**
 * Deliveries of reports as documents. The parent is the report. A delivery waits until the report is complete: it is
 * `pending` and never due; then a worker sends it. Proven by `test/service/reports/handlers.test.ts`.
 */
import type { Delivery, DeliveryInput } from '../../contract/report-parts.ts';
import { typeId } from '../../core/id.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import { maskedTarget } from './masked.ts';

export const deliveryKind = 'delivery';
/** Attempts of one delivery (contract L9, L10). */
export const deliveryAttempts = 10;

export interface StoredDelivery extends DeliveryInput {
  readonly attempts: number;
  readonly lastAttemptMs: number | null;
  readonly lastStatusCode: number | null;
  readonly errorSummary: string | null;
}

export function newDelivery(
  input: DeliveryInput,
  {
    executionId,
    nowMs,
    randomBytes,
  }: {
    readonly executionId: string;
    readonly nowMs: number;
    readonly randomBytes: (size: number) => Uint8Array;
  },
): Extract<DocumentChange, { readonly save: unknown }> {
  const data: StoredDelivery = {
    ...input,
    attempts: 0,
    lastAttemptMs: null,
    lastStatusCode: null,
    errorSummary: null,
  };
  return {
    save: {
      kind: deliveryKind,
      documentId: typeId('dlv', nowMs, randomBytes(10)),
      key: null,
      parentId: executionId,
      status: 'pending',
      createdMs: nowMs,
      dueMs: null,
      version: 0,
      data: JSON.stringify(data),
    },
  };
}

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

/** A delivery as the interface shows it; the target is masked. */
export function deliveryBody(document: StoredDocument): Delivery {
  const stored = JSON.parse(document.data) as StoredDelivery; // this service wrote it
  const { channel, target, format, attempts, lastAttemptMs, lastStatusCode, errorSummary } = stored;
  return {
    deliveryId: document.documentId,
    channel,
    target: maskedTarget(channel, target),
    format,
    status: document.status as Delivery['status'],
    attempts,
    maxAttempts: deliveryAttempts,
    lastAttemptAt: time(lastAttemptMs),
    nextAttemptAt: document.status === 'pending' ? time(document.dueMs) : null,
    lastStatusCode,
    errorSummary,
  };
}
