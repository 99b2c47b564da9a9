/** What the scrub gives health: altered places, and a log that was not read for too long. Proven by `test/service/operations/scrubber.test.ts`. */
import { limits } from '../../contract/limits.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Services } from '../port/services.ts';
import { readScrub, scrubId, scrubKind, type ScrubState } from './scrub-state.ts';

const dayMs = 86_400_000;

export function scrubReasons(state: ScrubState | null, nowMs: number): string[] {
  if (state === null || state.startedMs === 0) return [];
  const { found, findings, last, startedMs } = state;
  const reasons: string[] = [];
  const lastFound = found > 0 ? found : (last?.found ?? 0);
  if (lastFound > 0) {
    const first = findings[0] === undefined ? '' : `: ${findings[0].detail}`;
    reasons.push(`integrity_violation: the scrub found ${lastFound} altered places${first}`);
  }
  const sinceMs = last?.completedMs ?? startedMs;
  if (nowMs - sinceMs > limits.scrubOverdueDays * dayMs)
    reasons.push(`scrub_overdue: no pass over the log has completed since ${formatTimestamp(sinceMs)}`);
  return reasons;
}

/** One read of a document. */
export async function projectScrubReasons(
  { store, now }: Pick<Services, 'store' | 'now'>,
  projectId: string,
): Promise<string[]> {
  const kept = await store.document(projectId, scrubKind, scrubId);
  return scrubReasons(kept === null ? null : readScrub(kept.data), now());
}
