/** What passes between the main thread and the worker thread, by structured clone. */
import type { Failure } from '../../contract/failure.ts';
import type { TaskHost, TaskName } from '../../service/call/work.ts';
import type { DatabaseOptions } from '../../store/postgres/store.ts';

/** The store that the worker thread reads: a database file, or a database that it connects to. */
export type ReaderSource =
  | { readonly engine: 'sqlite'; readonly path: string; readonly masterKey?: Uint8Array | undefined }
  | ({ readonly engine: 'postgres' } & DatabaseOptions);

/** What the thread is started with. `nice`: how far it gives way to the others, 0 to 19 (setpriority(2)). */
export interface WorkerStart {
  readonly source: ReaderSource;
  readonly nice: number;
}

export type ToWorker =
  | { readonly kind: 'run'; readonly task: number; readonly name: TaskName; readonly input: unknown }
  | {
      readonly kind: 'answer';
      readonly call: number;
      readonly failure: Failure | null;
      readonly value?: unknown;
    };

export type ToMain =
  | { readonly kind: 'done'; readonly task: number; readonly output: unknown }
  | { readonly kind: 'failed'; readonly task: number; readonly failure: Failure }
  | {
      readonly kind: 'call';
      readonly task: number;
      readonly call: number;
      readonly method: keyof TaskHost;
      readonly argument: unknown;
    };
