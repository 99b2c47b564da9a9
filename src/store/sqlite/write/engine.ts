/**
 * The writing half of a store: sequencer, group commit and upkeep around the one writing connection. `Engine`
 * is what the rest of the store uses, whether the engine runs in this thread or in another.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/sqlite/write/thread.alone.test.ts`.
 */
import type { GovError } from '../../../contract/problems.ts';
import type { AckedHeads } from '../../acked/heads.ts';
import type { Connection } from '../../file/connection.ts';
import type { Faults } from '../../file/faults.ts';
import { confirmWritable } from '../../file/filesystem.ts';
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

/** Writes for a store, in this thread or in a separate one. */
export interface Engine {
  /**
   * Resolves with the result once it is durable. Rejects with a refusal, or with the error that stopped
   * writing.
   */
  write<Name extends Verb>(write: WriteOf<Name>): Promise<ResultOf<Name>>;
  /** Why the engine cannot write now, or null. */
  readonly trouble: GovError | null;
  /** How many writes wait. */
  readonly queued: number;
  /**
   * Handles a storage error that another part met, like one of its own. Returns the problem for the caller.
   */
  report(error: unknown): GovError;
  /** Called when a full disk has space again. */
  heal(): void;
  /** Finishes the queued writes and refuses all later ones. */
  drain(): Promise<void>;
  /**
   * Drains, copies the write-ahead log into the database and closes the connection. Rewrites the database if
   * values were removed. Waits a few seconds for readers; if they prevent the removal, it stays due and
   * `warn` reports it.
   */
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly db: Connection;
  readonly clock: { now(): number };
  readonly randomBytes: (size: number) => Buffer;
  readonly faults?: Faults | undefined;
  /** Remembers what commits acknowledge; the engine closes it. */
  readonly acked: AckedHeads;
  /** Called once, when writing has stopped permanently. */
  readonly stopped: (error: GovError) => void;
  /** Called when the disk is full. */
  readonly filled: (error: GovError) => void;
  /** Receives problems that an operator should know about. */
  readonly warn: (text: string) => void;
}

export interface LocalEngine extends Engine {
  /** Like `write`, with callbacks instead of a promise. */
  take(write: Write, settle: Settle): void;
}

export interface Settle {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Opens the engine in this thread. */
export function openEngine(options: EngineOptions): LocalEngine {
  const { db, clock, randomBytes, faults, acked, stopped, filled, warn } = options;
  const prepare = preparer(db, faults);
  const random = new RandomPool(randomBytes);
  const sequencer = openSequencer({ db, prepare, clock, random, faults, acked });
  const writer = new Writer({
    db,
    participant: sequencer,
    faults,
    confirm: () => confirmWritable(`${db.name}-wal`),
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
  upkeep.run(); // finishes upkeep that an earlier process left
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
        acked.close();
        db.close();
      }
      if (isDone) due.done();
    },
  };
}
