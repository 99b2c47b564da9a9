/**
 * The one way in which handlers append: everything of a request in one durable transaction, then whoever
 * waits for events is woken. A crash before the store answers leaves all of the request or none of it.
 * What somebody has to be known for goes through `asking.ts`.
 * What is metered goes through `src/service/access/quota.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { AppendOutcome, AppendRequest, Effect } from '../../store/port/store.ts';
import type { Replayed } from '../call/handler.ts';
import { endOfMonth, monthOf } from '../access/month.ts';
import type { Services } from '../dependencies.ts';

export type Stored = Extract<AppendOutcome, { outcome: 'stored' }>;
export type Refused = Extract<AppendOutcome, { outcome: 'stale' | 'outdated' | 'revised' }>;

/** Effects that are appended for somebody who is known: `asking.ts`. */
type Guarded = Extract<
  Effect,
  {
    kind:
      | 'requireCaller'
      | 'saveApiKey'
      | 'changeApiKey'
      | 'revokeApiKey'
      | 'changeProject'
      | 'setCustomer'
      | 'decideApproval'
      | 'eraseFields';
  }
>;

export type PlainEffect = Exclude<Effect, Guarded>;

/** A request that anybody's call may come to. */
export type PlainRequest = Omit<AppendRequest, 'effects'> & {
  readonly effects?: readonly PlainEffect[];
};

/** The meter of what is not counted. */
export const unmetered: AppendRequest['meter'] = { op: 'none', units: 0 };

/** IDEMPOTENCY_KEY_REUSE, QUOTA_EXCEEDED, CLIENT_EVENT_ID_CONFLICT of a `whole` request, STORAGE_FULL, STORAGE_FAULT, and what effects refuse with. */
export const appendOrStale = (
  services: Services,
  request: PlainRequest,
): Promise<Stored | Replayed | Refused> => appendGuarded(services, request);

/** As above; only `asking.ts` may call it. */
export async function appendGuarded(
  services: Services,
  request: AppendRequest,
): Promise<Stored | Replayed | Refused> {
  const { store, tail, checkpoints, now } = services;
  const result = await store.append(request);
  switch (result.outcome) {
    case 'stored':
      if (request.leaves.length > 0) {
        tail.grew(request.projectId);
        checkpoints.grew(request.projectId);
      }
      if (result.home !== undefined) grewBeside(services, result.home);
      return result;
    case 'replayed':
      return { replayed: result.response };
    case 'key_reused':
      throw keyReused();
    case 'over_quota': {
      const { op, limit } = request.meter;
      throw overQuota({ type: op, limit: limit ?? 0, used: result.used, units: result.units }, now());
    }
    case 'stale':
    case 'outdated':
    case 'revised':
      return result;
  }
}

/** The log of a home grew, whose project was told what happened in another one. */
export function grewBeside({ tail, checkpoints }: Services, home: string): void {
  tail.grew(home);
  checkpoints.grew(home);
}

export const keyReused = (): GovError =>
  new GovError('IDEMPOTENCY_KEY_REUSE', 'expected a fresh Idempotency-Key for another request');

/** A request that a month's quota has no room for. */
interface Excess {
  readonly type: AppendRequest['meter']['op'];
  readonly limit: number;
  /** Units before the request, and those that it asks for. */
  readonly used: number;
  readonly units: number;
}

const daySeconds = 86_400;

/** QUOTA_EXCEEDED with what contract C6 tells: which quota, how much of it is used, when it begins anew. */
export function overQuota({ type, limit, used, units }: Excess, nowMs: number): GovError {
  const remaining = Math.max(0, limit - used);
  const resetMs = endOfMonth(monthOf(nowMs));
  const resetAt = new Date(resetMs).toISOString();
  const detail =
    `expected at most ${remaining} more of ${type} this month, where ${used} of ${limit} are used, got ${units}; ` +
    `wait until ${resetAt}, or ask the operator for more`;
  return new GovError('QUOTA_EXCEEDED', detail, {
    extensions: {
      'violated-policies': [`${type}-month`],
      quota: { type, limit, used, remaining, resetAt },
      remaining,
    },
    retryAfterSeconds: Math.min(daySeconds, Math.ceil((resetMs - nowMs) / 1000)),
  });
}

/** As above, for a request without `expect`, `inForce` and `revisedMs`. */
export const append = async (services: Services, request: PlainRequest): Promise<Stored | Replayed> =>
  refuseOutdated(await appendOrStale(services, request));

/** Of a request that expected nothing. */
export function refuseOutdated(result: Stored | Replayed | Refused): Stored | Replayed {
  if ('outcome' in result && result.outcome !== 'stored') {
    throw new Error(`${result.outcome} without an expectation`);
  }
  return result;
}
