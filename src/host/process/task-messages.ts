/**
 * The messages between the main thread and a worker thread, sent by structured clone.
 */
import type { Failure } from '../../contract/failure.ts';
import type { TaskHost, TaskName } from '../../service/call/work.ts';
import type { DatabaseOptions } from '../../store/postgres/store.ts';

/** The store that a worker thread reads: a database file, or a database server. */
export type ReaderSource =
  | { readonly engine: 'sqlite'; readonly path: string; readonly masterKey?: Uint8Array | undefined }
  | ({ readonly engine: 'postgres' } & DatabaseOptions);

/**
 * The start data of a thread. `nice`: priority from 0 to 19, where 19 yields most (setpriority(2)). `reportFonts`: folder
 * with fonts for other scripts, or null.
 */
export interface WorkerStart {
  readonly source: ReaderSource;
  readonly nice: number;
  readonly reportFonts: string | null;
}

export type ToWorker =
  | { readonly kind: 'run'; readonly task: number; readonly name: TaskName; readonly input: unknown }
  /** The task fails at its next chunk. */
  | { readonly kind: 'stop'; readonly task: number; readonly failure: Failure }
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
