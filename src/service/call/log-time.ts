/**
 * The newest time of a log. It never runs backwards, and the store judges by it whether an approval has expired
 * (`src/store/append/approvals.ts`). So every surface does, or a clock that was moved back shows one as pending.
 * Proven by `test/service/approvers/below.engines.test.ts`.
 */
import { parseTimestamp } from '../../core/time.ts';
import type { Store } from '../../store/port/store.ts';

/** Unix milliseconds; null for a log without a request. Cost: two reads. */
export async function newestLogTime(
  { store }: { readonly store: Pick<Store, 'head' | 'leaves'> },
  projectId: string,
): Promise<number | null> {
  const { size } = await store.head(projectId, 'metering');
  if (size === 0) return null;
  const [leaf] = await store.leaves(projectId, 'metering', { from: size - 1, to: size });
  const { at } = JSON.parse(leaf?.record ?? '{}') as { at?: string };
  return at === undefined ? null : parseTimestamp(at);
}

/** The later of the clock and the time of the log. */
export async function expiryTime(
  services: { readonly store: Pick<Store, 'head' | 'leaves'>; readonly now: () => number },
  projectId: string,
): Promise<number> {
  return Math.max(services.now(), (await newestLogTime(services, projectId)) ?? 0);
}
