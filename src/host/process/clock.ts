/** The only place that reads the clock and the random source of the machine; everything else is given them. */
import { randomBytes } from 'node:crypto';

/** Whole Unix milliseconds. */
export const now = (): number => Date.now();

export { randomBytes };
