/**
 * What systemd is told of a serving process (sd_notify(3)): that it is ready, that it reads its files again, that it
 * ends, and while it is alive that it is. Node has no datagram sockets of the Unix family, so `systemd-notify` says it,
 * a process of a few milliseconds every ten seconds; the unit needs `NotifyAccess=all` for that. Without NOTIFY_SOCKET
 * nothing is loaded or run. Proven by `test/host/supervisor.test.ts`.
 */
import { spawn } from 'node:child_process';
import type { Log } from '../service/log.ts';
import type { Variables } from './layers.ts';

export interface Supervisor {
  ready(status: string): void;
  reloading(): void;
  /** Resolves once that is said, or after a second. */
  stopping(): Promise<void>;
}

export interface SupervisorOptions {
  readonly env: Variables;
  readonly log: Log;
  /** Whether the process does its work; that the event loop turns is known from asking. */
  readonly isAlive: () => Promise<boolean>;
}

const program = 'systemd-notify';
const patienceMs = 5000;

export function openSupervisor({ env, log, isAlive }: SupervisorOptions): Supervisor {
  const say = speaker(env, log);
  let watching: NodeJS.Timeout | undefined;
  const everyMs = watchdogMs(env);
  const look = async (): Promise<void> => {
    if (say.isBusy()) return;
    if (await isAlive().catch(() => false)) void say.say('WATCHDOG=1');
    else log.error({}, 'writing stands still: the watchdog is not told that all is well');
  };
  return {
    ready: (status) => {
      void say.say('READY=1', `STATUS=${status}`);
      // a third of what is allowed: one that is late is no end
      if (everyMs !== null) watching ??= setInterval(() => void look(), everyMs / 3).unref();
    },
    reloading: () => {
      const micros = process.hrtime.bigint() / 1000n; // of CLOCK_MONOTONIC, as Type=notify-reload asks for
      void say.say('RELOADING=1', `MONOTONIC_USEC=${micros}`);
    },
    stopping: async () => {
      clearInterval(watching);
      let late: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        late = setTimeout(resolve, 1000);
      });
      await Promise.race([say.say('STOPPING=1'), patience]);
      clearTimeout(late);
    },
  };
}

/** The watchdog's time, where it is this process that is watched. */
function watchdogMs({ WATCHDOG_USEC: micros, WATCHDOG_PID: pid }: Variables): number | null {
  if (micros === undefined || !/^[1-9][0-9]{0,15}$/.test(micros)) return null;
  if (pid !== undefined && pid !== '' && pid !== String(process.pid)) return null;
  return Number(micros) / 1000;
}

interface Speaker {
  /** One message after the other; resolves when it was said or could not be, which is logged once. */
  say(...words: readonly string[]): Promise<void>;
  isBusy(): boolean;
}

function speaker(env: Variables, log: Log): Speaker {
  let last = Promise.resolve();
  let waiting = 0;
  let complained = false;
  const complain = (why: string): void => {
    if (!complained) log.warn({}, `systemd cannot be told how it is: ${program} ${why}; use Type=exec`);
    complained = true;
  };
  return {
    say: (...words) => {
      waiting += 1;
      last = last.then(() => run(words, env, complain)).finally(() => (waiting -= 1));
      return last;
    },
    isBusy: () => waiting > 0,
  };
}

/** Waits until systemd has taken the message: it could not tell whose it is once the sender is gone. */
function run(words: readonly string[], env: Variables, complain: (why: string) => void): Promise<void> {
  const { NOTIFY_SOCKET, PATH } = env;
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      stdio: 'ignore',
      env: { NOTIFY_SOCKET, PATH: PATH ?? '/usr/bin:/bin' },
      timeout: patienceMs,
    });
    child.unref();
    child.once('error', (error) => {
      complain(error.message);
      resolve();
    });
    child.once('close', (code, signal) => {
      if (code !== 0 && code !== null) complain(`ended with ${code}`);
      else if (signal !== null) complain(`did not end within ${patienceMs / 1000} s`);
      resolve();
    });
  });
}

/**
 * Whether a log's writer makes its way: nothing waits, or something was committed since the last look, or the disk is
 * full, which no restart mends. Two looks in a row without any of them: it stands still.
 */
export function progressOf(
  look: () => Promise<{ readonly size: number; readonly queued: number; readonly full: boolean }>,
) {
  let before: { readonly size: number; readonly stuck: boolean } | undefined;
  return async (): Promise<boolean> => {
    const { size, queued, full } = await look();
    const stuck = queued > 0 && !full && before?.size === size;
    const isAlive = !(stuck && before?.stuck === true);
    before = { size, stuck };
    return isAlive;
  };
}
