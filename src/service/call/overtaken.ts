/**
 * Repeats a change that another request overtook, be it of this process or of another one on the same database. Each
 * round one of the competing changes is stored, so all of them are stored in time: OVERLOADED means that more arrive
 * than the store takes. Proven by `test/service/call/overtaken.test.ts` and
 * `test/service/races.long.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { GovError, type ProblemCode } from '../../contract/problems.ts';

/**
 * Returns the result of the first attempt that another change did not overtake: null where one did. Each attempt reads
 * again what it is judged by. `what` names what kept changing. Cost: the first repeat starts at once, each later one
 * after a random pause.
 */
export async function untilStored<Result>(
  what: string,
  attempt: () => Promise<Result | null>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    const result = await attempt();
    if (result !== null) return result;
    if (tries === limits.changeTries) throw keptChanging(what);
    if (tries > 1) await pause(Math.random() * Math.min(2 ** tries, limits.changePauseMs));
  }
}

const keptChanging = (what: string): GovError =>
  new GovError('OVERLOADED', `${what} kept changing; repeat later`, {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });

/**
 * The result of an append; null where an effect found another state than the caller: a transient CONFLICT, or one of
 * these codes.
 */
export async function unlessOvertaken<Result>(
  stored: Promise<Result>,
  ...codes: readonly ProblemCode[]
): Promise<Result | null> {
  try {
    return await stored;
  } catch (error) {
    if (error instanceof GovError && (isTransientConflict(error) || codes.includes(error.code))) return null;
    throw error;
  }
}

const isTransientConflict = ({ code, transient }: GovError): boolean => code === 'CONFLICT' && transient;
