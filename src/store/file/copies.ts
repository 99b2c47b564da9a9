/**
 * Copies of a store that are consistent even during writes.
 * Each database is copied from one snapshot, a few MiB per turn of the event loop. The log is copied last, so
 * that no other file of the copy names leaves that the copy lacks. Then the copy's heads file is raised to
 * the signed heads of the copied log.
 * Proven by `test/plane/data/backup.test.ts`.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';
import { connect, type Connection, type Value } from './connection.ts';
import { opening } from './faults.ts';
import { syncFile } from './paths.ts';
import { logHeads, openHeads, reconcileHeads, type LogHead, type NamedHead } from './heads.ts';
import { assertKnownVersion } from './migrate.ts';
import { storeFiles } from './paths.ts';
import { connectReader } from './reader.ts';
import { mainApplicationId, mainMigrations } from './schema/tables.ts';
import { copySnapshot, snapshotOf, type CopyProgress } from './snapshot.ts';
import { destroyInCopy, snapshotsOf } from './subjects-copy.ts';
import { verifyTails } from './tail.ts';
import { rootFromTiles } from '../../core/merkle/tile.ts';
import { tileReader } from './tiles.ts';
import { treeNumber } from '../append/trees.ts';

/** A log in a copy, with its newest signed checkpoint. */
export interface CopiedLog {
  readonly tree: 'audit' | 'metering';
  readonly origin: string;
  readonly size: number;
  /** 32 bytes. */
  readonly root: Buffer;
  /** Null before the first signature. */
  readonly checkpoint: string | null;
}

/**
 * Copies one database of any program from one snapshot. The copy is durable and private. Throws like
 * `snapshotOf`.
 */
export async function copyDatabase(from: string, to: string, onProgress?: CopyProgress): Promise<void> {
  const db = snapshotOf(from);
  try {
    await copySnapshot(db, to, onProgress);
  } finally {
    db.close();
  }
}

/**
 * Copies the two databases of the store in `from` into the directory `to`. Then it checks the copy like a
 * start does: CONFLICT if the copy is an older one itself, STORAGE_FAULT if its newest leaves do not verify.
 * A process may serve `from` meanwhile. Copies the keys of subjects only on request. Cost: reads and writes
 * each page once.
 */
export async function copyStore(
  from: string,
  to: string,
  options: { readonly withSubjects?: boolean; readonly onProgress?: CopyProgress | undefined } = {},
): Promise<CopiedLog[]> {
  const { withSubjects = false, onProgress } = options;
  const [source, copy] = [storeFiles(from), storeFiles(to)];
  for (const path of [source.main, source.heads]) {
    if (!existsSync(path)) throw new GovError('NOT_FOUND', `expected a database at ${path}, got none`);
  }
  connectReader(source.main).close(); // refuse the file of a newer release before copying it
  await copyDatabase(source.heads, copy.heads, onProgress);
  if (withSubjects) await copyWithKeys(from, to, onProgress);
  else await copyDatabase(source.main, copy.main, onProgress);
  return openCopy(to, (db) => {
    const heads = openHeads(copy.heads);
    try {
      reconcileHeads(db, heads, { rebuild: true, hosted: false });
    } finally {
      heads.close();
    }
    verifyTails(db);
    return copiedLogs(db);
  });
}

async function copyWithKeys(from: string, to: string, onProgress?: CopyProgress): Promise<void> {
  const { main, subjects } = snapshotsOf(from);
  const copy = storeFiles(to);
  try {
    // copy the smaller file first: keys destroyed meanwhile stay in its write-ahead log until it is closed
    await copySnapshot(subjects, copy.subjects, onProgress).finally(() => subjects.close());
    await copySnapshot(main, copy.main, onProgress);
  } finally {
    main.close();
  }
  destroyInCopy(to);
}

/** The logs of a store that no process serves. Throws like `copyStore`. */
export const logsOf = (dataDir: string): CopiedLog[] => openCopy(dataDir, copiedLogs);

/** Closing moves the write-ahead log into the file, so that the file is complete. */
function openCopy<Result>(dataDir: string, look: (db: Connection) => Result): Result {
  const { main } = storeFiles(dataDir);
  return opening(main, () => {
    const db = connect(main, { applicationId: mainApplicationId });
    try {
      assertKnownVersion(db, mainMigrations);
      return look(db);
    } finally {
      db.close();
      syncFile(main);
    }
  });
}

function copiedLogs(db: Connection): CopiedLog[] {
  const note = db
    .prepare<Value[], string>('SELECT note FROM checkpoint WHERE project = ? AND tree = ? AND size = ?')
    .pluck();
  return [...logHeads(db)].map(({ project, tree, origin, size, root, signedSize }) => ({
    tree,
    origin,
    size,
    root,
    checkpoint: note.get(project, treeNumber(tree), signedSize) ?? null,
  }));
}

/** The comparison of an externally known head with a copy. */
export type HeadComparison =
  | { readonly is: 'contained'; readonly have: number }
  | { readonly is: 'behind'; readonly have: number }
  | { readonly is: 'contradicted'; readonly have: number; readonly root: Buffer }
  | { readonly is: 'unknown log' };

/**
 * Compares heads with the logs of a store that no process serves. Cost per head: one root from tiles, 1 ms.
 */
export function compareKnownHeads(dataDir: string, known: readonly NamedHead[]): HeadComparison[] {
  return openCopy(dataDir, (db) => {
    const logs = [...logHeads(db)];
    return known.map((head) => compareKnownHead(db, logs, head));
  });
}

function compareKnownHead(
  db: Connection,
  logs: readonly LogHead[],
  { origin, size, root }: NamedHead,
): HeadComparison {
  const log = logs.find((each) => each.origin === origin);
  if (log === undefined) return { is: 'unknown log' };
  const have = log.size;
  if (have < size) return { is: 'behind', have };
  const read = tileReader(db);
  const own = rootFromTiles(size, (level, index) => read(log.project, log.tree, { level, index }));
  return own.equals(root) ? { is: 'contained', have } : { is: 'contradicted', have, root: own };
}

/** A signed head, and the number of leaves of the log that lacks it. */
export interface LackedHead extends NamedHead {
  readonly have: number;
}

/**
 * Stores signed heads in the heads file of a store whose logs lack them. From then on no process signs these
 * logs, and no start accepts them. No older copy can therefore sign.
 */
export function rememberHeads(dataDir: string, lacked: readonly LackedHead[]): void {
  const heads = openHeads(storeFiles(dataDir).heads);
  try {
    for (const { have, ...head } of lacked) heads.learn(head, have);
  } finally {
    heads.close();
  }
}

/** The heads in a separately stored heads file. Null if the file is not one. */
export function headsIn(path: string): NamedHead[] | null {
  try {
    const heads = openHeads(path, { readonly: true });
    try {
      return [...heads.all()];
    } finally {
      heads.close();
    }
  } catch (error) {
    if (error instanceof Database.SqliteError || error instanceof GovError) return null;
    throw error;
  }
}
