/**
 * A task runner with one worker thread, so that heavy tasks never delay recording. The first task starts the
 * thread, and a new thread replaces a dead one. Running and waiting tasks are bounded. Projects take turns, and
 * only the project that sends too many tasks is refused. Proven by `test/host/process/thread-work.test.ts`.
 */
import { Worker } from 'node:worker_threads';
import { errorOf, failureOf } from '../../contract/failure.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { FairQueue } from '../../core/fair-queue.ts';
import type { Log } from '../../service/call/log.ts';
import type { TaskHost, TaskName, TaskOptions, Tasks, TaskRunner } from '../../service/call/work.ts';
import type { ReaderSource, ToMain, ToWorker, WorkerStart } from './task-messages.ts';

const atOnce = { heavy: 1, light: 8 };
const youngMiB = 16;

/** `nice` of a thread whose tasks have no waiting client. */
const background = 15;

interface ThreadOptions {
  /** Receives the error of each failed task. */
  readonly failed?: (error: Error, projectId: string) => void;
  /** No client waits for the tasks: the thread has a lower priority. */
  readonly isBackground?: boolean;
  /** See `WorkerStart`. */
  readonly reportFonts?: string | null;
}

interface PendingTask {
  readonly name: TaskName;
  readonly input: Tasks[TaskName]['input'];
  readonly kind: keyof typeof atOnce;
  readonly host: Partial<TaskHost> | undefined;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (output: never) => void;
  readonly reject: (error: Error) => void;
}

const entry = new URL('./worker.ts', import.meta.url);

export class ThreadWork implements TaskRunner {
  readonly #log: Log;
  readonly #failed: (error: Error, projectId: string) => void;
  readonly #start: WorkerStart;
  readonly #waiting = { heavy: new FairQueue<PendingTask>(), light: new FairQueue<PendingTask>() };
  readonly #running = new Map<number, PendingTask>();
  #worker: Worker | undefined;
  #taskCount = 0;
  #closed = false;

  constructor(
    source: ReaderSource,
    log: Log,
    { failed = () => {}, isBackground = false, reportFonts = null }: ThreadOptions = {},
  ) {
    this.#start = { source, nice: isBackground ? background : 0, reportFonts };
    this.#log = log;
    this.#failed = failed;
  }

  run<Name extends TaskName>(
    name: Name,
    input: Tasks[Name]['input'],
    options: TaskOptions,
  ): Promise<Tasks[Name]['output']> {
    if (this.#closed) return Promise.reject(new GovError('SHUTTING_DOWN', 'the server is shutting down'));
    const { events, host, signal } = options;
    const kind = events > limits.syncProofEvents ? 'heavy' : 'light';
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const task = { name, input, kind, host, signal, resolve, reject } as const;
      signal?.addEventListener('abort', () => this.#stop(task), { once: true });
      this.#waiting[kind].add(input.projectId, task, limits.tasksWaiting)?.reject(overloaded());
      this.#startWaiting(kind);
    });
  }

  /** Starts waiting tasks while there is room. */
  #startWaiting(kind: PendingTask['kind']): void {
    while (this.#hasRoom(kind)) {
      const next = this.#waiting[kind].next();
      if (next === undefined) return;
      if (next.signal?.aborted === true) continue;
      this.#taskCount += 1;
      this.#running.set(this.#taskCount, next);
      this.#send({ kind: 'run', task: this.#taskCount, name: next.name, input: next.input });
    }
  }

  /** A running task ends at its next chunk, and a waiting one at once. */
  #stop(task: PendingTask): void {
    const why = task.signal?.reason as Error;
    const [found] = [...this.#running].find(([, each]) => each === task) ?? [];
    if (found === undefined) task.reject(why);
    else this.#send({ kind: 'stop', task: found, failure: failureOf(why) });
  }

  #hasRoom(kind: PendingTask['kind']): boolean {
    let same = 0;
    for (const running of this.#running.values()) if (running.kind === kind) same += 1;
    return same < atOnce[kind];
  }

  #send(message: ToWorker): void {
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage(message);
  }

  #startWorker(): Worker {
    const worker = new Worker(entry, {
      workerData: this.#start,
      resourceLimits: { maxOldGenerationSizeMb: limits.taskThreadMiB, maxYoungGenerationSizeMb: youngMiB },
      stdout: false,
      stderr: false,
    });
    worker.unref();
    worker.on('message', (message: ToMain) => this.#take(worker, message));
    worker.on('error', (error) => this.#lost(worker, error));
    worker.on('exit', () => this.#lost(worker, new Error('the worker thread ended')));
    return worker;
  }

  #take(worker: Worker, message: ToMain): void {
    const running = this.#running.get(message.task);
    if (running === undefined) return;
    if (message.kind === 'call') {
      void this.#answer(worker, running, message);
      return;
    }
    this.#running.delete(message.task);
    // the thread pairs each name with its output as `Tasks` does
    if (message.kind === 'done') running.resolve(message.output as never);
    else {
      const error = errorOf(message.failure);
      this.#failed(error, running.input.projectId);
      running.reject(error);
    }
    this.#startWaiting(running.kind);
  }

  /** Answers only the thread that asked, because each thread numbers its calls from 1. */
  async #answer(
    worker: Worker,
    { host, signal }: PendingTask,
    { call, method, argument }: Extract<ToMain, { kind: 'call' }>,
  ): Promise<void> {
    const answer = (message: ToWorker, given: ArrayBuffer[] = []): void => {
      if (this.#worker === worker) worker.postMessage(message, given);
    };
    try {
      signal?.throwIfAborted();
      // the thread calls each method with the argument that `TaskHost` pairs with it
      const offered = host?.[method]?.bind(host) as ((argument: unknown) => Promise<unknown>) | undefined;
      if (offered === undefined) {
        throw new Error(`a task called ${method}, which its caller does not offer`);
      }
      const value = await offered(argument);
      // memory of the task, returned to it
      const given = value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : [];
      answer({ kind: 'answer', call, failure: null, value }, given);
    } catch (error) {
      answer({ kind: 'answer', call, failure: failureOf(error) });
    }
  }

  /** Handles the end of a thread: its running tasks fail, and waiting tasks get a new thread. */
  #lost(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const lost = [...this.#running.values()];
    this.#running.clear();
    if (!this.#closed)
      this.#log.error({ err: error, tasks: lost.map(({ name }) => name) }, 'the worker thread died');
    const cause = new GovError('INTERNAL', 'the worker thread died', { cause: error });
    for (const { reject } of lost) reject(cause);
    if (this.#closed) return;
    this.#startWaiting('heavy');
    this.#startWaiting('light');
  }

  async close(): Promise<void> {
    this.#closed = true;
    const gone = new GovError('SHUTTING_DOWN', 'the server is shutting down');
    for (const { reject } of [...this.#waiting.heavy.clear(), ...this.#waiting.light.clear()]) reject(gone);
    for (const { reject } of this.#running.values()) reject(gone);
    this.#running.clear();
    await this.#worker?.terminate();
  }
}

const overloaded = (): GovError =>
  new GovError('OVERLOADED', `expected at most ${limits.tasksWaiting} waiting tasks; repeat later`, {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
