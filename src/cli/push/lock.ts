/** One process per spool (`src/cli/context/lock.ts`). Proven by `test/cli/push/spool.test.ts`. */
import { join } from 'node:path';
import { CliError, exit } from '../program/exit.ts';
import { takeLock } from '../context/lock.ts';

/** Takes the lock of a directory; the answer releases it. CliError (exit 6) where another process holds it. */
export function lockDirectory(directory: string): () => void {
  const path = join(directory, 'lock');
  return takeLock(
    path,
    (why) =>
      new CliError(exit.conflict, `the spool is in use (${path}): ${why}`, {
        code: 'SPOOL_IN_USE',
        hint: 'wait for it, or give each pipeline a spool of its own: --spool DIR',
      }),
  );
}
