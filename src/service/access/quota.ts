/**
 * Quotas (contract I7-I9, E11): what is metered is appended with the limit of its month, and the store refuses what has
 * no room before anything of it is written. Once the use of a quota has passed a threshold, an event of the project says
 * so, once a month: its clientEventId names month and percentage, so whoever tells it again changes nothing. What data
 * planes reported counts for thresholds alone: it was recorded elsewhere, and nothing is refused for it.
 * Proven by `test/service/access/quota.test.ts` and `test/service/access/plane-quota.test.ts`.
 */
import { meteredTypes, type MeteredType } from '../../contract/operation.ts';
import { countable } from '../../core/plane/metering.ts';
import type { AppendRequest, Store } from '../../store/port/store.ts';
import { append, appendOrStale, overQuota, unmetered, type PlainRequest } from '../events/append.ts';
import type { Caller } from '../call/handler.ts';
import { monthOf } from './month.ts';
import { monthUsage, recentUsage } from './month-usage.ts';
import { thresholdReached } from './project-events.ts';
import type { Services } from '../dependencies.ts';

/** What a request counts as, and against whose quota. */
export interface Counted {
  readonly caller: Caller;
  readonly op: MeteredType;
  readonly units: number | 'accepted';
}

/** The meter of an append. Without a limit where there is none, and where going over it is paid for. */
export function metered({ caller, op, units }: Counted): AppendRequest['meter'] {
  const { quotas, settings } = caller.rules;
  return { op, units, limit: settings.quotaMode === 'overage' ? null : quotas[op] };
}

/** What is appended, to the project of the caller. */
export type Uncounted = Omit<PlainRequest, 'projectId' | 'meter'>;

const counting =
  <Outcome extends object>(appendBy: (services: Services, request: PlainRequest) => Promise<Outcome>) =>
  (services: Services, counted: Counted, request: Uncounted): Promise<Outcome> => {
    const { project, rules } = counted.caller;
    const appended = { ...request, projectId: project.projectId, meter: metered(counted) };
    // of what is not limited nothing is told, so a plane waits for nothing more
    if (rules.quotas[counted.op] === null) return appendBy(services, appended);
    return appendAndTell(services, counted, () => appendBy(services, appended));
  };

async function appendAndTell<Outcome extends object>(
  services: Services,
  counted: Counted,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  // before it: what is appended right after midnight does not count for the month that has ended
  const atMs = services.now();
  const stored = await work();
  if ('used' in stored && typeof stored.used === 'number') {
    tellOwn(services, counted, { used: stored.used, atMs });
  }
  return stored;
}

/** Appends to the project of the caller, as `append`. */
export const appendMetered = counting(append);
/** As above, as `appendOrStale`. */
export const appendMeteredOrStale = counting(appendOrStale);

/**
 * QUOTA_EXCEEDED where there is no room for one more unit: for work that is dear, before it is begun. The append
 * judges for good. Cost: one read.
 */
export async function requireRoom(services: Services, caller: Caller, op: MeteredType): Promise<void> {
  const { limit = null } = metered({ caller, op, units: 1 });
  if (limit === null) return;
  const nowMs = services.now();
  const used = (await services.store.usage(caller.project.projectId, monthOf(nowMs)))[op];
  if (used + 1 > limit) throw overQuota({ type: op, limit, used, units: 1 }, nowMs);
}

/** The highest percentage that was told of a quota. */
interface Told {
  readonly month: string;
  readonly percent: number;
}

/** By project and kind. What is lost with the process, or beyond the bound, is told again and found to be known. */
const told = new WeakMap<Store, Map<string, Told>>();
const toldBound = 10_000;

/** Whose quotas they are. */
type Of = Pick<Caller, 'project' | 'rules'>;

/** What was used of a quota in a month, by the project and its planes. */
interface Used {
  readonly op: MeteredType;
  readonly month: string;
  readonly used: number;
  readonly atMs: number;
}

/** After an append of its own, beside the answer, which it never delays or fails. */
function tellOwn(
  services: Services,
  { caller, op }: Counted,
  { used, atMs }: { used: number; atMs: number },
): void {
  const month = monthOf(atMs);
  if (isToldOut(services, caller, { op, month })) return;
  const { store } = services;
  beside(services, caller, async () => {
    const { reported } = await recentUsage(store, caller.project, { month, nowMs: atMs });
    tellThresholds(services, caller, { op, month, used: countable(used + reported[op]), atMs });
  });
}

/** After a report of a data plane for a month, beside its answer, which it never delays or fails. Cost: two rows. */
export function tellReported(services: Services, of: Of, month: string): void {
  const limited = meteredTypes.filter(
    (op) => of.rules.quotas[op] !== null && !isToldOut(services, of, { op, month }),
  );
  if (limited.length === 0) return;
  const atMs = services.now();
  beside(services, of, async () => {
    const { used } = await monthUsage(services.store, of.project.projectId, month);
    for (const op of limited) tellThresholds(services, of, { op, month, used: used[op], atMs });
  });
}

function beside({ log }: Services, { project }: Of, work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    const { projectId } = project;
    log.warn({ err: error, projectId }, 'what was used could not be read; the next use tries again');
  });
}

/** The highest percentage that is known to be told, or 0. */
function toldBefore({ store }: Services, { project }: Of, { op, month }: Pick<Used, 'op' | 'month'>): number {
  const known = told.get(store)?.get(`${project.projectId} ${op}`);
  return known?.month === month ? known.percent : 0;
}

const isToldOut = (services: Services, of: Of, used: Pick<Used, 'op' | 'month'>): boolean =>
  of.rules.settings.thresholds.every((percent) => percent <= toldBefore(services, of, used));

function tellThresholds(services: Services, of: Of, { op, month, used, atMs }: Used): void {
  const limit = of.rules.quotas[op];
  if (limit === null) return;
  const passed = of.rules.settings.thresholds.filter((percent) => used * 100 >= percent * limit);
  const before = toldBefore(services, of, { op, month });
  const news = passed.filter((percent) => percent > before);
  if (news.length === 0) return;
  const { store, log } = services;
  const { projectId } = of.project;
  const name = `${projectId} ${op}`;
  const memory = told.get(store) ?? new Map<string, Told>();
  if (memory.size >= toldBound) memory.clear();
  memory.set(name, { month, percent: Math.max(...news) });
  told.set(store, memory);
  const leaves = news.map((percent) =>
    thresholdReached({ type: op, month, percent, limit, used }, { nowMs: atMs, salt: services.salt }),
  );
  // one text for all: whatever else is in the event, its id names the same fact
  const fingerprints = new Map(leaves.map((_, at) => [at, 'quota.threshold_reached'] as const));
  append(services, { projectId, leaves, meter: unmetered, fingerprints }).catch((error: unknown) => {
    memory.delete(name);
    log.warn(
      { err: error, projectId, quota: op },
      'a passed threshold could not be told; the next use tries again',
    );
  });
}
