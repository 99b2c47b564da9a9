/** Why a machine cannot run what the tests of sandboxes need; null if it can. A container or an old kernel may forbid it. */
import { spawnSync } from 'node:child_process';
import { watchProgram } from '../../../src/cli/sandbox/watch.ts';

export function whyNotWatched(): string | null {
  const program = watchProgram();
  if (program === null) return `no gov-watch for ${process.platform} ${process.arch}`;
  const { status, stderr } = spawnSync(program, ['1', '--', '/bin/true'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return status === 0 ? null : `gov-watch ended with ${status}: ${stderr?.toString().trim()}`;
}

export function whyNotSandboxed(): string | null {
  const reason = whyNotWatched();
  if (reason !== null) return reason;
  const words = ['--unshare-net', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', '/bin/true'];
  const { status, stderr, error } = spawnSync('bwrap', words, { encoding: 'utf8' });
  if (error !== undefined) return 'bwrap is not installed';
  return status === 0 ? null : `bwrap may not make a sandbox here: ${stderr.trim()}`;
}
