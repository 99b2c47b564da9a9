/**
 * Quotas (contract I7-I9, E11). A metered append carries the month's limit, and the store refuses an excess
 * before it writes anything. When the use of a quota passes a threshold, the project gets one event a month:
 * its clientEventId names month and percentage, so a repeat changes nothing. Units from data planes count for
 * thresholds only, because they were recorded elsewhere. Proven by `test/service/billing/quota.test.ts` and
 * `test/service/access/plane-quota.test.ts`.
 */
import { meteredTypes, type MeteredType } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import { countable } from '../../core/planes/metering.ts';
import type { Store } from '../../store/port/store.ts';
import { append, type Meter } from '../writes/append.ts';
import type { Caller } from '../call/caller.ts';
import { endOfMonth, monthOf } from '../call/month.ts';
import { monthUsage, recentUsage } from './month-usage.ts';
import { quotaExceeded, thresholdReached } from '../access/project-events.ts';
import type { Services } from '../port/services.ts';

/** What a call uses of the quota of its caller. */
interface MeteredCall {
  readonly caller: Caller;
  readonly op: MeteredType;
  readonly units: number | 'accepted';
}

/** No limit for an unlimited quota, and where the project pays for an excess. */
const limitOf = ({ quotas, settings }: Caller['rules'], op: MeteredType): number | null =>
  settings.quotaMode === 'overage' ? null : quotas[op];

/** The meter of an append to the caller's project. Make it right before the append: the quota is that of this month. */
export function meterOf(services: Services, { caller, op, units }: MeteredCall): Meter {
  const { rules } = caller;
  // now, because an append right after midnight must not count for the old month
  const atMs = services.now();
  const meter: Meter = {
    counts: { op, units, limit: limitOf(rules, op) },
    refused: ({ used, units: asked }) => refusedExcess(services, caller, { op, used, units: asked }),
  };
  // an unlimited quota has no thresholds, so a plane waits for nothing else
  if (rules.quotas[op] === null) return meter;
  return { ...meter, stored: (used) => announceOwn(services, caller, { op, used, atMs }) };
}

/**
 * QUOTA_EXCEEDED where no unit is left. Call it before expensive work; the append still decides. Cost: one
 * read.
 */
export async function requireRoom(services: Services, caller: Caller, op: MeteredType): Promise<void> {
  const limit = limitOf(caller.rules, op);
  if (limit === null) return;
  const used = (await services.store.usage(caller.project.projectId, monthOf(services.now())))[op];
  if (used + 1 > limit) throw refusedExcess(services, caller, { op, used, units: 1 });
}

/** A request that does not fit into the month's quota. */
interface Excess {
  readonly op: MeteredType;
  readonly limit: number;
  /** Units used before the request, and units of the request. */
  readonly used: number;
  readonly units: number;
}

/** QUOTA_EXCEEDED, of which the first one of a month is recorded. `used`: units before the request. */
function refusedExcess(
  services: Services,
  caller: Caller,
  { op, used, units }: Omit<Excess, 'limit'>,
): GovError {
  const nowMs = services.now();
  const limit = limitOf(caller.rules, op) ?? 0;
  recordExcess(services, caller, { op, month: monthOf(nowMs), used, limit, nowMs });
  return overQuota({ op, limit, used, units }, nowMs);
}

const daySeconds = 86_400;

/** QUOTA_EXCEEDED with the members of contract C6: the quota, its use, and when it resets. */
export function overQuota({ op, limit, used, units }: Excess, nowMs: number): GovError {
  const remaining = Math.max(0, limit - used);
  const resetMs = endOfMonth(monthOf(nowMs));
  const resetAt = new Date(resetMs).toISOString();
  const detail =
    `expected at most ${remaining} more of ${op} this month, where ${used} of ${limit} are used, got ${units}; ` +
    `wait until ${resetAt}, or ask the operator for more`;
  return new GovError('QUOTA_EXCEEDED', detail, {
    extensions: {
      'violated-policies': [`${op}-month`],
      quota: { type: op, limit, used, remaining, resetAt },
      remaining,
    },
    retryAfterSeconds: Math.min(daySeconds, Math.ceil((resetMs - nowMs) / 1000)),
  });
}

/** Months with a known event of an excess, by project and kind. */
const exceeded = new WeakMap<Store, Map<string, string>>();

/** Records the first refusal of a month. Never delays or fails the answer. */
function recordExcess(
  services: Services,
  of: QuotaOwner,
  { op, month, used, limit, nowMs }: Omit<QuotaUse, 'atMs'> & { limit: number; nowMs: number },
): void {
  const { store, salt, log } = services;
  const { projectId } = of.project;
  const name = `${projectId} ${op}`;
  const memory = exceeded.get(store) ?? new Map<string, string>();
  exceeded.set(store, memory);
  if (memory.get(name) === month) return;
  if (memory.size >= announcedBound) memory.clear();
  memory.set(name, month);
  const leaves = [quotaExceeded({ type: op, month, limit, used }, { nowMs, salt })];
  const fingerprints = new Map([[0, 'quota.exceeded'] as const]);
  append(services, { projectId, leaves, fingerprints }).catch((error: unknown) => {
    memory.delete(name);
    log.warn(
      { err: error, projectId, quota: op },
      'the event of an exceeded quota could not be appended yet',
    );
  });
}

/** The highest percentage of a quota that has an event. */
interface AnnouncedQuota {
  readonly month: string;
  readonly percent: number;
}

/**
 * By project and kind. After a restart or beyond the limit, the event is appended again, and the store
 * recognizes it.
 */
const announced = new WeakMap<Store, Map<string, AnnouncedQuota>>();
const announcedBound = 10_000;

/** The project and rules of a quota. */
type QuotaOwner = Pick<Caller, 'project' | 'rules'>;

/** The use of a quota in a month by the project and its planes. */
interface QuotaUse {
  readonly op: MeteredType;
  readonly month: string;
  readonly used: number;
  readonly atMs: number;
}

/** Checks thresholds after an append of the project. Never delays or fails the answer. */
function announceOwn(services: Services, caller: Caller, { op, used, atMs }: Omit<QuotaUse, 'month'>): void {
  const month = monthOf(atMs);
  if (isDone(services, caller, { op, month })) return;
  const { store } = services;
  inBackground(services, caller, async () => {
    const { reported } = await recentUsage(store, caller.project, { month, nowMs: atMs });
    announceThresholds(services, caller, { op, month, used: countable(used + reported[op]), atMs });
  });
}

/**
 * Checks thresholds after a data plane reported a month. Never delays or fails the answer. Cost: two rows.
 */
export function announceReported(services: Services, of: QuotaOwner, month: string): void {
  const limited = meteredTypes.filter(
    (op) => of.rules.quotas[op] !== null && !isDone(services, of, { op, month }),
  );
  if (limited.length === 0) return;
  const atMs = services.now();
  inBackground(services, of, async () => {
    const { used } = await monthUsage(services.store, of.project.projectId, month);
    for (const op of limited) announceThresholds(services, of, { op, month, used: used[op], atMs });
  });
}

function inBackground({ log }: Services, { project }: QuotaOwner, work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    const { projectId } = project;
    log.warn({ err: error, projectId }, 'the use of a quota could not be read; the next use tries again');
  });
}

/** The highest percentage with a known event, or 0. */
function announcedBefore(
  { store }: Services,
  { project }: QuotaOwner,
  { op, month }: Pick<QuotaUse, 'op' | 'month'>,
): number {
  const known = announced.get(store)?.get(`${project.projectId} ${op}`);
  return known?.month === month ? known.percent : 0;
}

const isDone = (services: Services, of: QuotaOwner, used: Pick<QuotaUse, 'op' | 'month'>): boolean =>
  of.rules.settings.thresholds.every((percent) => percent <= announcedBefore(services, of, used));

function announceThresholds(services: Services, of: QuotaOwner, { op, month, used, atMs }: QuotaUse): void {
  const limit = of.rules.quotas[op];
  if (limit === null) return;
  if (used > limit) recordExcess(services, of, { op, month, used, limit, nowMs: atMs });
  const passed = of.rules.settings.thresholds.filter((percent) => used * 100 >= percent * limit);
  const before = announcedBefore(services, of, { op, month });
  const news = passed.filter((percent) => percent > before);
  if (news.length === 0) return;
  const { store, log } = services;
  const { projectId } = of.project;
  const name = `${projectId} ${op}`;
  const memory = announced.get(store) ?? new Map<string, AnnouncedQuota>();
  if (memory.size >= announcedBound) memory.clear();
  memory.set(name, { month, percent: Math.max(...news) });
  announced.set(store, memory);
  const leaves = news.map((percent) =>
    thresholdReached({ type: op, month, percent, limit, used }, { nowMs: atMs, salt: services.salt }),
  );
  // a constant fingerprint: the id alone identifies the fact, whatever else the event contains
  const fingerprints = new Map(leaves.map((_, at) => [at, 'quota.threshold_reached'] as const));
  append(services, { projectId, leaves, fingerprints }).catch((error: unknown) => {
    memory.delete(name);
    log.warn(
      { err: error, projectId, quota: op },
      'the event of a passed threshold could not be appended; the next use tries again',
    );
  });
}
