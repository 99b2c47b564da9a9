/**
 * Checkpoints the write-ahead log deliberately. A worker thread copies committed pages while the writer
 * continues. The writer copies only the last part itself, once the log is long enough to restart from its
 * beginning. It truncates the file only after a long reader let it grow. A crash at any step loses nothing:
 * SQLite recovers the log. Source: SQLite's documentation of WAL mode and `PRAGMA wal_checkpoint`.
 * Proven by `test/store/sqlite/upkeep/wal.test.ts`.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { pageBytes, type Connection } from '../../file/connection.ts';
import { cutLog } from '../../file/cut.ts';
import { troubleOf } from '../../file/faults.ts';

const MiB = 1024 * 1024;
/** How much uncopied log triggers the worker. */
const copyBytes = 4 * MiB;
/** How long the log gets before it restarts. */
const startOverBytes = 32 * MiB;
const cutBytes = 64 * MiB;

interface WalState {
  readonly busy: number;
  /** Frames in the file, and how many of them the database has. */
  readonly log: number;
  readonly checkpointed: number;
}

export interface WalKeeper {
  /**
   * Called after each commit. False while a reader keeps erased values in the log: call it again. Throws what
   * a checkpoint throws. Cost without work: 10 µs.
   */
  committed(): boolean;
  /**
   * The next commit frees erased values: the log still has them, so it is truncated as soon as no reader
   * needs it.
   */
  erases(): void;
  /** Space has returned: an earlier copy's "disk full" no longer counts. */
  healed(): void;
  /** Ends the worker. */
  close(): Promise<void>;
}

/** `failed` receives the worker's error in the form that the statement throws here. */
export function walKeeper(db: Connection, failed: (error: unknown) => void): WalKeeper {
  const copier = new Copier(db.name, failed);
  const look = db.prepare<[], WalState>('PRAGMA wal_checkpoint(NOOP)');
  let askedAt = 0;
  let cutting = false;
  const committed = (): boolean => {
    if (copier.busy) return !cutting;
    if (cutting) {
      cutting = !cutLog(db);
      return !cutting;
    }
    const { log, checkpointed } = look.get() ?? unknownState;
    const waiting = (log - checkpointed) * pageBytes;
    if (log < askedAt) askedAt = 0;
    if (waiting > copyBytes && (log - askedAt) * pageBytes > copyBytes) {
      askedAt = log;
      if (copier.broken) copyRest(db);
      else copier.copy();
    } else if (log * pageBytes > startOverBytes && waiting <= copyBytes && checkpointed < log) {
      finish(db, log * pageBytes);
    }
    return true;
  };
  const erases = (): void => {
    cutting = true;
  };
  return { committed, erases, healed: () => copier.healed(), close: () => copier.close() };
}

/** Copies the rest, so that the next commit restarts the log. Truncates a log that has grown too long. */
function finish(db: Connection, bytes: number): void {
  const { log, checkpointed } = copyRest(db);
  if (bytes <= cutBytes || checkpointed < log) return;
  cutLog(db);
}

const unknownState: WalState = { busy: 1, log: 0, checkpointed: 0 };

const copyRest = (db: Connection): WalState =>
  (db.pragma('wal_checkpoint(PASSIVE)') as WalState[])[0] ?? unknownState;

/** The worker's program: plain JavaScript, so that it needs no file of its own in a bundle. */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const Database = require(workerData.driver);
const db = new Database(workerData.path, { fileMustExist: true, timeout: 0 });
for (const setting of ['synchronous = FULL', 'fullfsync = 1', 'checkpoint_fullfsync = 1', 'wal_autocheckpoint = 0'])
  db.pragma(setting);
parentPort.on('message', (order) => {
  if (order === 'close') {
    db.close();
    parentPort.close();
    return;
  }
  try {
    db.pragma('wal_checkpoint(PASSIVE)');
    parentPort.postMessage(null);
  } catch (error) {
    parentPort.postMessage({ message: error.message, code: error.code });
  }
});
`;

class Copier {
  busy = false;
  /** The worker could not start; the writer copies by itself. */
  broken = false;
  #wasFull = false;
  #worker: Worker | null = null;
  readonly #path: string;
  readonly #failed: (error: unknown) => void;

  constructor(path: string, failed: (error: unknown) => void) {
    this.#path = path;
    this.#failed = failed;
  }

  healed(): void {
    this.#wasFull = this.busy;
  }

  copy(): void {
    this.busy = true;
    this.#wasFull = false;
    this.#worker ??= this.#start();
    this.#worker.postMessage('copy');
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
      worker.ref();
      worker.postMessage('close');
    });
  }

  #start(): Worker {
    const driver = createRequire(import.meta.url).resolve('better-sqlite3');
    const worker = new Worker(program, { eval: true, workerData: { driver, path: this.#path } });
    worker.unref();
    worker.on('message', (error: { message: string; code: string } | null) => {
      this.busy = false;
      if (error === null) return;
      const failure = new Database.SqliteError(error.message, error.code);
      if (!(this.#wasFull && troubleOf(failure) === 'full')) this.#failed(failure);
    });
    worker.on('error', () => {
      this.busy = false;
      this.broken = true;
      this.#worker = null;
    });
    return worker;
  }
}
