import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';

/** Later than any time, beyond any index and any version: where a list starts that has no position yet. */
export const endOfTime = Number.MAX_SAFE_INTEGER;
/** After every id. */
export const endOfIds = '~';

/** What a write is refused with where too many wait. */
export const overloaded = (): GovError =>
  new GovError(
    'OVERLOADED',
    `expected at most ${limits.writeQueue} waiting writes, got one more; try again later`,
    { retryAfterSeconds: limits.overloadRetrySeconds },
  );
