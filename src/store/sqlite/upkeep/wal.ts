/**
 * Checkpoints the write-ahead log on purpose. A worker thread copies what was committed into the database while
 * the writer goes on; the writer itself copies only the last bit, when the log has grown long enough to be
 * started over from its beginning. The file is cut only where a long reader had let it grow.
 * Proven by `test/store/sqlite/upkeep/wal.test.ts`.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { pageBytes, type Connection } from '../../file/connection.ts';
import { cutLog } from '../../file/cut.ts';
import { troubleOf } from '../../file/faults.ts';

const MiB = 1024 * 1024;
/** What waits to be copied before the worker is asked. */
const copyBytes = 4 * MiB;
/** How long the log gets before it is started over. */
const startOverBytes = 32 * MiB;
const cutBytes = 64 * MiB;

interface WalState {
  readonly busy: number;
  /** Frames in the file, and how many of them are in the database. */
  readonly log: number;
  readonly checkpointed: number;
}

export interface WalKeeper {
  /**
   * Called after each commit; false where a reader keeps what was erased in the log, so that it is to be called again.
   * Throws what a checkpoint throws. Cost: 10 µs where nothing is to be done.
   */
  committed(): boolean;
  /** What the next commit frees was erased: the log, which still has it, is cut as soon as no reader needs it. */
  erases(): void;
  /** Space has returned: that the disk was full for a copy begun before says nothing any more. */
  healed(): void;
  /** Ends the worker. */
  close(): Promise<void>;
}

/** `failed` is told what went wrong in the worker, as the statement would have thrown it here. */
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

/** Copies the rest, so that the next commit starts the log over; cuts a log that had grown too long. */
function finish(db: Connection, bytes: number): void {
  const { log, checkpointed } = copyRest(db);
  if (bytes <= cutBytes || checkpointed < log) return;
  cutLog(db);
}

const unknownState: WalState = { busy: 1, log: 0, checkpointed: 0 };

const copyRest = (db: Connection): WalState =>
  (db.pragma('wal_checkpoint(PASSIVE)') as WalState[])[0] ?? unknownState;

/** What the worker runs; plain JavaScript, so that it needs no file of its own in a bundle. */
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
  /** No worker could be had; the writer copies by itself. */
  broken = false;
  private wasFull = false;
  private worker: Worker | null = null;
  private readonly path: string;
  private readonly failed: (error: unknown) => void;

  constructor(path: string, failed: (error: unknown) => void) {
    this.path = path;
    this.failed = failed;
  }

  healed(): void {
    this.wasFull = this.busy;
  }

  copy(): void {
    this.busy = true;
    this.wasFull = false;
    this.worker ??= this.start();
    this.worker.postMessage('copy');
  }

  async close(): Promise<void> {
    const { worker } = this;
    if (worker === null) return;
    this.worker = null;
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
      worker.ref();
      worker.postMessage('close');
    });
  }

  private start(): Worker {
    const driver = createRequire(import.meta.url).resolve('better-sqlite3');
    const worker = new Worker(program, { eval: true, workerData: { driver, path: this.path } });
    worker.unref();
    worker.on('message', (error: { message: string; code: string } | null) => {
      this.busy = false;
      if (error === null) return;
      const failure = new Database.SqliteError(error.message, error.code);
      if (!(this.wasFull && troubleOf(failure) === 'full')) this.failed(failure);
    });
    worker.on('error', () => {
      this.busy = false;
      this.broken = true;
      this.worker = null;
    });
    return worker;
  }
}
