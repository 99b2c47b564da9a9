/**
 * `gov log compact`: writes the database of a store that nobody serves anew, so that no page keeps copies of what was
 * removed, and destroys the keys of subjects that are to be. SQLite does it in one statement, so a thread does it and this
 * one tells how far it is. A crash leaves the database as it was, or anew; a reader keeps what it reads in the files, so
 * then nothing is taken for done. Proven by `test/store/sqlite/upkeep/rewrite.long.test.ts` and `test/store/sqlite/readers.test.ts`.
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

export interface Compacted {
  /** Of the database file. */
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Bytes that were written, of about so many; nothing while it is read. */
export type CompactProgress = (progress: { readonly done: number; readonly of: number }) => void;

const lookMs = 500;

/**
 * NOT_FOUND where there is no database, CONFLICT where it is served, read by somebody for longer than some seconds, or of
 * a newer release, STORAGE_FULL, STORAGE_FAULT.
 */
export async function compactStore(dataDir: string, onProgress: CompactProgress): Promise<Compacted> {
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

/** Of what is left; refuses what a newer release wrote. */
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

/** What an erasure destroyed, while another program kept it from being so. */
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
    `expected nobody to read ${path}, got a program that does, such as a backup or a check; what was removed is in ` +
      'the file, or in its write-ahead log, until that ended and gov log compact ran again',
  );

const walBytes = (main: string): number => statSync(`${main}-wal`, { throwIfNoEntry: false })?.size ?? 0;

/** What the thread runs; plain JavaScript, so that it needs no file of its own in a bundle. */
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
