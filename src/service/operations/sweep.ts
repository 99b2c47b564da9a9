/**
 * Deletes expired stored answers and job requests (contract D6, H5), at the start and every ten minutes.
 * Proven by `test/http/call/idempotency.engines.test.ts`.
 */
import type { Services } from '../port/services.ts';

const everyMs = 600_000;

/** The returned function stops it. */
export function startSweeping({ store, now, log }: Pick<Services, 'store' | 'now' | 'log'>): () => void {
  let stopped = false;
  const sweep = async (): Promise<void> => {
    try {
      await store.sweep(now());
    } catch (error) {
      if (stopped) return; // the store may be closed between two steps
      log.warn({ err: error }, 'expired rows could not be deleted yet');
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), everyMs);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
