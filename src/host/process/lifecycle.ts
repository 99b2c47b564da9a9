/**
 * The end of a serving process. A signal or a storage fault stops new connections, drains, and closes the
 * store. Exit code 0 follows a signal, and 74 (EX_IOERR) a fault, so that a supervisor can tell them apart. A
 * second signal ends at once. SIGHUP reloads files. Proven by `test/plane/lifecycle.test.ts`.
 */
import type { Log } from '../../service/call/log.ts';

const ioErrorExit = 74;
const lookEveryMs = 500;

export interface RunningProcess {
  /** Stops accepting, drains and closes. A second call is safe. */
  readonly close: () => Promise<void>;
  /** Why the store can no longer write, or null. */
  readonly fault: () => string | null;
  readonly log: Log;
  /** Runs on SIGHUP, which does not end the process. */
  readonly reload?: () => void;
}

/** Resolves with the exit code once everything is closed. */
export function untilStopped({ close, fault, log, reload }: RunningProcess): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = (reason: string, code: number): void => {
      if (stopping) {
        log.warn({ reason }, 'ending at once');
        process.exit(code === 0 ? 130 : code);
      }
      stopping = true;
      clearInterval(watch);
      if (code === 0) log.info({ reason }, 'stopping');
      else log.error({ reason }, 'writing stopped: the process ends');
      void finish(code).then(resolve);
    };
    const finish = async (code: number): Promise<number> => {
      try {
        await close();
        return code;
      } catch (error) {
        log.error({ err: error }, 'could not stop cleanly');
        return code === 0 ? 1 : code;
      } finally {
        process.off('SIGTERM', onTerm);
        process.off('SIGINT', onInt);
        process.off('SIGHUP', onHup);
      }
    };
    const onTerm = (): void => stop('SIGTERM', 0);
    const onInt = (): void => stop('SIGINT', 0);
    const onHup = (): void => {
      if (!stopping) reload?.();
    };
    process.on('SIGHUP', onHup);
    process.on('SIGTERM', onTerm);
    process.on('SIGINT', onInt);
    const watch = setInterval(() => {
      const reason = fault();
      if (reason !== null) stop(reason, ioErrorExit);
    }, lookEveryMs);
    watch.unref();
  });
}
