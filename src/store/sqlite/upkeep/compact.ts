/**
 * `gov log compact`: rewrites the database of a store that is not in use, so that no page holds removed
 * values. It also destroys the keys of subjects that an erasure named. SQLite rewrites the file in one
 * statement, so a thread runs it while this thread reports progress. A crash leaves the old database or the
 * new one. A reader keeps removed values in the files; then the rewrite does not count as done. Source:
 * SQLite's documentation of VACUUM and `PRAGMA wal_checkpoint`.
 * Proven by `test/store/sqlite/upkeep/rewrite.long.test.ts` and `test/store/sqlite/readers.long.test.ts`.
 */
import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { GovError } from '../../../contract/problems.ts';
import { connect, pageBytes } from '../../file/connection.ts';
import { readerWaitMs, within } from '../../file/cut.ts';
import { opening, troubleOf } from '../../file/faults.ts';
import { takeLock } from '../../file/lock.ts';
import { assertKnownVersion } from '../../file/migrate.ts';
import { storeFiles } from '../../file/paths.ts';
import { dueRewrite, noSpace } from './rewrite.ts';
import { mainApplicationId, mainMigrations } from '../../file/schema/tables.ts';
import { destroyAgain, openSubjects } from '../../file/subjects.ts';

export interface CompactionResult {
  /** Size of the database file. */
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Receives how many of about `of` bytes are written; 0 while SQLite still reads. */
export type CompactProgress = (progress: { readonly done: number; readonly of: number }) => void;

const lookMs = 500;

/**
 * Rewrites the database. NOT_FOUND without a database. CONFLICT if a process serves it, a program reads it
 * for longer than some seconds, or a newer release wrote it. Also STORAGE_FULL and STORAGE_FAULT.
 */
export async function compactStore(dataDir: string, onProgress: CompactProgress): Promise<CompactionResult> {
  const { main, subjects, lock: lockFile } = storeFiles(dataDir);
  if (!existsSync(main)) throw new GovError('NOT_FOUND', `expected a database at ${main}, got none`);
  const lock = takeLock(lockFile, process.pid);
  try {
    const of = neededBytes(main);
    const beforeBytes = statSync(main).size;
    await endKeys(main, subjects);
    const looking = setInterval(() => onProgress({ done: Math.min(walBytes(main), of), of }), lookMs);
    try {
      await vacuum(main);
    } finally {
      clearInterval(looking);
    }
    dueRewrite(main).done();
    return { beforeBytes, afterBytes: statSync(main).size };
  } finally {
    lock.release();
  }
}

/** Returns the bytes of the used pages; refuses a database of a newer release. */
const neededBytes = (main: string): number =>
  opening(main, () => {
    const db = connect(main, { applicationId: mainApplicationId });
    try {
      assertKnownVersion(db, mainMigrations);
      const pages = (name: string): number => Number(db.pragma(name, { simple: true }));
      return (pages('page_count') - pages('freelist_count')) * pageBytes;
    } finally {
      db.close();
    }
  });

/** Destroys keys whose destruction another program prevented. */
async function endKeys(main: string, path: string): Promise<void> {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const db = connect(main, { applicationId: mainApplicationId });
  try {
    const subjects = openSubjects(path);
    try {
      if (!(await within(() => destroyAgain(db, subjects)))) throw readBySome(path);
    } finally {
      subjects.close();
    }
  } finally {
    db.close();
  }
}

const readBySome = (path: string): GovError =>
  new GovError(
    'CONFLICT',
    `expected no reader of ${path}, got one, such as a backup or a check; removed values stay in the file or in its ` +
      'write-ahead log until the reader ends and gov log compact runs again',
  );

const walBytes = (main: string): number => statSync(`${main}-wal`, { throwIfNoEntry: false })?.size ?? 0;

/** The worker's program: plain JavaScript, so that it needs no file of its own in a bundle. */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const Database = require(workerData.driver);
let db;
const cut = () => db.pragma('wal_checkpoint(TRUNCATE)')[0].busy === 0;
try {
  db = new Database(workerData.path, { fileMustExist: true, timeout: workerData.waitMs });
  for (const setting of ['synchronous = FULL', 'fullfsync = 1', 'checkpoint_fullfsync = 1', 'temp_store = 1'])
    db.pragma(setting);
  let isCut = cut();
  if (isCut) {
    db.exec('VACUUM');
    isCut = cut();
  }
  db.close();
  parentPort.postMessage(isCut ? null : { code: 'SQLITE_BUSY', message: 'somebody reads it' });
} catch (error) {
  if (db !== undefined) db.close();
  parentPort.postMessage({ message: error.message, code: error.code });
}
`;

async function vacuum(main: string): Promise<void> {
  const driver = createRequire(import.meta.url).resolve('better-sqlite3');
  const worker = new Worker(program, {
    eval: true,
    workerData: { driver, path: main, waitMs: readerWaitMs },
  });
  const failed = await new Promise<{ message: string; code: string } | null>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  await worker.terminate();
  if (failed === null) return;
  const error = new Database.SqliteError(failed.message, failed.code);
  const trouble = troubleOf(error);
  if (trouble === 'full') throw noSpace(main, error);
  if (trouble === 'busy') throw readBySome(main);
  opening(main, () => {
    throw error;
  });
}
