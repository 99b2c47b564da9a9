/** One process per spool (`lock.ts`). Tested by `test/client/sending/spool.test.ts`. */
import { join } from 'node:path';
import { GovSpoolError } from '../errors.ts';
import { takeLock } from './lock.ts';

/** Locks a directory. Returns the release. Errors: exit 6 if another process has the lock. */
export function lockDirectory(directory: string): () => void {
  const path = join(directory, 'lock');
  return takeLock(
    path,
    (why) =>
      new GovSpoolError('SPOOL_IN_USE', `the spool is in use (${path}): ${why}`, {
        hint: 'wait for it, or give each pipeline its own spool: --spool=DIR',
      }),
  );
}
