/**
 * The messages of a serving process to systemd (sd_notify(3)): ready, reloading, stopping, and alive. Node has
 * no Unix datagram sockets, so the program `systemd-notify` sends them. Each message costs about 10 ms of
 * another process every ten seconds, and one line into a pipe here. The unit therefore needs
 * `NotifyAccess=all`. Without NOTIFY_SOCKET nothing is loaded or run. Proven by
 * `test/host/process/supervisor.test.ts`.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Log } from '../../service/call/log.ts';
import type { Variables } from '../config/layers.ts';

export interface Supervisor {
  ready(status: string): void;
  reloading(): void;
  /** Resolves once the message is sent, or after a second. */
  stopping(): Promise<void>;
}

export interface SupervisorOptions {
  readonly env: Variables;
  readonly log: Log;
  /** Whether the process makes progress. That it runs at all shows that the event loop turns. */
  readonly isAlive: () => Promise<boolean>;
}

const program = 'systemd-notify';

export function openSupervisor({ env, log, isAlive }: SupervisorOptions): Supervisor {
  const say = speaker(env, log);
  let watching: NodeJS.Timeout | undefined;
  const everyMs = watchdogMs(env);
  const look = async (): Promise<void> => {
    if (say.isBusy()) return;
    if (await isAlive().catch(() => false)) void say.say('WATCHDOG=1');
    else log.error({}, 'the writer makes no progress, so the watchdog gets no message');
  };
  return {
    ready: (status) => {
      void say.say('READY=1', `STATUS=${status}`);
      // a third of the allowed time, so that one late message does no harm
      if (everyMs !== null) watching ??= setInterval(() => void look(), everyMs / 3).unref();
    },
    reloading: () => {
      const micros = process.hrtime.bigint() / 1000n; // CLOCK_MONOTONIC, as Type=notify-reload requires
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
      say.end();
    },
  };
}

/** The watchdog interval in milliseconds. Null where systemd watches another process or none. */
function watchdogMs({ WATCHDOG_USEC: micros, WATCHDOG_PID: pid }: Variables): number | null {
  if (micros === undefined || !/^[1-9][0-9]{0,15}$/.test(micros)) return null;
  if (pid !== undefined && pid !== '' && pid !== String(process.pid)) return null;
  return Number(micros) / 1000;
}

interface Speaker {
  /** Sends one message after the other. Resolves when it was sent or failed. Logs the first failure only. */
  say(...words: readonly string[]): Promise<void>;
  isBusy(): boolean;
  end(): void;
}

/**
 * A shell that reads lines and sends each. A fork stops a large process while its page tables are copied (55 ms
 * at 1 GiB), but not a small shell. The shell returns the exit code after systemd took the message: systemd
 * cannot identify a sender that has ended. The shell ends when this process closes the pipe, and not by a
 * signal to the whole unit, so that the last message is sent too.
 */
const script = `trap '' TERM INT HUP
set -f
while IFS= read -r line; do
  IFS='\t'
  ${program} $line >/dev/null 2>&1
  echo $?
done`;

function speaker(env: Variables, log: Log): Speaker {
  const { NOTIFY_SOCKET, PATH = '/usr/bin:/bin' } = env;
  const waiting: (() => void)[] = [];
  let complained = false;
  let isGone = false;
  const complain = (why: string): void => {
    if (!complained) log.warn({}, `expected ${program} to reach systemd, but it ${why}; use Type=exec`);
    complained = true;
  };
  const gone = (why: string) => (): void => {
    isGone = true;
    if (waiting.length > 0) complain(why);
    for (const settle of waiting.splice(0)) settle();
  };
  const shell = spawn('/bin/sh', ['-c', script], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { NOTIFY_SOCKET, PATH },
  });
  shell.once('error', (error) => gone(error.message)());
  shell.once('exit', gone('no longer runs'));
  shell.stdin.on('error', gone('no longer runs'));
  createInterface(shell.stdout).on('line', (code) => {
    if (code !== '0') complain(`ended with ${code}`);
    waiting.shift()?.();
  });
  // the process may end while the shell waits
  for (const handle of [shell, shell.stdin, shell.stdout] as readonly { unref?(): void }[]) handle.unref?.();
  return {
    say: (...words) =>
      new Promise((resolve) => {
        if (isGone) return resolve();
        waiting.push(resolve);
        shell.stdin.write(`${words.join('\t')}\n`);
      }),
    isBusy: () => waiting.length > 0,
    end: () => {
      shell.stdin.end();
    },
  };
}

/**
 * Whether the writer of a log makes progress. It does if nothing waits, if a commit followed the last check, or
 * if the disk is full, which a restart cannot fix. It hangs after two checks in a row without any of these.
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
