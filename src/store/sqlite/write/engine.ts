/**
 * The writing half of a store around the one connection that writes: sequencer, group commit, upkeep of the
 * write-ahead log; and the form in which the rest of the store knows it, wherever it runs.
 */
import type { GovError } from '../../../contract/problems.ts';
import type { Connection } from '../../file/connection.ts';
import type { Faults } from '../../file/faults.ts';
import { jobMoves } from '../effects/jobs.ts';
import { RandomPool } from '../../append/random.ts';
import { dueRewrite, removedBy } from '../upkeep/rewrite.ts';
import { openSequencer } from './sequencer.ts';
import { preparer } from '../../file/statement.ts';
import { taskStatements } from '../effects/tasks.ts';
import { tenantTasks } from '../effects/make-tenant.ts';
import { upkeepOf } from '../upkeep/maintenance.ts';
import { walKeeper } from '../upkeep/wal.ts';
import { Writer } from './writer.ts';
import { workOf, type ResultOf, type Verb, type Write, type WriteOf } from './operations.ts';

/** What writes for a store: in this thread, or in one of its own. */
export interface Engine {
  /** Resolves with the result once it is durable; rejects when refused, or with what stopped the writing. */
  write<Name extends Verb>(write: WriteOf<Name>): Promise<ResultOf<Name>>;
  /** Why nothing can be written now, if so. */
  readonly trouble: GovError | null;
  /** Writes that wait. */
  readonly queued: number;
  /** A storage error that was met elsewhere, with the same consequences; answers what a caller is told. */
  report(error: unknown): GovError;
  /** Space has returned to a full disk. */
  heal(): void;
  /** Does what is queued, and refuses everything after it. */
  drain(): Promise<void>;
  /**
   * Drains, copies the log into the database, which is written anew where something was removed; closes the connection.
   * Waits for readers, a few seconds; what they kept from being removed stays due, and is told.
   */
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly db: Connection;
  readonly clock: { now(): number };
  readonly randomBytes: (size: number) => Buffer;
  readonly faults?: Faults | undefined;
  /** Once, when writing stopped for good. */
  readonly stopped: (error: GovError) => void;
  /** When the disk turned out to be full. */
  readonly filled: (error: GovError) => void;
  /** What an operator should know. */
  readonly warn: (text: string) => void;
}

export interface LocalEngine extends Engine {
  /** As `write`, without a promise, for whoever answers in another way. */
  take(write: Write, settle: Settle): void;
}

export interface Settle {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** The engine in this thread. */
export function openEngine(options: EngineOptions): LocalEngine {
  const { db, clock, randomBytes, faults, stopped, filled, warn } = options;
  const prepare = preparer(db, faults);
  const sequencer = openSequencer({ db, prepare, clock, random: new RandomPool(randomBytes), faults });
  const writer = new Writer({
    db,
    participant: sequencer,
    faults,
    committed: () => upkeep.run(),
    stopped,
    filled,
  });
  const wal = walKeeper(db, (error) => writer.report(error));
  const tasks = taskStatements(prepare);
  const tenants = tenantTasks({ prepare, createProject: (project) => tasks.createProject(project) });
  const statements = { sequencer, tasks, jobs: jobMoves(prepare), tenants };
  const due = dueRewrite(db.name);
  const upkeep = upkeepOf({ db, writer, wal, sequencer, due, warn });
  if (due.removed !== null) wal.erases();
  upkeep.run(); // what a process before left
  const take = (write: Write, settle: Settle): void => {
    const removes = removedBy(write);
    if (removes === null) return writer.take(workOf(write, statements), settle);
    try {
      due.note(removes);
    } catch (error) {
      return settle.reject(writer.report(error));
    }
    const resolve = (result: unknown): void => {
      wal.erases();
      settle.resolve(result);
    };
    writer.take(workOf(write, statements), { ...settle, resolve });
  };
  return {
    take,
    // `workOf` pairs each verb with its result
    write: (write) =>
      new Promise((resolve, reject) => take(write as Write, { resolve: resolve as never, reject })),
    get trouble() {
      return writer.trouble;
    },
    get queued() {
      return writer.queued;
    },
    report: (error) => writer.report(error),
    heal: () => {
      writer.heal();
      wal.healed();
      upkeep.run();
    },
    drain: () => writer.drain(),
    close: async () => {
      await writer.drain();
      upkeep.stop();
      await wal.close();
      let isDone = false;
      try {
        isDone = await upkeep.finish();
      } finally {
        db.close();
      }
      if (isDone) due.done();
    },
  };
}
