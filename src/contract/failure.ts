/** Errors as plain objects, to send between threads: class instances do not survive the transfer. */
import { GovError, type FieldError, type ProblemCode } from './problems.ts';

export type Failure =
  | {
      readonly code: ProblemCode;
      readonly message: string;
      readonly errors: readonly FieldError[];
      readonly extensions: Readonly<Record<string, unknown>>;
      readonly retryAfterSeconds: number | null;
      readonly transient: boolean;
      /** Stack of the cause, for the log. */
      readonly cause: string | null;
    }
  | { readonly code: null; readonly message: string };

export function failureOf(error: unknown): Failure {
  if (!(error instanceof GovError)) return { code: null, message: textOf(error) };
  const { code, message, errors, extensions, retryAfterSeconds = null, transient } = error;
  const cause = error.cause === undefined ? null : textOf(error.cause);
  return { code, message, errors, extensions, retryAfterSeconds, transient, cause };
}

export function errorOf(failure: Failure): Error {
  if (failure.code === null) return new Error(`in another thread: ${failure.message}`);
  const { code, message, errors, extensions, retryAfterSeconds, transient, cause } = failure;
  return new GovError(code, message, {
    errors,
    extensions,
    transient,
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(cause === null ? {} : { cause: new Error(cause) }),
  });
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
