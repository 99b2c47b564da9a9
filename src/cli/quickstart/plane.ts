/**
 * The plane of `gov quickstart`: a child process like `gov plane serve`, on a free port.
 * Tested by `test/cli/commands/quickstart/run.test.ts`.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { readRunFile } from '../context/run-file.ts';
import { CliError, exit } from '../program/exit.ts';

const startDeadlineMs = 15_000;
/** A plane that does not end in this time is killed. */
const stopDeadlineMs = 5000;
const pollMs = 10;

export interface DemoPlane {
  readonly baseUrl: string;
  readonly startedInMs: number;
  /** Stops it in order, and kills it if that takes too long; resolves after it has ended. */
  stop(): Promise<void>;
  /** Lets it outlive this process. */
  release(): void;
}

/** Starts the plane in `dataDir`. Errors: exit 1 with the last lines of the plane's log. */
export async function startPlane(dataDir: string, signal: AbortSignal): Promise<DemoPlane> {
  const logFile = `${dataDir}.log`;
  const log = openSync(logFile, 'a', 0o600);
  const startedAt = performance.now();
  // process.argv[1] is this tool, in every way of starting it
  const args = [process.argv[1] ?? '', 'plane', 'serve', '--data', dataDir, '--listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const alive = (): boolean =>
    child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const stop = async (): Promise<void> => {
    if (alive()) child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs);
    await gone;
    clearTimeout(late);
  };
  while (performance.now() - startedAt < startDeadlineMs && alive() && !signal.aborted) {
    const run = readRunFile(dataDir);
    const baseUrl = run.pid === child.pid ? run.baseUrl : undefined;
    if (baseUrl !== undefined) {
      const startedInMs = performance.now() - startedAt;
      return { baseUrl, startedInMs, stop, release: () => child.unref() };
    }
    await pause(pollMs);
  }
  await stop();
  signal.throwIfAborted();
  const words = readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? '';
  throw new CliError(exit.error, `the plane did not start: ${words}`, {
    hint: 'see what is wrong: gov plane init --data ./my-plane && gov plane serve --data ./my-plane',
  });
}
