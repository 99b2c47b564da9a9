/**
 * Group commit without a timer: each commit takes what queued while the one before was being synced, of all projects
 * in turn. Promises are settled after COMMIT returned, which at synchronous=FULL is after fsync.
 *
 * Errors are told apart: a request that is refused is refused alone; a full disk fails the commit, and writing
 * goes on once space returns; any other storage error stops the writer for good, because after a failed fsync
 * nobody knows what the disk holds, and SQLite itself would go on as if nothing had happened.
 * Proven by `test/store/sqlite/faults.long.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { overloaded } from '../../port/bounds.ts';
import { CommitQueue } from './commit-queue.ts';
import type { Connection } from '../../file/connection.ts';
import { problemOf, troubleOf, type Faults } from '../../file/faults.ts';
import { preparer, type Statement } from '../../file/statement.ts';

/** One thing to do in a transaction. */
export interface Work<Result> {
  /** Whose it is; empty for what belongs to no project. */
  readonly projectId: string;
  /** What it will roughly write, for the size of a commit. */
  readonly bytes: number;
  /** Whether it can be refused after it wrote; it then gets a savepoint. */
  readonly isolated: boolean;
  /** Runs at most once per transaction, again where another request failed the transaction. */
  run(): Result;
}

/** What shares the writer's transactions: told when rows must be written, are durable, or are lost. */
export interface Participant {
  flush(): void;
  settle(): void;
  forget(): void;
}

export interface WriterOptions {
  readonly db: Connection;
  readonly participant: Participant;
  /** After each commit. */
  readonly committed: () => void;
  /** Once, when the writer stops for good. */
  readonly stopped: (error: GovError) => void;
  /** When the disk turned out to be full. */
  readonly filled: (error: GovError) => void;
  readonly faults?: Faults | undefined;
}

interface Queued {
  readonly work: Work<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly item: Queued } & (
  | { readonly done: true; readonly result: unknown }
  | { readonly done: false; readonly error: unknown }
);

/** What a request left behind cannot be taken back alone: the others start again in a new transaction. */
export class Torn extends Error {}

export class Writer {
  private readonly options: WriterOptions;
  private readonly statements: Record<'begin' | 'commit' | 'savepoint' | 'release' | 'undo', Statement>;
  private readonly queue = new CommitQueue<Queued>();
  private scheduled = false;
  private closing: (() => void) | null = null;
  closed = false;
  private fault: GovError | null = null;
  private full: GovError | null = null;

  constructor(options: WriterOptions) {
    this.options = options;
    const prepare = preparer(options.db, options.faults);
    this.statements = {
      begin: prepare('begin', 'BEGIN IMMEDIATE'),
      commit: prepare('commit', 'COMMIT'),
      savepoint: prepare('savepoint', 'SAVEPOINT request'),
      release: prepare('release', 'RELEASE request'),
      undo: prepare('undo', 'ROLLBACK TO request'),
    };
  }

  /** Why nothing can be written now, if so. */
  get trouble(): GovError | null {
    return this.fault ?? this.full;
  }

  get queued(): number {
    return this.queue.size;
  }

  /** Resolves with the result once it is durable; rejects when refused, or with what stopped the writer. */
  take(work: Work<unknown>, { resolve, reject }: Pick<Queued, 'resolve' | 'reject'>): void {
    const refusal = refusalOf(this);
    if (refusal !== null) {
      reject(refusal);
      return;
    }
    const { projectId, bytes } = work;
    const item = { work, resolve, reject };
    this.queue.add({ projectId, bytes, item }, limits.writeQueue)?.reject(overloaded());
    this.schedule();
  }

  /** Space has returned. */
  heal(): void {
    this.full = null;
  }

  /** A storage error outside of a commit, with the same consequences; answers what a caller is told. */
  report(error: unknown): GovError {
    return this.fail([], error);
  }

  /** Commits what is queued, and refuses everything after it. */
  async drain(): Promise<void> {
    this.closed = true;
    if (this.queue.size === 0) return;
    await new Promise<void>((resolve) => {
      const { closing } = this;
      this.closing = () => {
        closing?.();
        resolve();
      };
    });
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.commit(this.queue.next());
      if (this.queue.size > 0) this.schedule();
      else this.closing?.();
    });
  }

  private commit(items: readonly Queued[]): void {
    const outcomes: Outcome[] = [];
    try {
      this.statements.begin.run();
      for (const item of items) {
        const outcome = this.attempt(item);
        outcomes.push(outcome);
        if (!outcome.done && isTorn(outcome.error, item.work)) {
          return this.retryWithout(item, items, outcome.error);
        }
      }
      this.options.participant.flush();
      this.statements.commit.run();
    } catch (error) {
      this.fail(items, error);
      return;
    }
    this.options.participant.settle();
    for (const outcome of outcomes) {
      if (outcome.done) outcome.item.resolve(outcome.result);
      else outcome.item.reject(asProblem(outcome.error));
    }
    this.options.committed();
  }

  /** Runs one piece of work; throws only where the transaction is lost. */
  private attempt(item: Queued): Outcome {
    const { work } = item;
    if (work.isolated) this.statements.savepoint.run();
    try {
      const result = work.run();
      if (work.isolated) this.statements.release.run();
      return { item, done: true, result };
    } catch (error) {
      if (troubleOf(error) !== 'bug' || !this.options.db.inTransaction) throw error;
      if (work.isolated) {
        this.statements.undo.run();
        this.statements.release.run();
      }
      return { item, done: false, error };
    }
  }

  private retryWithout(culprit: Queued, items: readonly Queued[], error: unknown): void {
    this.rollback();
    culprit.reject(asProblem(error instanceof Torn ? error.cause : error));
    const others = items.filter((item) => item !== culprit);
    if (others.length > 0) this.commit(others);
  }

  private fail(items: readonly Queued[], error: unknown): GovError {
    // What is no storage error came from `flush`, where nothing may fail: it stops the writer as well.
    const found = troubleOf(error);
    const trouble = found === 'bug' ? 'fault' : found;
    const problem = problemOf(trouble, error);
    this.rollback();
    for (const item of items) item.reject(problem);
    if (trouble === 'busy' || this.fault !== null) return problem;
    if (trouble === 'fault') this.fault = problem;
    else this.full = problem;
    for (const item of this.queue.clear()) item.reject(problem);
    if (trouble === 'fault') this.options.stopped(problem);
    else this.options.filled(problem);
    return problem;
  }

  private rollback(): void {
    const { db, participant } = this.options;
    participant.forget();
    try {
      if (db.inTransaction) db.exec('ROLLBACK'); // frees the lock; touches no file
    } catch (error) {
      this.fault ??= problemOf('fault', error);
    }
  }
}

/** A bug may have left half a request behind, unless it has a savepoint. */
const isTorn = (error: unknown, { isolated }: Work<unknown>): boolean =>
  error instanceof Torn || (!isolated && !(error instanceof GovError));

const asProblem = (error: unknown): unknown => (error instanceof GovError ? error : problemOf('bug', error));

/** Why a write is refused whatever waits, or null. */
export function refusalOf(state: {
  readonly closed: boolean;
  readonly trouble: GovError | null;
}): GovError | null {
  if (state.closed) return new GovError('SHUTTING_DOWN', 'the store is closing; nothing was stored');
  return state.trouble;
}
