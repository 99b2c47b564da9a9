/** What passes between the main thread and the worker thread, by structured clone. */
import { GovError, type FieldError, type ProblemCode } from '../contract/problems.ts';
import type { TaskHost, TaskName } from '../service/work.ts';

export type ToWorker =
  | { readonly kind: 'run'; readonly task: number; readonly name: TaskName; readonly input: unknown }
  | { readonly kind: 'answer'; readonly call: number; readonly failure: Failure | null };

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

/** An error in a form that survives the clone; classes do not. */
export type Failure =
  | {
      readonly code: ProblemCode;
      readonly message: string;
      readonly errors: readonly FieldError[];
      readonly extensions: Readonly<Record<string, unknown>>;
    }
  | { readonly code: null; readonly message: string };

export function failureOf(error: unknown): Failure {
  if (error instanceof GovError) {
    const { code, message, errors, extensions } = error;
    return { code, message, errors, extensions };
  }
  return { code: null, message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

export function errorOf(failure: Failure): Error {
  if (failure.code === null) return new Error(`in the worker thread: ${failure.message}`);
  const { code, message, errors, extensions } = failure;
  return new GovError(code, message, { errors, extensions });
}
