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
import type { AppendRequest, Store } from '../../store/port/store.ts';
import { append, appendOrStale, overQuota, unmetered, type PlainRequest } from '../writes/append.ts';
import type { Caller } from '../call/caller.ts';
import { monthOf } from '../call/month.ts';
import { monthUsage, recentUsage } from './month-usage.ts';
import { quotaExceeded, thresholdReached } from '../access/project-events.ts';
import type { Services } from '../port/services.ts';

/** The meter of a call, and the caller whose quota it uses. */
export interface MeteredCall {
  readonly caller: Caller;
  readonly op: MeteredType;
  readonly units: number | 'accepted';
}

/** The meter of an append. No limit for an unlimited quota, and where the project pays for an excess. */
function metered({ caller, op, units }: MeteredCall): AppendRequest['meter'] {
  const { quotas, settings } = caller.rules;
  return { op, units, limit: settings.quotaMode === 'overage' ? null : quotas[op] };
}

/** The rest of an append to the caller's project. */
export type Uncounted = Omit<PlainRequest, 'projectId' | 'meter'>;

const counting =
  <Outcome extends object>(appendBy: (services: Services, request: PlainRequest) => Promise<Outcome>) =>
  (services: Services, counted: MeteredCall, request: Uncounted): Promise<Outcome> => {
    const { project, rules } = counted.caller;
    const appended = { ...request, projectId: project.projectId, meter: metered(counted) };
    // an unlimited quota has no thresholds, so a plane waits for nothing else
    if (rules.quotas[counted.op] === null) return appendBy(services, appended);
    return appendAndAnnounce(services, counted, () => appendBy(services, appended));
  };

async function appendAndAnnounce<Outcome extends object>(
  services: Services,
  counted: MeteredCall,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  // read before the append: an append right after midnight must not count for the old month
  const atMs = services.now();
  const stored = await work().catch((error: unknown) => {
    announceExcess(services, counted, error);
    throw error;
  });
  if ('used' in stored && typeof stored.used === 'number') {
    announceOwn(services, counted, { used: stored.used, atMs });
  }
  return stored;
}

/** Appends to the caller's project like `append`. */
export const appendMetered = counting(append);
/** Appends to the caller's project like `appendOrStale`. */
export const appendMeteredOrStale = counting(appendOrStale);

/**
 * QUOTA_EXCEEDED where no unit is left. Call it before expensive work; the append still decides. Cost: one
 * read.
 */
export async function requireRoom(services: Services, caller: Caller, op: MeteredType): Promise<void> {
  const { limit = null } = metered({ caller, op, units: 1 });
  if (limit === null) return;
  const nowMs = services.now();
  const used = (await services.store.usage(caller.project.projectId, monthOf(nowMs)))[op];
  if (used + 1 <= limit) return;
  const refused = overQuota({ type: op, limit, used, units: 1 }, nowMs);
  announceExcess(services, { caller, op, units: 1 }, refused);
  throw refused;
}

/** Months with a known event of an excess, by project and kind. */
const exceeded = new WeakMap<Store, Map<string, string>>();

/** Records the first refusal of a month. Never delays or fails the answer. */
function announceExcess(services: Services, { caller, op }: MeteredCall, error: unknown): void {
  if (!(error instanceof GovError) || error.code !== 'QUOTA_EXCEEDED') return;
  const nowMs = services.now();
  const { used, limit } = error.extensions['quota'] as { used: number; limit: number }; // overQuota wrote it
  recordExcess(services, caller, { op, month: monthOf(nowMs), used, limit, nowMs });
}

function recordExcess(
  services: Services,
  of: Of,
  { op, month, used, limit, nowMs }: Omit<Used, 'atMs'> & { limit: number; nowMs: number },
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
  append(services, { projectId, leaves, meter: unmetered, fingerprints }).catch((error: unknown) => {
    memory.delete(name);
    log.warn(
      { err: error, projectId, quota: op },
      'the event of an exceeded quota could not be appended yet',
    );
  });
}

/** The highest percentage of a quota that has an event. */
interface Announced {
  readonly month: string;
  readonly percent: number;
}

/**
 * By project and kind. After a restart or beyond the limit, the event is appended again, and the store
 * recognizes it.
 */
const announced = new WeakMap<Store, Map<string, Announced>>();
const announcedBound = 10_000;

/** The project and rules of a quota. */
type Of = Pick<Caller, 'project' | 'rules'>;

/** The use of a quota in a month by the project and its planes. */
interface Used {
  readonly op: MeteredType;
  readonly month: string;
  readonly used: number;
  readonly atMs: number;
}

/** Checks thresholds after an append of the project. Never delays or fails the answer. */
function announceOwn(
  services: Services,
  { caller, op }: MeteredCall,
  { used, atMs }: { used: number; atMs: number },
): void {
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
export function announceReported(services: Services, of: Of, month: string): void {
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

function inBackground({ log }: Services, { project }: Of, work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    const { projectId } = project;
    log.warn({ err: error, projectId }, 'the use of a quota could not be read; the next use tries again');
  });
}

/** The highest percentage with a known event, or 0. */
function announcedBefore(
  { store }: Services,
  { project }: Of,
  { op, month }: Pick<Used, 'op' | 'month'>,
): number {
  const known = announced.get(store)?.get(`${project.projectId} ${op}`);
  return known?.month === month ? known.percent : 0;
}

const isDone = (services: Services, of: Of, used: Pick<Used, 'op' | 'month'>): boolean =>
  of.rules.settings.thresholds.every((percent) => percent <= announcedBefore(services, of, used));

function announceThresholds(services: Services, of: Of, { op, month, used, atMs }: Used): void {
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
  const memory = announced.get(store) ?? new Map<string, Announced>();
  if (memory.size >= announcedBound) memory.clear();
  memory.set(name, { month, percent: Math.max(...news) });
  announced.set(store, memory);
  const leaves = news.map((percent) =>
    thresholdReached({ type: op, month, percent, limit, used }, { nowMs: atMs, salt: services.salt }),
  );
  // a constant fingerprint: the id alone identifies the fact, whatever else the event contains
  const fingerprints = new Map(leaves.map((_, at) => [at, 'quota.threshold_reached'] as const));
  append(services, { projectId, leaves, meter: unmetered, fingerprints }).catch((error: unknown) => {
    memory.delete(name);
    log.warn(
      { err: error, projectId, quota: op },
      'the event of a passed threshold could not be appended; the next use tries again',
    );
  });
}
