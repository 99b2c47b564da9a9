/**
 * The SQLite engine of the store port: one writer connection with group commit, one reader connection, a
 * second file for signed heads, a lock that ends with the process.
 * Proven by `test/store/sqlite.test.ts` (the store suite) and the other tests beside it.
 */
import Database from 'better-sqlite3';
import { basename } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { GovError } from '../../contract/problems.ts';
import { emptyRoot } from '../../core/merkle.ts';
import type { LeafDraft } from '../../core/record.ts';
import type { AppendRequest, Store } from '../port.ts';
import { checkpointSaver } from './checkpoints.ts';
import { dueJobs, jobMoves } from './jobs.ts';
import { openParts, storeFiles, type OpenOptions, type Parts } from './open.ts';
import { RandomPool } from './random.ts';
import { storeReader, watchedReader } from './reader.ts';
import { isAltered, projectNumbers } from './readleaves.ts';
import { watchFiles } from './moved.ts';
import { openReserve } from './reserve.ts';
import { Sequencer } from './sequencer.ts';
import { preparer } from './statement.ts';
import { taskStatements } from './tasks.ts';
import { walKeeper } from './wal.ts';
import { Writer } from './writer.ts';

export type { Faults } from './faults.ts';
export { storeFiles } from './open.ts';
export { openReader } from './reader.ts';

/** How often a full disk is asked again. */
const probeMs = 1000;

export interface StoreOptions extends OpenOptions {
  readonly clock: { now(): number };
  /** Cryptographic randomness: event ids, nonces, leases. */
  readonly randomBytes: (size: number) => Buffer;
  /** Space kept for a full disk; `limits.diskReserveBytes` where absent, none with 0. */
  readonly reserveBytes?: number;
  /** Once, when writing stopped for good: the host drains, and exits with 74. */
  readonly onFault?: (error: GovError) => void;
}

export interface SqliteStore extends Store {
  /** Asks whether a full disk has space again, as happens every second by itself; true when writable. */
  probe(): boolean;
  /** Takes note of an altered leaf that a reader in another thread met, where the error says so. */
  note(error: unknown): void;
}

/** Opens the store in a directory, which is made where it is absent. Throws as `openParts` does. */
export function openStore(options: StoreOptions): SqliteStore {
  const parts = openParts(options);
  try {
    return assemble(parts, options);
  } catch (error) {
    parts.close();
    throw error;
  }
}

function assemble(parts: Parts, options: StoreOptions): SqliteStore {
  const { writing, reading } = parts;
  const { clock, randomBytes, faults } = options;
  const random = new RandomPool(randomBytes);
  const prepare = preparer(writing, faults);
  const sequencer = new Sequencer({ db: writing, prepare, clock, random });
  const reserve = openReserve(
    storeFiles(options.dataDir).reserve,
    options.reserveBytes ?? limits.diskReserveBytes,
  );
  let probing: NodeJS.Timeout | undefined;
  const probe = (): boolean => {
    if (writer.trouble?.code !== 'STORAGE_FULL') return writer.trouble === null;
    if (!reserve.refill()) return false;
    clearInterval(probing);
    writer.heal();
    return true;
  };
  const writer = new Writer({
    db: writing,
    participant: sequencer,
    faults,
    committed: () => {
      try {
        wal.committed();
      } catch (error) {
        writer.report(error);
      }
    },
    stopped: (error) => options.onFault?.(error),
    filled: () => {
      reserve.release();
      clearInterval(probing);
      probing = setInterval(probe, probeMs).unref();
    },
  });
  const wal = walKeeper(writing, (error) => writer.report(error));
  const tasks = taskStatements(prepare);
  tasks.sweepStaged();
  if (!reserve.fill()) options.onWarning?.('the disk has too little space left to keep a reserve');
  const notices = new Notices((text) => options.onWarning?.(text));
  const { main, heads } = storeFiles(options.dataDir);
  const unwatch = watchFiles([main, heads], (path) => {
    const replaced = `database_replaced: ${basename(path)} was removed or replaced while it was in use`;
    notices.add(replaced);
    writer.report(new Database.SqliteError(replaced, 'SQLITE_READONLY_DBMOVED'));
  });
  const note = (error: unknown): void => {
    if (isAltered(error)) notices.add(`integrity_violation: ${error.message}`);
  };
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    unwatch();
    await writer.close();
    clearInterval(probing);
    await wal.close();
    if (writer.trouble === null) writing.pragma('wal_checkpoint(TRUNCATE)');
    parts.close();
  };
  return {
    ...watchedReader(storeReader(reading), { failed: (error) => writer.report(error), altered: note }),
    ...writes({ parts, writer, sequencer, tasks, prepare, random }),
    probe,
    note,
    condition: () => conditionOf(writer, notices),
    close: () => (closing ??= close()),
  };
}

/** What an operator must know beside the writer's own trouble: told once for each code, kept until the end. */
class Notices {
  readonly reasons: string[] = [];
  private readonly told: (text: string) => void;

  constructor(told: (text: string) => void) {
    this.told = told;
  }

  /** `reason`: `code: text`. */
  add(reason: string): void {
    const code = reason.slice(0, reason.indexOf(':') + 1);
    if (this.reasons.some((known) => known.startsWith(code))) return;
    this.reasons.push(reason);
    this.told(reason);
  }
}

function conditionOf({ trouble, queued }: Writer, notices: Notices): ReturnType<Store['condition']> {
  const reasons = trouble === null ? [] : [`${trouble.code.toLowerCase()}: ${trouble.message}`];
  return { writable: trouble === null, reasons: [...reasons, ...notices.reasons], queued };
}

interface WriteParts {
  readonly parts: Parts;
  readonly writer: Writer;
  readonly sequencer: Sequencer;
  readonly tasks: ReturnType<typeof taskStatements>;
  readonly prepare: ReturnType<typeof preparer>;
  readonly random: RandomPool;
}

type Writes = Omit<Store, keyof ReturnType<typeof storeReader> | 'condition' | 'close'>;

function writes({ parts, writer, sequencer, tasks, prepare, random }: WriteParts): Writes {
  const numberOf = projectNumbers(parts.reading);
  const isDue = dueJobs(parts.reading);
  const jobs = jobMoves(prepare);
  const write = <Result>(bytes: number, run: () => Result): Promise<Result> =>
    writer.enqueue({ bytes, isolated: true, run });
  return {
    append: (request) =>
      writer.enqueue({
        bytes: requestBytes(request),
        isolated: isIsolated(request),
        run: () => sequencer.append(request),
      }),
    createProject: (project, genesis) =>
      write(draftBytes(genesis), () => {
        tasks.createProject(project, emptyRoot);
        const { projectId } = project;
        sequencer.append({ projectId, leaves: [genesis], meter: { op: 'none', units: 0 } });
      }),
    stageGraphPart: async (projectId, graphId, part) => {
      const project = numberOf(projectId);
      await write(part.items.length, () => tasks.stageGraphPart(project, graphId, part));
    },
    saveCheckpoint: checkpointSaver({
      reading: parts.reading,
      heads: parts.heads,
      numberOf,
      tasks,
      write,
      trouble: () => writer.trouble,
      failed: (error) => writer.report(error),
    }),
    claimJob: async (nowMs, leaseMs) => {
      if (!isDue(nowMs)) return null;
      const lease = { token: random.bytes(16).toString('base64url'), untilMs: nowMs + leaseMs };
      return write(256, () => jobs.claim(nowMs, lease));
    },
    renewJob: async (projectId, jobId, token, untilMs) => {
      const project = numberOf(projectId);
      return write(64, () => jobs.renew(project, jobId, { token, untilMs }));
    },
    failJob: async (projectId, jobId, failure) => {
      const project = numberOf(projectId);
      await write(256, () => jobs.fail(project, jobId, failure));
    },
    retryJob: async (projectId, jobId, atMs) => {
      const project = numberOf(projectId);
      return write(64, () => jobs.retry(project, jobId, atMs));
    },
    saveApiKey: async (key) => {
      const project = numberOf(key.projectId);
      await write(256, () => tasks.saveApiKey(project, key));
    },
    sweep: async (nowMs) => {
      await write(0, () => tasks.sweepRequests(nowMs));
      while (await write(0, () => tasks.sweepAnswers(nowMs)));
    },
  };
}

/** A request of one event can be refused only before it wrote anything. */
const isIsolated = ({ effects, idempotency, whole, leaves }: AppendRequest): boolean =>
  effects !== undefined || idempotency !== undefined || (whole === true && leaves.length > 1);

/** UTF-16 units, near enough to bytes. */
const draftBytes = (draft: LeafDraft): number =>
  (draft.kind === 'event' ? draft.head.length + 300 : draft.record.length) + (draft.disclosures?.length ?? 0);

const requestBytes = ({ leaves }: AppendRequest): number =>
  leaves.reduce((bytes, draft) => bytes + draftBytes(draft), 0);
