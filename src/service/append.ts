/**
 * The one way in which handlers append: everything of a request in one durable transaction, then whoever
 * waits for events is woken. A crash before the store answers leaves all of the request or none of it.
 */
import { GovError } from '../contract/problems.ts';
import type { AppendOutcome, AppendRequest } from '../store/port.ts';
import type { Replayed } from './call.ts';
import type { Services } from './services.ts';

export type Stored = Extract<AppendOutcome, { outcome: 'stored' }>;

/** IDEMPOTENCY_KEY_REUSE, CLIENT_EVENT_ID_CONFLICT of a `whole` request, STORAGE_FULL, STORAGE_FAULT, and what effects refuse with. */
export async function appendOrStale(
  { store, tail, checkpoints }: Services,
  request: AppendRequest,
): Promise<Stored | Replayed | Extract<AppendOutcome, { outcome: 'stale' | 'outdated' }>> {
  const result = await store.append(request);
  switch (result.outcome) {
    case 'stored':
      if (request.leaves.length > 0) {
        tail.grew(request.projectId);
        checkpoints.grew(request.projectId);
      }
      return result;
    case 'replayed':
      return { replayed: result.response };
    case 'key_reused':
      throw new GovError('IDEMPOTENCY_KEY_REUSE', 'expected a fresh Idempotency-Key for another request');
    case 'over_quota':
      throw overQuota(request, result);
    case 'stale':
    case 'outdated':
      return result;
  }
}

/** QUOTA_EXCEEDED with what contract C6 tells: which quota, how much of it is used, when it begins anew. */
function overQuota(
  { meter }: AppendRequest,
  { used, units }: Extract<AppendOutcome, { outcome: 'over_quota' }>,
): GovError {
  const limit = meter.limit ?? 0;
  const remaining = Math.max(0, limit - used);
  const detail = `expected at most ${remaining} more ${meter.op} this month (quota ${limit}), got ${units}`;
  return new GovError('QUOTA_EXCEEDED', detail, { extensions: { remaining } });
}

/** As above, for a request without `expect` and `inForce`. */
export async function append(services: Services, request: AppendRequest): Promise<Stored | Replayed> {
  const result = await appendOrStale(services, request);
  if ('outcome' in result && result.outcome !== 'stored') {
    throw new Error(`${result.outcome} without an expectation`);
  }
  return result;
}
