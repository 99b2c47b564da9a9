/**
 * The engine in a thread of its own, so that parsing, drafting and answering go on while rows are written and
 * synced. Writes cross in batches: what comes while one is being committed is gathered here, and is sent as soon as
 * that one is answered, before its promises are kept; or ahead of that, as soon as there are a few of them. The thread
 * commits together what it was sent meanwhile. So commits are large, and neither thread stands still while the other one
 * works.
 *
 * Fails closed: a thread that ends by itself is a storage fault, and what it had not answered is refused. As with
 * a crash, such a write may have been stored. Proven by `test/store/sqlite/write/thread.alone.test.ts`.
 */
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { errorOf } from '../../../contract/failure.ts';
import { limits } from '../../../contract/limits.ts';
import type { GovError } from '../../../contract/problems.ts';
import { overloaded } from '../../port/bounds.ts';
import { CommitQueue } from './commit-queue.ts';
import type { Engine, Settle } from './engine.ts';
import { problemOf, troubleOf } from '../../file/faults.ts';
import type { FromThread, Settled, ThreadStart, ToThread } from './thread-messages.ts';
import { SentWrites } from './unanswered.ts';
import { packWrite, unpackOutcome } from './thread-wire.ts';
import { refusalOf } from './writer.ts';
import { bytesOf, projectOf, type ResultOf, type Verb, type Write, type WriteOf } from './operations.ts';

/** What waits in the thread lives for one commit, mostly. */
const youngMiB = 16;

const entry = new URL('./thread.ts', import.meta.url);

export interface ThreadEngineOptions extends ThreadStart {
  readonly clock: { now(): number };
  readonly stopped: (error: GovError) => void;
  readonly filled: (error: GovError) => void;
  readonly warn: (text: string) => void;
  readonly started?: ((thread: Worker) => void) | undefined;
}

interface Waiting extends Settle {
  readonly write: Write;
  readonly bytes: number;
}

export class ThreadEngine implements Engine {
  private readonly options: ThreadEngineOptions;
  /** Started by the first write, so that a plane listens before. */
  private thread: Worker | null = null;
  private gone: Promise<void> = Promise.resolve();
  private readonly waiting = new CommitQueue<Waiting>();
  private readonly sent = new SentWrites<Waiting>();
  private scheduled = false;
  private fault: GovError | null = null;
  private full: GovError | null = null;
  private draining: (() => void) | null = null;
  private drained: Promise<void> | null = null;
  private ending = false;

  constructor(options: ThreadEngineOptions) {
    this.options = options;
  }

  get trouble(): GovError | null {
    return this.fault ?? this.full;
  }

  get queued(): number {
    return this.waiting.size + this.sent.size;
  }

  write<Name extends Verb>(write: WriteOf<Name>): Promise<ResultOf<Name>> {
    const refusal = refusalOf({ closed: this.drained !== null, trouble: this.trouble });
    if (refusal !== null) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      // the thread answers each verb with its result
      const bytes = bytesOf(write as Write);
      const item = { write: write as Write, bytes, resolve: resolve as never, reject };
      const sized = { projectId: projectOf(item.write), bytes, item };
      this.waiting.add(sized, limits.writeQueue - this.sent.size)?.reject(overloaded());
      this.sendAhead();
      if (this.sent.size === 0) this.schedule();
    });
  }

  report(error: unknown): GovError {
    const found = troubleOf(error);
    const trouble = found === 'bug' ? 'fault' : found;
    const problem = problemOf(trouble, error);
    if (trouble === 'busy' || this.fault !== null) return problem;
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof Database.SqliteError ? error.code : 'SQLITE_ERROR';
    this.post({ kind: 'report', message, code });
    this.enter(trouble, problem);
    return problem;
  }

  heal(): void {
    this.full = null;
    this.post({ kind: 'heal' });
  }

  async drain(): Promise<void> {
    this.drained ??= new Promise((resolve) => {
      this.draining = resolve;
    });
    this.settleDrain();
    await this.drained;
  }

  async close(): Promise<void> {
    await this.drain();
    if (!this.ending) {
      this.ending = true;
      this.post({ kind: 'close' }); // the last connection to close removes the log
      this.thread?.ref();
    }
    const { fault } = this;
    await this.gone;
    if (this.fault !== null && this.fault !== fault) throw this.fault;
  }

  /** Gathers what one turn of the event loop brings. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.sendNext();
    });
  }

  /** Whatever waits, where the thread would stand still. */
  private sendNext(): void {
    this.sendAhead();
    while (this.sent.size === 0 && this.waiting.size > 0) this.send(this.waiting.next());
  }

  /** Where the thread has little to go on with, and enough waits that is small: nobody else's turn comes before it is done. */
  private sendAhead(): void {
    const { commitAheadRequests, commitAheadMost, commitSharedBytes } = limits;
    while (
      this.waiting.size >= commitAheadRequests &&
      this.sent.size < commitAheadMost &&
      this.sent.bytes + this.waiting.bytes < commitSharedBytes
    ) {
      this.send(this.waiting.next());
    }
  }

  private send(taken: readonly Waiting[]): void {
    const first = this.sent.next;
    try {
      const writes = taken.map(({ write }) => packWrite(write));
      this.post({ kind: 'write', first, nowMs: this.options.clock.now(), writes });
    } catch (error) {
      // something in it was no plain data: a bug, and nothing of it was sent
      if (taken.length > 1) for (const item of taken) this.send([item]);
      else taken[0]?.reject(problemOf('bug', error));
      this.settleDrain();
      return;
    }
    if (this.sent.size === 0) this.thread?.ref();
    this.sent.add(taken);
  }

  private post(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    (this.thread ??= this.start()).postMessage(message);
  }

  private start(): Worker {
    const { path, masterKey, started } = this.options;
    const workerData: ThreadStart = { path, masterKey };
    const thread = new Worker(entry, {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: youngMiB },
    });
    thread.unref();
    this.gone = new Promise((resolve) => {
      thread.once('exit', () => {
        if (!this.ending) this.lost(new Error('the thread that writes ended'));
        resolve();
      });
    });
    thread.on('error', (error) => this.lost(error));
    thread.on('messageerror', (error) => this.lost(error));
    thread.on('message', (message: FromThread) => this.receive(message));
    started?.(thread);
    return thread;
  }

  private receive(message: FromThread): void {
    if (message.kind === 'warning') {
      this.options.warn(message.text);
      return;
    }
    if (message.kind === 'trouble') {
      this.enter(message.trouble, errorOf(message.failure) as GovError);
      return;
    }
    const answered = message.outcomes.map((packed) => {
      const outcome = unpackOutcome(packed);
      return { outcome, sent: this.sent.take(outcome.no) };
    });
    this.sendNext();
    for (const { outcome, sent } of answered) if (sent !== undefined) keep(sent, outcome);
    if (this.sent.size === 0 && !this.ending) this.thread?.unref();
    this.settleDrain();
  }

  /** From here on everything is refused: with `full` until it heals, with `fault` for good. */
  private enter(trouble: 'full' | 'fault', problem: GovError): void {
    if (this.fault !== null || (trouble === 'full' && this.full !== null)) return;
    if (trouble === 'fault') this.fault = problem;
    else this.full = problem;
    for (const { reject } of this.waiting.clear()) reject(problem);
    if (trouble === 'fault') this.options.stopped(problem);
    else this.options.filled(problem);
    this.settleDrain();
  }

  /** The thread is gone, or cannot be understood, which ends it: nobody knows what became of what it had not answered. */
  private lost(error: Error): void {
    this.ending = true;
    void this.thread?.terminate();
    const problem = problemOf('fault', error);
    this.enter('fault', problem);
    for (const { reject } of this.sent.clear()) reject(problem);
    this.settleDrain();
  }

  private settleDrain(): void {
    if (this.queued === 0) this.draining?.();
  }
}

function keep({ resolve, reject }: Settle, outcome: Settled): void {
  if ('failure' in outcome) reject(errorOf(outcome.failure));
  else resolve(outcome.result);
}
