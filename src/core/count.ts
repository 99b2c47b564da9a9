/** Counts, sizes and positions of attacker-controlled input. Proven by `test/core/merkle/tree.test.ts`. */

/** Whether a value is an integer from 0 to 2^53-1. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
