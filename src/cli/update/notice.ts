/**
 * One line about a newer release, after a command, for a user who asked for it (`gov config set updateNotice true`): at most
 * once a day, only on a terminal, never in CI. No command waits for it: a process behind the command asks the registry, and
 * a later command prints what it stored. Tested by `test/cli/update/notice.test.ts`.
 */
import { spawn } from 'node:child_process';
import { version } from '../../client/version.ts';
import type { Io } from '../terminal/io.ts';
import { changeUpdateState, isNewer, readUpdateState, registryOf } from './state.ts';

const dayMs = 86_400_000;

/** Prints the line, or starts the question where a day has gone by. `start` runs the tool with these words. Never throws. */
export function noticeUpdate(io: Io, start: (words: readonly string[]) => void): void {
  const { env, stderr } = io;
  const now = io.now();
  const isOver = (ms: number): boolean => Math.abs(now - ms) >= dayMs;
  try {
    if (registryOf(env, now) === null) return;
    const { askedMs, toldMs, latest } = readUpdateState(env);
    if (latest !== null && isNewer(latest) && isOver(toldMs)) {
      changeUpdateState(env, { toldMs: now });
      stderr.write(
        `gov ${latest} is available, this is ${version}; no more notices: gov config set updateNotice false\n`,
      );
    }
    if (!isOver(askedMs)) return;
    // stored first: without a place to store it, each command would ask
    changeUpdateState(env, { askedMs: now });
    start(['__update']);
  } catch {
    // a broken file or a full disk concerns the commands, which report it
  }
}

/** Starts the tool in the background. It outlives the command, and nothing waits for it. */
export function startBehind(words: readonly string[], env: Io['env']): void {
  // process.argv[1] is this tool, in every way of starting it
  const all = [...process.execArgv, process.argv[1] ?? '', ...words];
  const child = spawn(process.execPath, all, { stdio: 'ignore', detached: true, env: { ...env } });
  child.once('error', () => {});
  child.unref();
}
