/**
 * The clock and the random source of the machine. Only this file reads them, and all others receive them.
 */
import { randomBytes } from 'node:crypto';

/** Whole Unix milliseconds. */
export const now = (): number => Date.now();

export { randomBytes };
