/**
 * Rate limits of a hosted service (contract D8) and their headers (contract D9;
 * draft-ietf-httpapi-ratelimit-headers, and `X-RateLimit-*` for old clients). Each process counts for itself:
 * with two processes a key has up to twice the rate. Proven by `test/http/admit/rates.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { MeteredType, Operation } from '../../contract/operation.ts';
import { accessOf } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import type { TenantRules } from '../../service/call/settings.ts';
import type { HeaderLines } from '../answer/write.ts';
import { Buckets, type Level } from './buckets.ts';

/** A value of 0 turns a limit off. Default: the limits of the contract. */
export interface RateOptions {
  /** Requests of one key or person. */
  readonly keyPerSecond?: number;
  readonly keyBurst?: number;
  /** Requests of one key or person that record events. */
  readonly eventsPerSecond?: number;
  /** Requests of one address without a credential, or with one that is refused. */
  readonly anonymousPerSecond?: number;
  /** Requests of one address to /auth. */
  readonly authPerMinute?: number;
  /** New exports of one key or person. */
  readonly exportsPerMinute?: number;
  /** Downloads by one share link. */
  readonly sharesPerMinute?: number;
}

export type RateName = 'default' | 'events' | 'anonymous' | 'auth' | 'exports' | 'shares' | 'cron';

/** The limit that counts an operation. Null for probes, which must always be answered, and for schedulers. */
export function rateOf(row: Operation): RateName | null {
  // of the calls of a scheduler only refused ones are counted
  if (row.tag === 'Health' || accessOf(row) === 'cron') return null;
  // what takes a credential or begins a sign-in; who only asks counts as everywhere else
  if (row.path.startsWith('/auth/') && row.method !== 'GET') return 'auth';
  if (accessOf(row) === 'anyone') return 'anonymous';
  if (row.tag === 'Exports' && row.method === 'POST') return 'exports';
  return row.tag === 'Audit Events' && row.method === 'POST' ? 'events' : 'default';
}

interface Limit {
  readonly buckets: Buckets;
  readonly quota: number;
  /** The value of the header `RateLimit-Policy`. */
  readonly policy: string;
}

export interface RateState {
  readonly lines: HeaderLines;
  /** RATE_LIMITED, or null where the request may continue. */
  readonly refusal: GovError | null;
}

const monthSeconds = 2_592_000;

export class Rates {
  readonly #limits: Readonly<Record<RateName, Limit | null>>;
  readonly #now: () => number;

  /** `now`: Unix milliseconds; `monotonic`: milliseconds of a clock that never runs backwards. */
  constructor(
    options: RateOptions,
    { now, monotonic = () => performance.now() }: { now: () => number; monotonic?: () => number },
  ) {
    const limit = (name: RateName, quota: number, { window = 1, burst = quota } = {}): Limit | null =>
      quota === 0
        ? null
        : {
            buckets: new Buckets({
              perSecond: quota / window,
              burst: Math.max(1, burst),
              most: limits.rateBuckets,
              nowMs: monotonic,
            }),
            quota,
            policy: `"${name}";q=${quota};w=${window}`,
          };
    const key = options.keyPerSecond ?? limits.rateKeyPerSecond;
    const burst = options.keyBurst ?? (options.keyPerSecond === undefined ? limits.rateKeyBurst : 2 * key);
    this.#limits = {
      default: limit('default', key, { burst }),
      events: limit('events', options.eventsPerSecond ?? limits.rateEventsPerSecond),
      anonymous: limit('anonymous', options.anonymousPerSecond ?? limits.rateAnonymousPerSecond),
      auth: limit('auth', options.authPerMinute ?? limits.rateAuthPerMinute, { window: 60 }),
      cron: limit('cron', limits.cronFailuresPerMinute, { window: 60 }),
      exports: limit('exports', options.exportsPerMinute ?? limits.rateExportsPerMinute, { window: 60 }),
      shares: limit('shares', options.sharesPerMinute ?? limits.rateSharesPerMinute, { window: 60 }),
    };
    this.#now = now;
  }

  /** Counts one request of `who`. `quota`: the meter of its operation, with the rules of its project. */
  spend(
    name: RateName,
    who: string,
    quota: { meters: MeteredType | undefined; rules: TenantRules } | null = null,
  ): RateState {
    const limit = this.#limits[name];
    const monthly = quota === null ? null : quotaPolicy(quota);
    if (limit === null)
      return { lines: monthly === null ? [] : ['ratelimit-policy', monthly], refusal: null };
    return this.#spent(name, limit, limit.buckets.take(who), monthly);
  }

  /** RATE_LIMITED where the next request of `who` would get it. */
  look(name: RateName, who: string): RateState {
    const limit = this.#limits[name];
    if (limit === null) return { lines: [], refusal: null };
    return this.#spent(name, limit, limit.buckets.look(who), null);
  }

  #spent(name: RateName, { quota, policy }: Limit, level: Level, monthly: string | null): RateState {
    const { taken, waitSeconds } = level;
    const left = Math.min(quota, level.left); // the header promises no more than the burst
    const lines = [
      'ratelimit-policy',
      monthly === null ? policy : `${policy}, ${monthly}`,
      'ratelimit',
      `"${name}";r=${left};t=${waitSeconds}`,
      'x-ratelimit-limit',
      String(quota),
      'x-ratelimit-remaining',
      String(left),
      'x-ratelimit-reset',
      String(Math.ceil(this.#now() / 1000) + waitSeconds),
    ];
    return { lines, refusal: taken ? null : limited(policy, waitSeconds) };
  }
}

const limited = (policy: string, waitSeconds: number): GovError =>
  new GovError('RATE_LIMITED', `expected fewer requests (${policy}); send the next one in ${waitSeconds} s`, {
    retryAfterSeconds: waitSeconds,
  });

/** The monthly quota as a policy. Null where the month is not limited. */
function quotaPolicy({
  meters,
  rules,
}: {
  meters: MeteredType | undefined;
  rules: TenantRules;
}): string | null {
  const quota = meters === undefined ? null : rules.quotas[meters];
  if (quota === null || rules.settings.quotaMode === 'overage') return null;
  return `"${meters}-month";q=${quota};w=${monthSeconds}`;
}
