/**
 * The use of a project in a month: its own units, which the store counts and limits, and units that its data
 * planes reported, which no quota limits. Proven by `test/service/access/plane-quota.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { addTotals } from '../../core/planes/metering.ts';
import type { MeteredCounts, Store } from '../../store/port/store.ts';
import type { Project } from '../../store/port/store.ts';

interface MonthUsage {
  readonly reported: MeteredCounts;
  /** Own and reported units; each at most 2^53-1. */
  readonly used: MeteredCounts;
}

/** The current numbers. Cost: two rows. */
export async function monthUsage(store: Store, projectId: string, month: string): Promise<MonthUsage> {
  const [own, reported] = await Promise.all([
    store.usage(projectId, month),
    store.planeUsage(projectId, month),
  ]);
  return { reported, used: addTotals(own, reported) };
}

interface CachedUsage extends MonthUsage {
  readonly month: string;
  readonly untilMs: number;
}
const recent = new WeakMap<Store, Map<string, CachedUsage>>();
const projectsHeld = 10_000;

/** Numbers that are at most `limits.planeUsageSeconds` old. */
export async function recentUsage(
  store: Store,
  { projectId }: Pick<Project, 'projectId'>,
  { month, nowMs }: { readonly month: string; readonly nowMs: number },
): Promise<MonthUsage> {
  const memory = recent.get(store) ?? new Map<string, CachedUsage>();
  recent.set(store, memory);
  const known = memory.get(projectId);
  if (known !== undefined && known.month === month && known.untilMs > nowMs) return known;
  const usage = await monthUsage(store, projectId, month);
  if (memory.size >= projectsHeld) memory.clear();
  memory.set(projectId, { ...usage, month, untilMs: nowMs + limits.planeUsageSeconds * 1000 });
  return usage;
}
