/**
 * The idempotency record of a call: what the store keeps so that a repeat gets the same answer (contract D6;
 * draft-ietf-httpapi-idempotency-key). Proven by `test/http/idempotency.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { IdempotencyWrite, StoredResponse } from '../../store/port/store.ts';
import type { Services } from '../dependencies.ts';
import type { PlainAnswer } from './answer.ts';
import type { Caller } from './caller.ts';

/** A client's Idempotency-Key, scoped and hashed, with the fingerprint of the request it came with. */
export interface Idempotency {
  readonly key: string;
  readonly fingerprint: string;
}

/** The idempotency record of a call that has a key: keeps the answer in the transaction of its effect. */
export function idempotencyWrite(
  idempotency: Idempotency | null,
  answer: PlainAnswer,
): { idempotency?: IdempotencyWrite } {
  if (idempotency === null) return {};
  const { status, body, headers = {} } = answer;
  return { idempotency: { ...idempotency, response: { status, body: JSON.stringify(body), headers } } };
}

/** Begins the body of a kept answer that is sealed. */
const sealedMark = 'sealed:';

/** As above for an answer that shows a secret: it is kept sealed, and opened by `openKept` alone (contract D6). */
export function sealedWrite(
  idempotency: Idempotency | null,
  answer: PlainAnswer,
  { hosting }: Pick<Services, 'hosting'>,
): { idempotency?: IdempotencyWrite } {
  if (idempotency === null) return {};
  if (hosting === null) throw new Error('only a hosted service answers with secrets');
  const { status, body, headers = {} } = answer;
  const text = sealedMark + hosting.seal.seal(JSON.stringify(body));
  return { idempotency: { ...idempotency, response: { status, body: text, headers } } };
}

/** A kept answer as it was given. STORAGE_FAULT where it was sealed by another installation, or altered. */
export function openKept(kept: StoredResponse, { hosting }: Pick<Services, 'hosting'>): StoredResponse {
  if (!kept.body.startsWith(sealedMark)) return kept;
  const body = hosting?.seal.open(kept.body.slice(sealedMark.length)) ?? null;
  if (body !== null) return { ...kept, body };
  throw new GovError('STORAGE_FAULT', 'expected a kept answer that was sealed with the keys of this service');
}

/**
 * Keeps the answer of a call that appends nothing, so that a repeat gets it again. A crash before this leaves
 * the effect without the answer; the repeat is then executed.
 */
export async function keepAnswer<const Kept extends PlainAnswer>(
  { caller, idempotency }: { caller: Caller; idempotency: Idempotency | null },
  { store }: Services,
  answer: Kept,
): Promise<Kept> {
  if (idempotency === null) return answer;
  await store.append({
    projectId: caller.project.projectId,
    leaves: [],
    meter: { op: 'none', units: 0 },
    ...idempotencyWrite(idempotency, answer),
  });
  return answer;
}
