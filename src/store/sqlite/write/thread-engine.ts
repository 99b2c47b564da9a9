/**
 * The engine in a separate thread: this thread parses and answers while the other one writes and syncs.
 * Writes cross in batches. While the thread commits one batch, this side collects the next. It sends that
 * batch when the thread answers, before it settles the promises, or earlier once a few writes wait. The
 * thread commits together all writes that arrived meanwhile. Commits are therefore large, and neither thread
 * idles.
 *
 * The engine fails closed: a thread that ends unexpectedly is a storage fault, and its unanswered writes are
 * rejected. As after a crash, such a write may have been stored. Source: Node.js `worker_threads`.
 * Proven by `test/store/sqlite/write/thread.alone.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { errorOf } from '../../../contract/failure.ts';
import { limits } from '../../../contract/limits.ts';
import type { GovError } from '../../../contract/problems.ts';
import { overloaded } from '../../port/bounds.ts';
import { CommitQueue } from './commit-queue.ts';
import type { Engine, Settle } from './engine.ts';
import { isPassing, problemOf, troubleOf } from '../../file/faults.ts';
import type { FromThread, WriteResult, ThreadStart, ToThread } from './thread-messages.ts';
import { inParts, partBytes } from './parts.ts';
import { SentWrites } from './unanswered.ts';
import { refusalOf } from './writer.ts';
import { bytesOf, projectOf, type ResultOf, type Verb, type Write, type WriteOf } from './operations.ts';

/** Heap for young objects: most objects in the thread live for one commit. */
const youngMiB = 16;

const entry = new URL('./thread.ts', import.meta.url);

export interface ThreadEngineOptions extends ThreadStart {
  readonly clock: { now(): number };
  readonly stopped: (error: GovError) => void;
  readonly filled: (error: GovError) => void;
  readonly warn: (text: string) => void;
  readonly started?: ((thread: Worker) => void) | undefined;
}

interface WaitingWrite extends Settle {
  readonly write: Write;
  readonly bytes: number;
}

export class ThreadEngine implements Engine {
  readonly #options: ThreadEngineOptions;
  /** The first write starts the thread, so that a plane listens earlier. */
  #thread: Worker | null = null;
  #gone: Promise<void> = Promise.resolve();
  readonly #waiting = new CommitQueue<WaitingWrite>();
  readonly #sent = new SentWrites<WaitingWrite>();
  #scheduled = false;
  #fault: GovError | null = null;
  #full: GovError | null = null;
  #draining: (() => void) | null = null;
  #drained: Promise<void> | null = null;
  #ending = false;

  constructor(options: ThreadEngineOptions) {
    this.#options = options;
  }

  get trouble(): GovError | null {
    return this.#fault ?? this.#full;
  }

  get queued(): number {
    return this.#waiting.size + this.#sent.size;
  }

  write<Name extends Verb>(write: WriteOf<Name>): Promise<ResultOf<Name>> {
    const refusal = refusalOf({ closed: this.#drained !== null, trouble: this.trouble });
    if (refusal !== null) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      // the thread answers each verb with its result
      const bytes = bytesOf(write as Write);
      const item = { write: write as Write, bytes, resolve: resolve as never, reject };
      const sized = { projectId: projectOf(item.write), bytes, item };
      this.#waiting.add(sized, limits.writeQueue - this.#sent.size)?.reject(overloaded());
      this.#sendAhead();
      if (this.#sent.size === 0) this.#schedule();
    });
  }

  report(error: unknown): GovError {
    const found = troubleOf(error);
    const trouble = found === 'bug' ? 'fault' : found;
    const problem = problemOf(trouble, error);
    if (isPassing(trouble) || this.#fault !== null) return problem;
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof Database.SqliteError ? error.code : 'SQLITE_ERROR';
    this.#post({ kind: 'report', message, code });
    this.#enter(trouble, problem);
    return problem;
  }

  heal(): void {
    this.#full = null;
    this.#post({ kind: 'heal' });
  }

  async drain(): Promise<void> {
    this.#drained ??= new Promise((resolve) => {
      this.#draining = resolve;
    });
    this.#settleDrain();
    await this.#drained;
  }

  async close(): Promise<void> {
    await this.drain();
    if (!this.#ending) {
      this.#ending = true;
      this.#post({ kind: 'close' }); // the connection that closes last removes the write-ahead log
      this.#thread?.ref();
    }
    const fault = this.#fault;
    await this.#gone;
    if (this.#fault !== null && this.#fault !== fault) throw this.#fault;
  }

  /** Collects the writes of one turn of the event loop. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#sendNext();
    });
  }

  /** Sends all waiting writes if the thread would otherwise idle. */
  #sendNext(): void {
    this.#sendAhead();
    while (this.#sent.size === 0 && this.#waiting.size > 0) this.#send(this.#waiting.next());
  }

  /**
   * Sends small writes early, while the thread has little left to do. No other project's turn is delayed by
   * it.
   */
  #sendAhead(): void {
    const { commitAheadRequests, commitAheadMost, commitSharedBytes } = limits;
    while (
      this.#waiting.size >= commitAheadRequests &&
      this.#sent.size < commitAheadMost &&
      this.#sent.bytes + this.#waiting.bytes < commitSharedBytes
    ) {
      this.#send(this.#waiting.next());
    }
  }

  #send(taken: readonly WaitingWrite[]): void {
    if (taken.reduce((sum, { bytes }) => sum + bytes, 0) > partBytes) {
      void this.#sendInParts(taken);
      return;
    }
    try {
      this.#postWrites(
        taken.map(({ write }) => write),
        this.#sent.next,
      );
    } catch (error) {
      this.#refuseClone(taken, error);
      return;
    }
    this.#hold(taken);
  }

  /**
   * Sends one part in each turn of the event loop. The writes count as sent meanwhile, so that later ones wait. Never
   * rejects. A crash in between leaves nothing of them.
   */
  async #sendInParts(taken: readonly WaitingWrite[]): Promise<void> {
    const first = this.#sent.next;
    const { parts, writes } = inParts(
      taken.map(({ write }) => write),
      first,
    );
    this.#hold(taken);
    try {
      for (const part of parts) {
        this.#post({ kind: 'leaves', part });
        await nextTurn();
        if (this.#ending) return;
      }
      this.#postWrites(writes, first);
    } catch (error) {
      this.#post({ kind: 'forget', first, count: taken.length });
      for (const at of taken.keys()) this.#sent.take(first + at);
      this.#refuseClone(taken, error);
      this.#sendNext();
    }
  }

  #postWrites(writes: readonly Write[], first: number): void {
    this.#post({ kind: 'write', first, nowMs: this.#options.clock.now(), writes });
  }

  #hold(taken: readonly WaitingWrite[]): void {
    if (this.#sent.size === 0) this.#thread?.ref();
    this.#sent.add(taken);
  }

  /** One of the writes was not plain data: a bug, and `postMessage` sent none of them. The others are sent alone. */
  #refuseClone(taken: readonly WaitingWrite[], error: unknown): void {
    if (taken.length > 1) for (const item of taken) this.#send([item]);
    else taken[0]?.reject(problemOf('bug', error));
    this.#settleDrain();
  }

  #post(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    (this.#thread ??= this.#start()).postMessage(message);
  }

  #start(): Worker {
    const { path, masterKey, started } = this.#options;
    const workerData: ThreadStart = { path, masterKey };
    const thread = new Worker(entry, {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: youngMiB },
    });
    thread.unref();
    this.#gone = new Promise((resolve) => {
      thread.once('exit', () => {
        if (!this.#ending)
          this.#lost(new Error('expected the writing thread to run until close(), got its exit'));
        resolve();
      });
    });
    thread.on('error', (error) => this.#lost(error));
    thread.on('messageerror', (error) => this.#lost(error));
    thread.on('message', (message: FromThread) => this.#receive(message));
    started?.(thread);
    return thread;
  }

  #receive(message: FromThread): void {
    if (message.kind === 'warning') {
      this.#options.warn(message.text);
      return;
    }
    if (message.kind === 'trouble') {
      this.#enter(message.trouble, errorOf(message.failure) as GovError);
      return;
    }
    const answered = message.outcomes.map((outcome) => ({ outcome, sent: this.#sent.take(outcome.no) }));
    this.#sendNext();
    for (const { outcome, sent } of answered) if (sent !== undefined) keep(sent, outcome);
    if (this.#sent.size === 0 && !this.#ending) this.#thread?.unref();
    this.#settleDrain();
  }

  /** Refuses all writes from now on: with `full` until space returns, with `fault` permanently. */
  #enter(trouble: 'full' | 'fault', problem: GovError): void {
    if (this.#fault !== null || (trouble === 'full' && this.#full !== null)) return;
    if (trouble === 'fault') this.#fault = problem;
    else this.#full = problem;
    for (const { reject } of this.#waiting.clear()) reject(problem);
    if (trouble === 'fault') this.#options.stopped(problem);
    else this.#options.filled(problem);
    this.#settleDrain();
  }

  /**
   * The thread ended or sent an unreadable message, which ends it. Nobody knows which unanswered writes are
   * stored.
   */
  #lost(error: Error): void {
    this.#ending = true;
    void this.#thread?.terminate();
    const problem = problemOf('fault', error);
    this.#enter('fault', problem);
    for (const { reject } of this.#sent.clear()) reject(problem);
    this.#settleDrain();
  }

  #settleDrain(): void {
    if (this.queued === 0) this.#draining?.();
  }
}

function keep({ resolve, reject }: Settle, outcome: WriteResult): void {
  if ('failure' in outcome) reject(errorOf(outcome.failure));
  else resolve(outcome.result);
}
