/**
 * The idempotency record of a call: the store keeps it, so that a repeat gets the same answer (contract D6;
 * draft-ietf-httpapi-idempotency-key). Proven by `test/http/call/idempotency.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { IdempotencyWrite, StoredResponse } from '../../store/port/store.ts';
import type { PlainAnswer } from './answer.ts';
import type { Seal } from './secrets.ts';

/** A client's Idempotency-Key, scoped and hashed, with the fingerprint of its request. */
export interface Idempotency {
  readonly key: string;
  readonly fingerprint: string;
}

/**
 * The idempotency record of a call with a key. The store keeps the answer in the transaction of its effect.
 */
export function idempotencyWrite(
  idempotency: Idempotency | null,
  answer: PlainAnswer,
): { idempotency?: IdempotencyWrite } {
  if (idempotency === null) return {};
  const { status, body, headers = {} } = answer;
  return { idempotency: { ...idempotency, response: { status, body: JSON.stringify(body), headers } } };
}

/** Prefix of a stored body that is sealed. */
const sealedMark = 'sealed:';

/**
 * Like `idempotencyWrite`, for an answer that contains a secret: the store keeps it sealed, and only
 * `openKept` opens it (contract D6).
 */
export function sealedWrite(
  idempotency: Idempotency | null,
  answer: PlainAnswer,
  { seal }: { readonly seal: Seal },
): { idempotency?: IdempotencyWrite } {
  if (idempotency === null) return {};
  const { status, body, headers = {} } = answer;
  const text = sealedMark + seal.seal(JSON.stringify(body));
  return { idempotency: { ...idempotency, response: { status, body: text, headers } } };
}

/**
 * A stored answer in its original form. STORAGE_FAULT where another installation sealed it, or somebody
 * altered it.
 */
export function openKept(kept: StoredResponse, { seal }: { readonly seal: Seal }): StoredResponse {
  if (!kept.body.startsWith(sealedMark)) return kept;
  const body = seal.open(kept.body.slice(sealedMark.length));
  if (body !== null) return { ...kept, body };
  throw new GovError('STORAGE_FAULT', 'expected a kept answer that was sealed with the keys of this service');
}
