/**
 * How a serving process ends: a signal or a storage fault stops accepting, drains, closes the store.
 * Exit code 0 after a signal, 74 (EX_IOERR) after a fault, so that a supervisor can tell. A second signal ends
 * at once; SIGHUP reads what can be read again. Proven by `test/plane/lifecycle.test.ts`.
 */
import type { Log } from '../../service/call/log.ts';

const ioErrorExit = 74;
const lookEveryMs = 500;

export interface Running {
  /** Stops accepting, drains, closes; safe to call twice. */
  readonly close: () => Promise<void>;
  /** A reason why writing cannot go on, or null. */
  readonly fault: () => string | null;
  readonly log: Log;
  /** On SIGHUP, which ends nothing. */
  readonly reload?: () => void;
}

/** Resolves with the exit code once everything is closed. */
export function untilStopped({ close, fault, log, reload }: Running): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = (reason: string, code: number): void => {
      if (stopping) {
        log.warn({ reason }, 'ending at once');
        process.exit(code === 0 ? 130 : code);
      }
      stopping = true;
      clearInterval(watch);
      log.info({ reason }, 'stopping');
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
