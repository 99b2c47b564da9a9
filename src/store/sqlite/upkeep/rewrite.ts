/**
 * Removes old values from the pages of the database by a rewrite of the file (VACUUM) when it closes. SQLite
 * overwrites rows with zeros when a statement frees them. Pages that were split or joined earlier still hold
 * copies of rows in unused parts, and free pages keep their content. A database that lost values is therefore
 * rewritten when it closes.
 *
 * The file `rewrite.due` beside the database marks it. The mark is durable before the first value is removed,
 * so a crash does not lose it: the next close, or `gov log compact`, rewrites the database. A crash between
 * mark and removal costs one needless rewrite. Source: SQLite's documentation of VACUUM and `PRAGMA
 * secure_delete`.
 * Proven by `test/store/sqlite/upkeep/rewrite.long.test.ts`.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { syncDirectory } from '../../../files/durable.ts';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import type { Connection } from '../../file/connection.ts';
import { pageBytes } from '../../file/connection.ts';
import { troubleOf } from '../../file/faults.ts';
import type { Write } from '../write/operations.ts';

/** The kind of values removed since the last rewrite. */
export type RemovalKind = 'erased' | 'pruned' | null;

/** The kind of values that a write removes. */
export function removedBy(write: Write): RemovalKind {
  if (write.verb === 'dropPruned') return 'pruned';
  const erases =
    write.verb === 'append' && write.request.effects?.some(({ kind }) => kind === 'eraseFields') === true;
  return erases ? 'erased' : null;
}

export interface DueRewrite {
  /** Removed by this process, or by one that ended before its rewrite. */
  readonly removed: RemovalKind;
  /** Durable when it returns. On a full disk the mark only lasts until the process ends. */
  note(removed: 'erased' | 'pruned'): void;
  /** Called when the database is rewritten durably. */
  done(): void;
}

const markOf = (main: string): string => join(dirname(main), 'rewrite.due');

/** Whether the database of a data directory needs a rewrite. */
export const isRewriteDue = (main: string): boolean => existsSync(markOf(main));

/** Reads and writes the mark of the database at `main`. */
export function dueRewrite(main: string): DueRewrite {
  const path = markOf(main);
  let removed: RemovalKind = null;
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
        syncDirectory(dirname(path));
      } catch (error) {
        // the removal meets the same full disk
        if (!isFull(error)) throw error;
      }
    },
    done: () => {
      removed = null;
      rmSync(path, { force: true });
      syncDirectory(dirname(path));
    },
  };
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));

/**
 * A stop does not rewrite a large database after an erasure, because someone waits for the stop: `gov log
 * compact` does.
 */
export const isWritten = (removed: RemovalKind, bytes: number): boolean =>
  removed === 'pruned' || (removed === 'erased' && bytes <= limits.rewriteBytes);

/**
 * Returns whether it rewrote the database. Needs free space of twice the size of the used pages. A full disk
 * is an error after pruning, because a caller waits for it; after an erasure the rewrite stays due.
 */
export function rewrite(db: Connection, removed: RemovalKind): boolean {
  const bytes = Number(db.pragma('page_count', { simple: true })) * pageBytes;
  if (!isWritten(removed, bytes)) return false;
  // use a file for the copy, not memory
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
    `expected space to rewrite ${main}, twice its size in its folder and in the one for temporary files, got a full ` +
      'disk; the log has lost the removed values, but unused parts of the file hold copies: free space, then run ' +
      'gov log compact',
    { cause },
  );
