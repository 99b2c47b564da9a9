/** One process per spool (`src/cli/context/lock.ts`). Tested by `test/cli/push/spool.test.ts`. */
import { join } from 'node:path';
import { CliError, exit } from '../program/exit.ts';
import { takeLock } from '../context/lock.ts';

/** Locks a directory. Returns the release. Errors: exit 6 if another process has the lock. */
export function lockDirectory(directory: string): () => void {
  const path = join(directory, 'lock');
  return takeLock(
    path,
    (why) =>
      new CliError(exit.conflict, `the spool is in use (${path}): ${why}`, {
        code: 'SPOOL_IN_USE',
        hint: 'wait for it, or give each pipeline its own spool: --spool=DIR',
      }),
  );
}
