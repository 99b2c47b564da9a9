/**
 * Deliveries of reports as documents. The parent is the report. A delivery waits until the report is complete: it is
 * `pending` and never due; then a worker sends it. Proven by `test/service/reports/handlers.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { Delivery, DeliveryInput } from '../../../contract/report-parts.ts';
import { typeId } from '../../../core/id.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { DocumentChange, StoredDocument } from '../../../store/port/store.ts';
import type { Seal } from '../../call/secrets.ts';
import { mostAttempts } from '../../outbox/attempts.ts';
import { maskedTarget } from '../../outbox/masked.ts';

export const deliveryKind = 'delivery';

/** An input as it is stored: its address and its secret are sealed. */
export interface KeptInput extends Omit<DeliveryInput, 'secret'> {
  /** Masked, as the interface shows it. Whole in documents of earlier versions, which have no sealed one. */
  readonly target: string;
  readonly sealedTarget?: string;
  /** Of a webhook; null for the other channels. */
  readonly sealedSecret: string | null;
}

export function sealed({ secret, ...input }: DeliveryInput, { seal }: { readonly seal: Seal }): KeptInput {
  return {
    ...input,
    target: maskedTarget(input.channel, input.target),
    sealedTarget: seal.seal(input.target),
    sealedSecret: secret === undefined ? null : seal.seal(secret),
  };
}

/** The whole address; null where another installation sealed it. */
export const targetOf = (
  { target, sealedTarget }: Pick<KeptInput, 'target' | 'sealedTarget'>,
  seal: Seal,
): string | null => (sealedTarget === undefined ? target : seal.open(sealedTarget));

/** The input again. A secret that this installation did not seal is missing; for an address it is a STORAGE_FAULT. */
export function opened({ sealedSecret, sealedTarget, ...input }: KeptInput, seal: Seal): DeliveryInput {
  const secret = sealedSecret === null ? null : seal.open(sealedSecret);
  const sealedOne = sealedTarget === undefined ? {} : { sealedTarget };
  const target = targetOf({ target: input.target, ...sealedOne }, seal);
  if (target === null)
    throw new GovError(
      'STORAGE_FAULT',
      'expected the address of a delivery that was sealed with the keys of this installation',
    );
  return { ...input, target, ...(secret === null ? {} : { secret }) };
}

export interface StoredDelivery extends KeptInput {
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
    seal,
  }: {
    readonly executionId: string;
    readonly nowMs: number;
    readonly seal: Seal;
    readonly randomBytes: (size: number) => Uint8Array;
  },
): Extract<DocumentChange, { readonly save: unknown }> {
  const data: StoredDelivery = {
    ...sealed(input, { seal }),
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
    maxAttempts: mostAttempts,
    lastAttemptAt: time(lastAttemptMs),
    nextAttemptAt: document.status === 'pending' ? time(document.dueMs) : null,
    lastStatusCode,
    errorSummary,
  };
}
