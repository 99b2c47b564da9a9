/**
 * Takes what was removed out of the pages of the database. What one statement frees is overwritten with zeros, but
 * pages that were split or joined before keep copies of rows in their unused parts, and whole pages that are free stay
 * as they were; so a database that lost values is written anew when it is closed.
 *
 * That it is due stands in the file `rewrite.due` beside it, durable before the first value goes, so a crash does not
 * lose it: the next close writes the database anew, or `gov log compact` does. It is there too early after a crash between
 * the two, which costs one rewriting more. Proven by `test/store/sqlite/upkeep/rewrite.long.test.ts`.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import type { Connection } from '../../file/connection.ts';
import { pageBytes } from '../../file/connection.ts';
import { troubleOf } from '../../file/faults.ts';
import type { Write } from '../write/operations.ts';

/** What was removed since the database was written anew. */
export type Removed = 'erased' | 'pruned' | null;

/** What a write removes. */
export function removedBy(write: Write): Removed {
  if (write.verb === 'dropPruned') return 'pruned';
  const erases =
    write.verb === 'append' && write.request.effects?.some(({ kind }) => kind === 'eraseFields') === true;
  return erases ? 'erased' : null;
}

export interface DueRewrite {
  /** Of this process, or of one that ended before it could. */
  readonly removed: Removed;
  /** Durable when it returns, but where the disk is full: it then holds until the process ends. */
  note(removed: 'erased' | 'pruned'): void;
  /** The database was written anew, durably. */
  done(): void;
}

const markOf = (main: string): string => join(dirname(main), 'rewrite.due');

/** Whether the database of a data directory is to be written anew. */
export const isRewriteDue = (main: string): boolean => existsSync(markOf(main));

/** Of the database at `main`. */
export function dueRewrite(main: string): DueRewrite {
  const path = markOf(main);
  let removed: Removed = null;
  if (existsSync(path)) removed = readFileSync(path, 'utf8') === 'pruned\n' ? 'pruned' : 'erased';
  return {
    get removed() {
      return removed;
    },
    note: (what) => {
      if (removed === what || removed === 'pruned') return;
      removed = what;
      try {
        writeFileSync(path, `${what}\n`, { mode: 0o600, flush: true });
        syncNames(dirname(path));
      } catch (error) {
        // what is to be removed meets the same disk
        if (!isFull(error)) throw error;
      }
    },
    done: () => {
      removed = null;
      rmSync(path, { force: true });
      syncNames(dirname(path));
    },
  };
}

function syncNames(folder: string): void {
  const directory = openSync(folder, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));

/** A large database is not written anew because of an erasure while somebody waits for a stop: `gov log compact` does. */
export const isWritten = (removed: Removed, bytes: number): boolean =>
  removed === 'pruned' || (removed === 'erased' && bytes <= limits.rewriteBytes);

/**
 * Whether it was done. Needs twice the size of what is left as free space. A full disk is an error after a pruning, which
 * somebody waits for; after an erasure it stays due.
 */
export function rewrite(db: Connection, removed: Removed): boolean {
  const bytes = Number(db.pragma('page_count', { simple: true })) * pageBytes;
  if (!isWritten(removed, bytes)) return false;
  // what is copied does not go through memory
  db.pragma('temp_store = 1');
  try {
    db.exec('VACUUM');
    return true;
  } catch (error) {
    if (troubleOf(error) !== 'full') throw error;
    if (removed === 'pruned') throw noSpace(db.name, error);
    return false;
  }
}

export const noSpace = (main: string, cause: unknown): GovError =>
  new GovError(
    'STORAGE_FULL',
    `expected space to write ${main} anew, twice its size in its folder and in the one for temporary files; what was ` +
      'removed is gone from the log, and copies of it are in unused parts of the file: free space, then run gov log compact',
    { cause },
  );
