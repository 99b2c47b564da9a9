/**
 * The start positions of lists that have no cursor yet, and the error of a full write queue.
 * Both engines use them. Proven by `test/store/suite/log/lists.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';

/** Above any time, index and version: where a list without a position starts. */
export const endOfTime = Number.MAX_SAFE_INTEGER;
/** Sorts after every id. */
export const endOfIds = '~';

/** The error for a write that finds the queue full. */
export const overloaded = (): GovError =>
  new GovError(
    'OVERLOADED',
    `expected at most ${limits.writeQueue} waiting writes, got one more; try again later`,
    { retryAfterSeconds: limits.overloadRetrySeconds },
  );
