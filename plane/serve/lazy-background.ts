/**
 * Background work of a serving plane whose code is loaded after startup, so that it does not delay the first request.
 * Proven by `test/plane/telemetry/serving.test.ts` and `test/plane/config/sync.test.ts`.
 */
import type { Background } from '../../src/host/process/run.ts';
import type { Log } from '../../src/service/call/log.ts';

/** Background work that also reports to health and metrics; both lists are empty until its code is loaded. */
export interface ReportingBackground extends Background {
  reasons(): readonly string[];
  metrics(): readonly string[];
}

const loadAfterMs = 100;

/** Calls `load` 100 ms after `start`, and starts what it returns. Where that fails, it logs `failure`. */
export function lazyBackground(
  load: () => Promise<ReportingBackground>,
  { log, failure }: { readonly log: Log; readonly failure: string },
): ReportingBackground {
  let loaded: ReportingBackground | undefined;
  let loading: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const begin = async (): Promise<void> => {
    const part = await load();
    if (isStopped) return;
    loaded = part;
    part.start();
  };
  return {
    start: () => {
      timer ??= setTimeout(() => {
        loading = begin().catch((error: unknown) => log.error({ err: error }, failure));
      }, loadAfterMs);
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await loading;
      await loaded?.stop();
    },
    reasons: () => loaded?.reasons() ?? [],
    metrics: () => loaded?.metrics() ?? [],
  };
}

/** Several parts as one. */
export const together = (...parts: readonly Background[]): Background => ({
  start: () => {
    for (const part of parts) part.start();
  },
  stop: async () => {
    await Promise.all(parts.map((part) => part.stop()));
  },
  metrics: () => parts.flatMap((part) => part.metrics?.() ?? []),
});
