/**
 * Stores the answer of a call that appends nothing, so that a repeat with its Idempotency-Key gets the same answer
 * (contract D6). Proven by `test/service/keyed-races.long.test.ts`.
 */
import type { PlainAnswer, ReplayedResponse } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import { idempotencyWrite, type Idempotency } from '../call/idempotency.ts';
import type { Services } from '../port/services.ts';
import { append } from './append.ts';

/**
 * Returns `answer`, or the one that another process stored under the key in the meantime. IDEMPOTENCY_KEY_REUSE where
 * that one answers another request. A crash before this leaves the effect without the answer; the repeat then runs the
 * handler again.
 */
export async function keepAnswer<const Kept extends PlainAnswer>(
  { caller, idempotency }: { readonly caller: Caller; readonly idempotency: Idempotency | null },
  services: Services,
  answer: Kept,
): Promise<Kept | ReplayedResponse> {
  if (idempotency === null) return answer;
  const { projectId } = caller.project;
  const stored = await append(services, { projectId, leaves: [], ...idempotencyWrite(idempotency, answer) });
  return 'replayed' in stored ? stored : answer;
}
