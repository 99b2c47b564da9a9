/**
 * The worker thread of `thread-work.ts`. It opens the store read-only and runs several tasks at a time. Each
 * task yields to the others between chunks. Proven by `test/host/process/thread-work.test.ts`.
 */
import { setPriority } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { errorOf, failureOf, type Failure } from '../../contract/failure.ts';
import { tasks } from '../../service/tasks.ts';
import type { LocalParts } from '../../service/call/report-work.ts';
import type { ListedKeys, TaskHost, TaskName } from '../../service/call/work.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { ReaderSource, ToMain, ToWorker, WorkerStart } from './task-messages.ts';

const turnMs = 5;

if (parentPort === null) throw new Error('this file is a worker thread');
const port = parentPort;
const { source, nice, reportFonts } = workerData as WorkerStart;
// Linux applies it to the thread, other systems to the whole process
if (nice > 0 && process.platform === 'linux') setPriority(nice);
const reader = await open(source);
const calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
let callCount = 0;

/** Loads the engine. Opens a file at once, but connects to a database only when a task needs it. */
async function open(source: ReaderSource): Promise<StoreReader> {
  if (source.engine === 'sqlite') {
    const { openReader } = await import('../../store/sqlite/store.ts');
    return openReader(source.path, source.masterKey);
  }
  return (await import('../../store/postgres/store.ts')).openPostgresReader(source);
}

const send = (message: ToMain, given: ArrayBuffer[] = []): void => port.postMessage(message, given);

const hostOf = (task: number): TaskHost => {
  const call = (method: keyof TaskHost, argument: unknown, given?: ArrayBuffer): Promise<unknown> =>
    new Promise((resolve, reject) => {
      callCount += 1;
      calls.set(callCount, { resolve, reject });
      send({ kind: 'call', task, call: callCount, method, argument }, given === undefined ? [] : [given]);
    });
  return {
    stage: async (part) => void (await call('stage', part)),
    // `TaskHost`: the buffer has no other content
    write: async (bytes) =>
      (await call('write', bytes, bytes.buffer as ArrayBuffer)) as Uint8Array | undefined,
    sign: async () => String(await call('sign', null)),
    appendIndex: async (map) => Number(await call('appendIndex', map)),
    saveMap: async (saving) => void (await call('saveMap', saving)),
    dropMap: async () => void (await call('dropMap', null)),
    // the main thread answers as `TaskHost` says
    listed: async (asked) => (await call('listed', asked)) as ListedKeys | null,
    file: async (name) => void (await call('file', name)),
    answer: async (asked) => (await call('answer', asked)) as Awaited<ReturnType<TaskHost['answer']>>,
    signReport: async (hashes) => (await call('signReport', hashes)) as Uint8Array,
    bundle: async (of) => (await call('bundle', of)) as Uint8Array | null,
  };
};

/** Loaded when a task needs them. */
const local: LocalParts = {
  fonts: async () => (await import('../reports/fonts.ts')).readReportFonts(reportFonts),
  asPng: async (kind, bytes) => (await import('../pictures/codecs.ts')).asPng(kind, bytes),
};

/** Running tasks, and why they must stop; null where they may go on. */
const running = new Map<number, Failure | null>();

/** Returns a function that yields after 5 ms of work, and then throws if the task must stop. */
function breather(task: number): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMs) return;
    await nextTurn();
    since = performance.now();
    const why = running.get(task) ?? null;
    if (why !== null) throw errorOf(why);
  };
}

async function run(task: number, name: TaskName, input: unknown): Promise<void> {
  try {
    const context = { reader, host: hostOf(task), breathe: breather(task), local };
    // the main thread sends each task the input that `Tasks` pairs with its name
    const output: unknown = await tasks[name](context, input as never);
    send({ kind: 'done', task, output });
  } catch (error) {
    send({ kind: 'failed', task, failure: failureOf(error) });
  } finally {
    running.delete(task);
  }
}

port.on('message', (message: ToWorker) => {
  if (message.kind === 'run') {
    running.set(message.task, null);
    void run(message.task, message.name, message.input);
    return;
  }
  if (message.kind === 'stop') {
    if (running.has(message.task)) running.set(message.task, message.failure);
    return;
  }
  const waiting = calls.get(message.call);
  calls.delete(message.call);
  if (message.failure === null) waiting?.resolve(message.value);
  else waiting?.reject(errorOf(message.failure));
});
