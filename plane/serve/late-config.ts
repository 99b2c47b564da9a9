/**
 * Loads the client that fetches configurations after startup, so that it does not delay the first request.
 */
import type { Background } from '../../src/host/process/run.ts';
import type { Log } from '../../src/service/call/log.ts';
import type { ConfigSync, SyncOptions } from '../config/sync.ts';

export interface LateBackground extends Background {
  /** Reasons for health. Empty until the client is loaded. */
  reasons(): readonly string[];
  metrics(): readonly string[];
}

export function lateConfigSync(options: SyncOptions, log: Log): LateBackground {
  let sync: ConfigSync | undefined;
  let loading: Promise<void> | undefined;
  let isStopped = false;
  const load = async (): Promise<void> => {
    const { ConfigSync } = await import('../config/sync.ts');
    if (isStopped) return;
    sync = new ConfigSync(options);
    sync.start();
  };
  return {
    start: () => {
      loading ??= load().catch((error: unknown) =>
        log.error({ err: error }, 'configurations are not asked for'),
      );
    },
    stop: async () => {
      isStopped = true;
      await loading;
      await sync?.stop();
    },
    reasons: () => sync?.reasons() ?? [],
    metrics: () => sync?.metrics() ?? [],
  };
}

/** Combines several background tasks into one. */
export const together = (...parts: readonly Background[]): Background => ({
  start: () => {
    for (const part of parts) part.start();
  },
  stop: async () => {
    await Promise.all(parts.map((part) => part.stop()));
  },
  metrics: () => parts.flatMap((part) => part.metrics?.() ?? []),
});
