/** Stores once a minute when credentials were used. Proven by `test/service/credentials/uses.test.ts`. */
import { polling } from '../call/poller.ts';
import type { Services } from '../port/services.ts';

const minuteMs = 60_000;
const failed = 'the last uses of credentials could not be stored';

/** Stores uses once a minute. The returned function stores the rest and stops it. */
export function startReportingUses({
  store,
  credentials,
  log,
}: Pick<Services, 'store' | 'credentials' | 'log'>): () => Promise<void> {
  const report = async (): Promise<void> => {
    const uses = credentials.uses.take();
    if (uses.length > 0) await store.used(uses);
  };
  const stop = polling({
    everyMs: minuteMs,
    firstAfterMs: minuteMs,
    poll: report,
    log,
    failed,
    level: 'warn',
  });
  return async () => {
    await stop();
    await report().catch((error: unknown) => log.warn({ err: error }, failed));
  };
}
