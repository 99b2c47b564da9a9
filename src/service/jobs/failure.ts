/** What follows when a job or a report fails. Tested by `test/service/jobs/failure.test.ts`. */
import { GovError } from '../../contract/problems.ts';
import { backoffMs, type Backoff } from '../../core/backoff.ts';

/** The error itself, or INTERNAL for one that no code names. */
export const knownError = (error: unknown): GovError =>
  error instanceof GovError ? error : new GovError('INTERNAL', 'Internal error', { cause: error });

/** Code and detail for the user, at most `mostChars`. The detail of an internal error stays in the log. */
export function errorSummary({ code, message }: GovError, mostChars: number): string {
  return `${code}: ${code === 'INTERNAL' ? 'Internal error' : message}`.slice(0, mostChars);
}

const backoff: Backoff = { firstMs: 2000, mostMs: 60_000, jitter: 0.5 };

interface Attempts {
  /** Those made, the failed one included. */
  readonly made: number;
  readonly most: number;
}

/**
 * When to try again, in Unix milliseconds: at once where the process shuts down. Null after the last attempt, and for an
 * error of the request, which would recur.
 */
export function retryAt(
  { transient, code }: GovError,
  { made, most }: Attempts,
  atMs: number,
): number | null {
  if (code === 'SHUTTING_DOWN') return atMs;
  if (!transient || made >= most) return null;
  return atMs + backoffMs(backoff, made, Math.random());
}
