/** Loads telemetry after startup, so that it does not delay the first request. */
import type { Background } from '../../src/host/process/run.ts';
import type { Log } from '../../src/service/call/log.ts';
import type { Telemetry, TelemetryOptions } from '../telemetry/schedule.ts';

export interface LateTelemetry extends Background {
  /** Reasons for health. Empty until telemetry is loaded. */
  reasons(): readonly string[];
}

const loadAfterMs = 100;

/** Calls `options` when telemetry loads. */
export function lateTelemetry(options: () => TelemetryOptions, log: Log): LateTelemetry {
  let telemetry: Telemetry | undefined;
  let loading: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const load = async (): Promise<void> => {
    const { Telemetry } = await import('../telemetry/schedule.ts');
    if (isStopped) return;
    telemetry = new Telemetry(options());
    telemetry.start();
  };
  return {
    start: () => {
      timer ??= setTimeout(() => {
        loading = load().catch((error: unknown) => log.error({ err: error }, 'telemetry could not start'));
      }, loadAfterMs);
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await loading;
      await telemetry?.stop();
    },
    reasons: () => telemetry?.reasons() ?? [],
    metrics: () => telemetry?.metrics() ?? [],
  };
}
