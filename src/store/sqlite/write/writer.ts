/**
 * Group commit without a timer: each commit takes the writes that queued while the previous one was synced.
 * Projects take turns. Promises settle after COMMIT returns, which at `synchronous=FULL` is after fsync. A
 * crash before that leaves nothing of the commit.
 *
 * Three kinds of error differ. A refused request is refused alone. A full disk fails the commit, and writing
 * continues once space returns. Any other storage error stops the writer permanently: after a failed fsync
 * nobody knows what the disk holds, and SQLite would continue as if nothing had happened. Source: SQLite's
 * documentation of `PRAGMA synchronous`, SAVEPOINT and its result codes.
 * Proven by `test/store/sqlite/faults.long.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { overloaded } from '../../port/bounds.ts';
import { CommitQueue } from './commit-queue.ts';
import type { Connection } from '../../file/connection.ts';
import { isPassing, problemOf, troubleOf, type Faults } from '../../file/faults.ts';
import { preparer, type Statement } from '../../file/statement.ts';

/** One piece of work in a transaction. */
export interface Work<Result> {
  /** The project; empty for work of no project. */
  readonly projectId: string;
  /** About how many bytes it writes, which limits the size of a commit. */
  readonly bytes: number;
  /** Whether it can be refused after it wrote rows; it then gets a savepoint. */
  readonly isolated: boolean;
  /** Runs at most once per transaction. Runs again if another request failed the transaction. */
  run(): Result;
}

/** Shares the writer's transactions: writes its rows, learns that they are durable, or that they are lost. */
export interface Participant {
  flush(): void;
  settle(): void;
  forget(): void;
}

export interface WriterOptions {
  readonly db: Connection;
  readonly participant: Participant;
  /** Called after each commit, before anybody hears of it. Throws where the disk has died meanwhile. */
  readonly confirm: () => void;
  /** Called after each commit. */
  readonly committed: () => void;
  /** Called once, when the writer stops permanently. */
  readonly stopped: (error: GovError) => void;
  /** Called when the disk is full. */
  readonly filled: (error: GovError) => void;
  readonly faults?: Faults | undefined;
}

interface QueuedWork {
  readonly work: Work<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly item: QueuedWork } & (
  | { readonly done: true; readonly result: unknown }
  | { readonly done: false; readonly error: unknown }
);

/** The rows of a failed request cannot be undone alone: the other requests restart in a new transaction. */
export class TornWriteError extends Error {}

export class Writer {
  readonly #options: WriterOptions;
  readonly #statements: Record<'begin' | 'commit' | 'savepoint' | 'release' | 'undo', Statement>;
  readonly #queue = new CommitQueue<QueuedWork>();
  #scheduled = false;
  #closing: (() => void) | null = null;
  closed = false;
  #fault: GovError | null = null;
  #full: GovError | null = null;

  constructor(options: WriterOptions) {
    this.#options = options;
    const prepare = preparer(options.db, options.faults);
    this.#statements = {
      begin: prepare('begin', 'BEGIN IMMEDIATE'),
      commit: prepare('commit', 'COMMIT'),
      savepoint: prepare('savepoint', 'SAVEPOINT request'),
      release: prepare('release', 'RELEASE request'),
      undo: prepare('undo', 'ROLLBACK TO request'),
    };
  }

  /** Why the writer cannot write now, or null. */
  get trouble(): GovError | null {
    return this.#fault ?? this.#full;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /**
   * Resolves with the result once it is durable. Rejects with a refusal, or with the error that stopped the
   * writer.
   */
  take(work: Work<unknown>, { resolve, reject }: Pick<QueuedWork, 'resolve' | 'reject'>): void {
    const refusal = refusalOf(this);
    if (refusal !== null) {
      reject(refusal);
      return;
    }
    const { projectId, bytes } = work;
    const item = { work, resolve, reject };
    this.#queue.add({ projectId, bytes, item }, limits.writeQueue)?.reject(overloaded());
    this.#schedule();
  }

  /** Called when a full disk has space again. */
  heal(): void {
    this.#full = null;
  }

  /** Handles a storage error from outside a commit like one inside. Returns the problem for the caller. */
  report(error: unknown): GovError {
    return this.#fail([], error);
  }

  /** Commits the queued work and refuses all later work. */
  async drain(): Promise<void> {
    this.closed = true;
    if (this.#queue.size === 0) return;
    await new Promise<void>((resolve) => {
      const closing = this.#closing;
      this.#closing = () => {
        closing?.();
        resolve();
      };
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#commit(this.#queue.next());
      if (this.#queue.size > 0) this.#schedule();
      else this.#closing?.();
    });
  }

  #commit(items: readonly QueuedWork[]): void {
    const outcomes: Outcome[] = [];
    try {
      this.#statements.begin.run();
      for (const item of items) {
        const outcome = this.#attempt(item);
        outcomes.push(outcome);
        if (!outcome.done && isTorn(outcome.error, item.work)) {
          return this.#retryWithout(item, items, outcome.error);
        }
      }
      this.#options.participant.flush();
      this.#statements.commit.run();
      this.#options.confirm();
    } catch (error) {
      this.#fail(items, error);
      return;
    }
    this.#options.participant.settle();
    for (const outcome of outcomes) {
      if (outcome.done) outcome.item.resolve(outcome.result);
      else outcome.item.reject(asProblem(outcome.error));
    }
    this.#options.committed();
  }

  /** Runs one piece of work; throws only if the transaction is lost. */
  #attempt(item: QueuedWork): Outcome {
    const { work } = item;
    if (work.isolated) this.#statements.savepoint.run();
    try {
      const result = work.run();
      if (work.isolated) this.#statements.release.run();
      return { item, done: true, result };
    } catch (error) {
      if (troubleOf(error) !== 'bug' || !this.#options.db.inTransaction) throw error;
      if (work.isolated) {
        this.#statements.undo.run();
        this.#statements.release.run();
      }
      return { item, done: false, error };
    }
  }

  #retryWithout(culprit: QueuedWork, items: readonly QueuedWork[], error: unknown): void {
    this.#rollback();
    culprit.reject(asProblem(error instanceof TornWriteError ? error.cause : error));
    const others = items.filter((item) => item !== culprit);
    if (others.length > 0) this.#commit(others);
  }

  #fail(items: readonly QueuedWork[], error: unknown): GovError {
    // Any other error came from `flush`, where nothing may fail: it stops the writer as well.
    const found = troubleOf(error);
    const trouble = found === 'bug' ? 'fault' : found;
    const problem = problemOf(trouble, error);
    this.#rollback();
    for (const item of items) item.reject(problem);
    if (isPassing(trouble) || this.#fault !== null) return problem;
    if (trouble === 'fault') this.#fault = problem;
    else this.#full = problem;
    for (const item of this.#queue.clear()) item.reject(problem);
    if (trouble === 'fault') this.#options.stopped(problem);
    else this.#options.filled(problem);
    return problem;
  }

  #rollback(): void {
    const { db, participant } = this.#options;
    participant.forget();
    try {
      if (db.inTransaction) db.exec('ROLLBACK'); // releases the lock; writes to no file
    } catch (error) {
      this.#fault ??= problemOf('fault', error);
    }
  }
}

/** A bug may leave half a request in the transaction, unless the request has a savepoint. */
const isTorn = (error: unknown, { isolated }: Work<unknown>): boolean =>
  error instanceof TornWriteError || (!isolated && !(error instanceof GovError));

const asProblem = (error: unknown): unknown => (error instanceof GovError ? error : problemOf('bug', error));

/** Why a write is refused before it is queued, or null. */
export function refusalOf(state: {
  readonly closed: boolean;
  readonly trouble: GovError | null;
}): GovError | null {
  if (state.closed)
    return new GovError(
      'SHUTTING_DOWN',
      'expected an open store, got one that is closing; nothing was stored',
    );
  return state.trouble;
}
