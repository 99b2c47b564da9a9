/**
 * The SQLite engine of the store port: one writing connection with group commit, and one reading connection.
 * A plane runs the writing connection in a thread of its own. Signed heads are in a second file. A lock on
 * the directory ends with the process. Source: the guarantees in `src/store/port/store.ts`.
 * Proven by `test/store/sqlite/suite.alone.test.ts`, `test/store/sqlite/write/thread.alone.test.ts` (the
 * store suite) and the tests in the same folders.
 */
import Database from 'better-sqlite3';
import { basename } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Store } from '../port/store.ts';
import { checkpointSaver } from './write/checkpoints.ts';
import { openEngine, type Engine } from './write/engine.ts';
import { documentSaver } from '../append/documents.ts';
import { dueDocuments } from './effects/documents.ts';
import { dueJobs } from './effects/jobs.ts';
import { openParts, type OpenOptions, type Parts } from './open.ts';
import { storeFiles } from '../file/paths.ts';
import { RandomPool } from '../append/random.ts';
import { storeReader, watchedReader } from './read/reader.ts';
import { Notices } from '../append/notices.ts';
import { TroubleReport } from '../append/spell.ts';
import { projectNumbers } from './read/leaves.ts';
import { freeBytes } from '../file/faults.ts';
import { watchFiles } from './upkeep/moved.ts';
import { openReserve, type Reserve } from './upkeep/reserve.ts';
import { preparer } from '../file/statement.ts';
import { taskStatements } from './effects/tasks.ts';
import { ThreadEngine } from './write/thread-engine.ts';
import { unsignedFinder } from './write/unsigned.ts';
import { treeNumber } from '../append/trees.ts';
import { openAcked } from '../acked/heads.ts';
import type { OfProject } from './write/operations.ts';

export { openReader } from './read/reader.ts';
export { compactStore, type CompactionResult, type CompactProgress } from './upkeep/compact.ts';
export { isRewriteDue } from './upkeep/rewrite.ts';

/** Room that a start needs beside the database, such as for `run.json`. */
const startBytes = 256 * 1024;

/** How often the store checks whether a full disk has space again. */
const probeMs = 1000;

export interface StoreOptions extends OpenOptions {
  readonly clock: { now(): number };
  /** Writes in a separate thread, which has its own randomness. Absent or false: writes in this thread. */
  readonly thread?: boolean;
  /** Cryptographic randomness for event ids, nonces and leases. */
  readonly randomBytes: (size: number) => Buffer;
  /** Space reserved for the case of a full disk. Default: `limits.diskReserveBytes`; 0 reserves nothing. */
  readonly reserveBytes?: number;
  /** Called once, when writing has stopped permanently. The host drains, then exits with 74. */
  readonly onFault?: (error: GovError) => void;
}

export interface SqliteStore extends Store {
  /** Checks whether a full disk has space again; the store also does so every second. True when writable. */
  probe(): boolean;
  /** Records that a reader in another thread found an altered leaf of the project, if `error` says so. */
  note(error: unknown, projectId: string): void;
}

/**
 * Opens the store in a directory and creates the directory if it is missing. Throws what `openParts` throws.
 */
export function openStore(options: StoreOptions): SqliteStore {
  const { dataDir, reserveBytes = limits.diskReserveBytes } = options;
  const reserve = openReserve(storeFiles(dataDir).reserve, reserveBytes);
  const { parts, fullDisk } = openWithRoom(options, reserve);
  try {
    return assemble(parts, options, { reserve, fullDisk });
  } catch (error) {
    parts.close();
    throw error;
  }
}

/**
 * A full disk has no room to open the files, or for the small ones that a start writes: the reserve then makes room, so that
 * reads are served.
 */
function openWithRoom(options: OpenOptions, reserve: Reserve): { parts: Parts; fullDisk: GovError | null } {
  try {
    const parts = openParts(options);
    if (freeBytes(options.dataDir) >= startBytes || !reserve.isThere()) return { parts, fullDisk: null };
    reserve.release();
    return { parts, fullDisk: new GovError('STORAGE_FULL', 'the disk has no room to start') };
  } catch (error) {
    const isFull = error instanceof GovError && error.code === 'STORAGE_FULL';
    if (!isFull || !reserve.isThere()) throw error;
    reserve.release();
    return { parts: openParts(options), fullDisk: error };
  }
}

const stillServed =
  'storage_full: the disk is full: reads are served, writing continues by itself once there is space';

function assemble(
  parts: Parts,
  options: StoreOptions,
  { reserve, fullDisk }: { reserve: Reserve; fullDisk: GovError | null },
): SqliteStore {
  let probing: NodeJS.Timeout | undefined;
  const probe = (): boolean => {
    if (engine.trouble?.code !== 'STORAGE_FULL') return engine.trouble === null;
    if (!reserve.refill()) return false;
    clearInterval(probing);
    engine.heal();
    full.end('the disk has space again: writing continues');
    return true;
  };
  const { clock, onWarning } = options;
  const full = new TroubleReport({ now: () => clock.now(), warn: (text) => onWarning?.(text) });
  const engine = startEngine(parts, options, () => {
    full.begin(stillServed);
    reserve.release();
    clearInterval(probing);
    probing = setInterval(probe, probeMs).unref();
  });
  if (fullDisk !== null) {
    engine.report(new Database.SqliteError('no room to open the files', 'SQLITE_FULL'));
  } else if (!reserve.refill()) {
    options.onWarning?.('the disk has too little space left to keep a reserve');
  }
  // the first append of a log records its loss; one that fails leaves that to a later one
  for (const projectId of parts.lacking)
    engine.write({ verb: 'append', request: { projectId, leaves: [] } }).catch(() => {});
  const notices = new Notices((text) => options.onWarning?.(text));
  const { main, heads, subjects, lock } = storeFiles(options.dataDir);
  const watched = [main, heads, lock, ...(parts.subjects === null ? [] : [subjects])];
  const unwatch = watchFiles(watched, (path) => {
    const replaced = `database_replaced: ${basename(path)} was removed or replaced while it was in use`;
    notices.add(replaced);
    engine.report(new Database.SqliteError(replaced, 'SQLITE_READONLY_DBMOVED'));
  });
  const note: SqliteStore['note'] = (error, projectId) => notices.note(error, projectId);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    unwatch();
    full.close();
    await engine.drain();
    clearInterval(probing);
    parts.reading.close(); // first, so that the writing connection closes last and removes the write-ahead log
    parts.subjects?.reading.close();
    try {
      await engine.close();
    } finally {
      parts.close();
    }
  };
  return {
    ...watchedReader(storeReader(parts.reading), { failed: (error) => engine.report(error), note }),
    ...writes(parts, engine, new RandomPool(options.randomBytes)),
    probe,
    note,
    condition: () => conditionOf(engine, notices),
    close: () => (closing ??= close()),
  };
}

/**
 * With `thread`, the engine opens its own connection; `parts.writing` only served the checks of the opening.
 */
function startEngine(parts: Parts, options: StoreOptions, filled: () => void): Engine {
  const { clock, randomBytes, faults, onFault } = options;
  const stopped = (error: GovError): void => onFault?.(error);
  const warn = (text: string): void => options.onWarning?.(text);
  taskStatements(preparer(parts.writing, faults)).sweepStaged();
  if (options.thread === true) {
    parts.writing.close();
    parts.subjects?.writing.close();
    const path = storeFiles(options.dataDir).main;
    const { masterKey } = options;
    return new ThreadEngine({ path, masterKey, clock, stopped, filled, warn, started: faults?.started });
  }
  const acked = openAcked(options.dataDir, warn);
  return openEngine({ db: parts.writing, clock, randomBytes, faults, acked, stopped, filled, warn });
}

function conditionOf({ trouble, queued }: Engine, notices: Notices): ReturnType<Store['condition']> {
  const reasons = trouble === null ? [] : [`${trouble.code.toLowerCase()}: ${trouble.message}`];
  const { altered } = notices;
  return { writable: trouble === null, reasons: [...reasons, ...notices.reasons], queued, altered };
}

type Writes = Omit<Store, keyof ReturnType<typeof storeReader> | 'condition' | 'close'>;

function writes({ reading, heads }: Parts, engine: Engine, random: RandomPool): Writes {
  const numberOf = projectNumbers(reading);
  const of = (projectId: string): OfProject => ({ projectId, project: numberOf(projectId) });
  const isDue = dueJobs(reading);
  const isDocumentDue = dueDocuments(reading);
  const append: Writes['append'] = (request) => engine.write({ verb: 'append', request });
  return {
    append,
    saveDocuments: documentSaver(append),
    claimDocument: async (claim) =>
      isDocumentDue(claim) ? engine.write({ verb: 'claimDocument', claim }) : null,
    createProject: (project, genesis) => engine.write({ verb: 'createProject', project, genesis }),
    createTenant: (tenant) => engine.write({ verb: 'createTenant', tenant }),
    claimInstallation: (text) => engine.write({ verb: 'claimInstallation', text }),
    used: (uses) => engine.write({ verb: 'used', uses }),
    stageGraphPart: async (projectId, graphId, part) =>
      engine.write({ verb: 'stageGraphPart', ...of(projectId), graphId, part }),
    saveCheckpoint: checkpointSaver({
      reading,
      heads,
      numberOf,
      save: (of, saved) => engine.write({ verb: 'saveNote', ...of, note: saved }),
      trouble: () => engine.trouble,
      failed: (error) => engine.report(error),
    }),
    saveCosignatures: async (projectId, tree, size, cosignatures) =>
      engine.write({
        verb: 'saveCosignatures',
        ...of(projectId),
        tree: treeNumber(tree),
        size,
        cosignatures,
      }),
    unsigned: unsignedFinder(reading),
    claimJob: async (nowMs, leaseMs) => {
      if (!isDue(nowMs)) return null;
      const lease = { token: random.bytes(16).toString('base64url'), untilMs: nowMs + leaseMs };
      return engine.write({ verb: 'claimJob', nowMs, lease });
    },
    renewJob: async (projectId, jobId, token, untilMs) =>
      engine.write({ verb: 'renewJob', ...of(projectId), jobId, lease: { token, untilMs } }),
    failJob: async (projectId, jobId, failure) =>
      engine.write({ verb: 'failJob', ...of(projectId), jobId, failure }),
    saveApiKey: async (key) => engine.write({ verb: 'saveApiKey', ...of(key.projectId), key }),
    expireExport: async (projectId, exportId, atMs) =>
      engine.write({ verb: 'expireExport', ...of(projectId), exportId, atMs }),
    markExportRemoved: async (projectId, exportId) =>
      engine.write({ verb: 'markExportRemoved', ...of(projectId), exportId }),
    dropPruned: async (projectId, range) => engine.write({ verb: 'dropPruned', ...of(projectId), range }),
    saveMap: async (projectId, saving) => engine.write({ verb: 'saveMap', ...of(projectId), saving }),
    saveTermBlock: async (projectId, head, terms) =>
      engine.write({ verb: 'saveTermBlock', ...of(projectId), head, terms }),
    dropMap: async (projectId) => engine.write({ verb: 'dropMap', ...of(projectId) }),
    sweep: async (nowMs) => {
      await engine.write({ verb: 'sweepOld', nowMs });
      while (await engine.write({ verb: 'sweepAnswers', nowMs }));
      while (await engine.write({ verb: 'sweepFacts', nowMs }));
    },
  };
}
