/**
 * Background work of a serving plane. Work that nobody waits for is loaded after startup, so that it does not delay the
 * first request. Proven by `test/plane/serve/background.test.ts`.
 */
import type { Background } from '../../src/host/process/run.ts';
import type { Log } from '../../src/service/call/log.ts';

export interface ReportingBackground extends Background {
  /** Reasons for health. Empty until the work is loaded. */
  reasons(): readonly string[];
}

/** Starts `afterMs` after `start()` what `load` loads and the function that it returns then creates. */
export function lazyBackground(
  load: () => Promise<() => ReportingBackground>,
  { afterMs, log, failure }: { readonly afterMs: number; readonly log: Log; readonly failure: string },
): ReportingBackground {
  let work: ReportingBackground | undefined;
  let starting: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const start = async (): Promise<void> => {
    const create = await load();
    if (isStopped) return;
    work = create();
    work.start();
  };
  return {
    start: () => {
      timer ??= setTimeout(() => {
        starting = start().catch((error: unknown) => log.error({ err: error }, failure));
      }, afterMs);
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await starting;
      await work?.stop();
    },
    reasons: () => work?.reasons() ?? [],
    metrics: () => work?.metrics?.() ?? [],
  };
}
