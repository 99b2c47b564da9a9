/**
 * The only way in which handlers append. The store writes the whole request in one durable transaction; then
 * readers that wait for events wake. A crash before the store answers leaves all of the request or none of
 * it. Effects that need a known caller go through `asking.ts`; metered requests go through
 * `src/service/billing/quota.ts`. Proven by `test/service/events/handlers.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { AppendRequest, Effect } from '../../store/port/store.ts';
import type { Replayed } from '../call/answer.ts';
import type { RefusedAppend, StoredAppend } from '../log/append-result.ts';
import { endOfMonth, monthOf } from '../call/month.ts';
import type { Services } from '../port/services.ts';

/** Effects that need a known caller; `asking.ts` appends them. */
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

/** A request without effects that need a known caller. */
export type PlainRequest = Omit<AppendRequest, 'effects'> & {
  readonly effects?: readonly PlainEffect[];
};

/** The meter of a request that counts nothing. */
export const unmetered: AppendRequest['meter'] = { op: 'none', units: 0 };

/**
 * Appends a request. Throws IDEMPOTENCY_KEY_REUSE, QUOTA_EXCEEDED, CLIENT_EVENT_ID_CONFLICT of a `whole`
 * request, STORAGE_FULL, STORAGE_FAULT, and errors of effects.
 */
export const appendOrStale = (
  services: Services,
  request: PlainRequest,
): Promise<StoredAppend | Replayed | RefusedAppend> => appendGuarded(services, request);

/** Like `appendOrStale`, for any effect. Only `asking.ts` may call it. */
export async function appendGuarded(
  services: Services,
  request: AppendRequest,
): Promise<StoredAppend | Replayed | RefusedAppend> {
  const { store, tail, checkpoints, now } = services;
  const result = await store.append(request);
  switch (result.outcome) {
    case 'stored':
      if (request.leaves.length > 0) {
        tail.grew(request.projectId);
        checkpoints.grew(request.projectId);
      }
      if (result.home !== undefined) wakeHome(services, result.home);
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

/** Wakes readers of a home project's log after another project's append added an event to it. */
export function wakeHome({ tail, checkpoints }: Services, home: string): void {
  tail.grew(home);
  checkpoints.grew(home);
}

export const keyReused = (): GovError =>
  new GovError('IDEMPOTENCY_KEY_REUSE', 'expected a fresh Idempotency-Key for another request');

/** A request that does not fit into the month's quota. */
interface Excess {
  readonly type: AppendRequest['meter']['op'];
  readonly limit: number;
  /** Units used before the request, and units of the request. */
  readonly used: number;
  readonly units: number;
}

const daySeconds = 86_400;

/** QUOTA_EXCEEDED with the members of contract C6: the quota, its use, and when it resets. */
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

/** Like `appendOrStale`, for a request without `expect`, `inForce` and `revisedMs`. */
export const append = async (services: Services, request: PlainRequest): Promise<StoredAppend | Replayed> =>
  refuseOutdated(await appendOrStale(services, request));

/** The result of a request without expectations, which the store never refuses as outdated. */
export function refuseOutdated(result: StoredAppend | Replayed | RefusedAppend): StoredAppend | Replayed {
  if ('outcome' in result && result.outcome !== 'stored') {
    throw new Error(`expected an append without expectations to be stored, got ${result.outcome}`);
  }
  return result;
}
