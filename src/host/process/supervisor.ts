/**
 * What systemd is told of a serving process (sd_notify(3)): that it is ready, that it reads its files again, that it
 * ends, and while it is alive that it is. Node has no datagram sockets of the Unix family, so `systemd-notify` says it:
 * some 10 ms of another process every ten seconds, and a line into a pipe for this one. The unit needs
 * `NotifyAccess=all` for that. Without NOTIFY_SOCKET nothing is loaded or run. Proven by `test/host/process/supervisor.test.ts`.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Log } from '../../service/call/log.ts';
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
      say.end();
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
  end(): void;
}

/**
 * A shell that waits for lines and says each: a fork of a large process stops it for as long as its page tables are
 * copied (55 ms at 1 GiB), one of a shell does not. It answers with the exit code, once systemd has taken the message,
 * which could not tell whose it is after its sender is gone. It ends with our end of the pipe, and not by a signal to
 * all of the unit, so that the last word is said too.
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
    if (!complained) log.warn({}, `systemd cannot be told how it is: ${program} ${why}; use Type=exec`);
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
  shell.once('exit', gone('is not run any more'));
  shell.stdin.on('error', gone('is not run any more'));
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
