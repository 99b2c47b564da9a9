/** Drops kept answers and job requests past their time (contract D6, H5), at the start and every ten minutes. */
import type { Services } from './dependencies.ts';

const everyMs = 600_000;

/** The answer ends it. */
export function startSweeping({ store, now, log }: Pick<Services, 'store' | 'now' | 'log'>): () => void {
  let stopped = false;
  const sweep = async (): Promise<void> => {
    try {
      await store.sweep(now());
    } catch (error) {
      if (stopped) return; // the store was closed between two parts of it
      log.warn({ err: error }, 'what is past its time could not be dropped yet');
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
