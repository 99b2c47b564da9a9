/**
 * The clock and the random source of the machine. Only this file reads them, and all others receive them.
 */
import { randomBytes } from 'node:crypto';
import { SteadyClock } from './steady-clock.ts';

const clock = new SteadyClock();

/** Whole Unix milliseconds. Does not follow a jump of the system's clock. */
export const now = (): number => clock.now();

/** By how much the system's clock is ahead of `now` since it jumped; 0 otherwise. */
export const clockJumpMs = (): number => clock.jumpMs;

export { randomBytes };
