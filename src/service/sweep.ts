/** Drops kept answers and job requests past their time (contract D6, H5), at the start and every ten minutes. */
import type { Services } from './services.ts';

const everyMs = 600_000;

/** The answer ends it. */
export function startSweeping({ store, now, log }: Pick<Services, 'store' | 'now' | 'log'>): () => void {
  const sweep = async (): Promise<void> => {
    try {
      await store.sweep(now());
    } catch (error) {
      log.warn({ err: error }, 'what is past its time could not be dropped yet');
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
