/**
 * What a project used in a month: its own units, which the store counts with what they are of, and those that its data
 * planes reported, which are counted beside and refused for no quota. Proven by `test/service/access/plane-quota.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { addTotals } from '../../core/plane/metering.ts';
import type { Counts, Project, Store } from '../../store/port/store.ts';

export interface MonthUsage {
  readonly reported: Counts;
  /** Own and reported; each at most 2^53-1. */
  readonly used: Counts;
}

/** As it is now. Cost: two rows. */
export async function monthUsage(store: Store, projectId: string, month: string): Promise<MonthUsage> {
  const [own, reported] = await Promise.all([
    store.usage(projectId, month),
    store.planeUsage(projectId, month),
  ]);
  return { reported, used: addTotals(own, reported) };
}

interface Known extends MonthUsage {
  readonly month: string;
  readonly untilMs: number;
}
const recent = new WeakMap<Store, Map<string, Known>>();
const projectsHeld = 10_000;

/** As of at most `limits.planeUsageSeconds` ago. */
export async function recentUsage(
  store: Store,
  { projectId }: Pick<Project, 'projectId'>,
  { month, nowMs }: { readonly month: string; readonly nowMs: number },
): Promise<MonthUsage> {
  const memory = recent.get(store) ?? new Map<string, Known>();
  recent.set(store, memory);
  const known = memory.get(projectId);
  if (known !== undefined && known.month === month && known.untilMs > nowMs) return known;
  const usage = await monthUsage(store, projectId, month);
  if (memory.size >= projectsHeld) memory.clear();
  memory.set(projectId, { ...usage, month, untilMs: nowMs + limits.planeUsageSeconds * 1000 });
  return usage;
}
