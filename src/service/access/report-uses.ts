/** Stores once a minute when credentials were used. Proven by `test/service/credentials/uses.test.ts`. */
import type { Services } from '../port/services.ts';

const minuteMs = 60_000;

/** Stores uses once a minute. The returned function stores the rest and stops it. */
export function startReportingUses({
  store,
  credentials,
  log,
}: Pick<Services, 'store' | 'credentials' | 'log'>): () => Promise<void> {
  const report = async (): Promise<void> => {
    const uses = credentials.uses.take();
    if (uses.length === 0) return;
    try {
      await store.used(uses);
    } catch (error) {
      log.warn({ err: error, credentials: uses.length }, 'the last uses of credentials could not be stored');
    }
  };
  const timer = setInterval(() => void report(), minuteMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await report();
  };
}
