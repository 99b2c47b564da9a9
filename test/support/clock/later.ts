/** Waits for the clock, where a test needs times that differ. */
import { vi } from 'vitest';

/** Resolves once the clock is past a time. */
export async function clockPast(ms: number): Promise<void> {
  await vi.waitUntil(() => Date.now() > ms, { timeout: 20_000, interval: 1 });
}
