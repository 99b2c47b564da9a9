/** The telemetry of a serving plane, loaded behind whoever waited for the plane to listen: it answers no later for it. */
import type { Background } from '../../src/host/process/run.ts';
import type { Log } from '../../src/service/call/log.ts';
import type { Telemetry, TelemetryOptions } from '../telemetry/schedule.ts';

export interface LateTelemetry extends Background {
  /** For health; empty until it is loaded. */
  reasons(): readonly string[];
}

const loadAfterMs = 100;

/** `options` is asked when it is loaded. */
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
