/**
 * Stops the process that serves a data directory. The lock of the directory names its holder, so a process id that was
 * given to another program is never signalled. Proven by `test/cli/commands/plane/stop.test.ts`.
 */
import { pause } from '../../src/client/retry.ts';
import { readRunFile } from '../../src/host/files/run.ts';
import { lockHolder } from '../../src/store/file/lock.ts';
import { storeFiles } from '../../src/store/file/paths.ts';

const pollMs = 50;

export interface StopOptions {
  readonly timeoutMs: number;
  /** Kills the process if it has not ended after the time. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

export interface StopResult {
  readonly dataDir: string;
  /** `unknown`: a process holds the directory, and is not the one of run.json. */
  readonly result: 'stopped' | 'killed' | 'not serving' | 'still serving' | 'unknown';
  readonly pid: number | null;
}

/** Sends SIGTERM and waits until the directory is free. Throws EPERM for the process of another user. */
export async function stopPlane(
  dataDir: string,
  { timeoutMs, force, signal }: StopOptions,
): Promise<StopResult> {
  const held = lockHolder(storeFiles(dataDir).lock);
  if (held === null) return { dataDir, result: 'not serving', pid: null };
  const { pid } = held;
  if (pid === null || readRunFile(dataDir).pid !== pid) return { dataDir, result: 'unknown', pid };
  process.kill(pid, 'SIGTERM');
  const isFree = async (deadlineMs: number): Promise<boolean> => {
    while (lockHolder(storeFiles(dataDir).lock)?.pid === pid) {
      if (performance.now() > deadlineMs) return false;
      await pause(pollMs, signal);
    }
    return true;
  };
  if (await isFree(performance.now() + timeoutMs)) return { dataDir, result: 'stopped', pid };
  if (!force) return { dataDir, result: 'still serving', pid };
  process.kill(pid, 'SIGKILL');
  const isGone = await isFree(performance.now() + 5000);
  return { dataDir, result: isGone ? 'killed' : 'still serving', pid };
}
