/**
 * Copies of a store that are whole whatever is written meanwhile: each database is copied from one snapshot of it, a
 * few MiB in a turn of the event loop. Files beside the log come first and the log last, so that nothing in the copy
 * knows of leaves that the copy lacks; its heads file is then raised to what the copied log has signed.
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
import { copySnapshot, snapshotOf } from './snapshot.ts';
import { destroyInCopy, snapshotsOf } from './subjects-copy.ts';
import { verifyTails } from './tail.ts';
import { rootFromTiles } from '../../core/merkle/tile.ts';
import { tileReader } from './tiles.ts';
import { treeNumber } from '../append/trees.ts';

/** A log in a copy, with the newest checkpoint of it that is signed. */
export interface CopiedLog {
  readonly tree: 'audit' | 'metering';
  readonly origin: string;
  readonly size: number;
  /** 32 bytes. */
  readonly root: Buffer;
  /** Null where nothing was signed yet. */
  readonly checkpoint: string | null;
}

/** Copies one database, of whichever program, from one snapshot; the copy is durable and private. Throws as `snapshotOf`. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const db = snapshotOf(from);
  try {
    await copySnapshot(db, to);
  } finally {
    db.close();
  }
}

/**
 * Copies the two databases of the store in `from` into the directory `to`, and looks at the copy as a start does:
 * CONFLICT where it is an older copy itself, STORAGE_FAULT where its newest leaves do not verify. Also beside the process
 * that serves it. Cost: reading and writing each page once. With the keys of subjects only where they are asked for.
 */
export async function copyStore(
  from: string,
  to: string,
  { withSubjects = false }: { readonly withSubjects?: boolean } = {},
): Promise<CopiedLog[]> {
  const [source, copy] = [storeFiles(from), storeFiles(to)];
  for (const path of [source.main, source.heads]) {
    if (!existsSync(path)) throw new GovError('NOT_FOUND', `expected a database at ${path}, got none`);
  }
  connectReader(source.main).close(); // one of a newer release is refused before it is copied
  await copyDatabase(source.heads, copy.heads);
  if (withSubjects) await copyWithKeys(from, to);
  else await copyDatabase(source.main, copy.main);
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

async function copyWithKeys(from: string, to: string): Promise<void> {
  const { main, subjects } = snapshotsOf(from);
  const copy = storeFiles(to);
  try {
    // the smaller one first: what is destroyed meanwhile stays in its write-ahead log until it is closed
    await copySnapshot(subjects, copy.subjects).finally(() => subjects.close());
    await copySnapshot(main, copy.main);
  } finally {
    main.close();
  }
  destroyInCopy(to);
}

/** The logs of the store in a directory that nobody serves. Throws as `copyStore`. */
export const logsOf = (dataDir: string): CopiedLog[] => openCopy(dataDir, copiedLogs);

/** Closing takes the write-ahead log into the file, so that the file is all there is. */
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

/** What a head that is known elsewhere says of a copy. */
export type Standing =
  | { readonly is: 'contained'; readonly have: number }
  | { readonly is: 'behind'; readonly have: number }
  | { readonly is: 'contradicted'; readonly have: number; readonly root: Buffer }
  | { readonly is: 'unknown log' };

/** Compares heads with the logs of a store that nobody serves. Cost per head: one root out of tiles, 1 ms. */
export function standingOf(dataDir: string, known: readonly NamedHead[]): Standing[] {
  return openCopy(dataDir, (db) => {
    const logs = [...logHeads(db)];
    return known.map((head) => stand(db, logs, head));
  });
}

function stand(db: Connection, logs: readonly LogHead[], { origin, size, root }: NamedHead): Standing {
  const log = logs.find((each) => each.origin === origin);
  if (log === undefined) return { is: 'unknown log' };
  const have = log.size;
  if (have < size) return { is: 'behind', have };
  const read = tileReader(db);
  const own = rootFromTiles(size, (level, index) => read(log.project, log.tree, { level, index }));
  return own.equals(root) ? { is: 'contained', have } : { is: 'contradicted', have, root: own };
}

/** A head that was signed, and how many leaves the log has that lacks it. */
export interface LackedHead extends NamedHead {
  readonly have: number;
}

/**
 * Says in the heads file of a store which heads were signed that its logs lack: nothing is signed on them from then on, by
 * a process that serves it neither, and no start takes them. So nothing is signed from an older copy.
 */
export function rememberHeads(dataDir: string, lacked: readonly LackedHead[]): void {
  const heads = openHeads(storeFiles(dataDir).heads);
  try {
    for (const { have, ...head } of lacked) heads.learn(head, have);
  } finally {
    heads.close();
  }
}

/** The heads in a heads file that was kept elsewhere; null where the file is none. */
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
