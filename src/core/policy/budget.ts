/**
 * What one evaluation may cost, in units: one for each item of a list that it walks, and one for every 64
 * characters of a text that it works on or compares, so that a short one is free and long ones within iterators
 * are not. A text of more than 4 KiB is compared only. Beyond the budget the answer is indeterminate.
 * Evaluation is synchronous and calls nothing outside, so one counter serves all conditions.
 * Proven by `test/core/policy/conditionlimits.test.ts`.
 */
import { limits } from '../../contract/limits.ts';

let unitsLeft: number = limits.conditionUnits;

export function resetBudget(): void {
  unitsLeft = limits.conditionUnits;
}

/**
 * Takes one unit for each item of a list before it is walked, however early the walk may end, so that the cost
 * does not hang on the order of items. False, and nothing taken, where too few are left.
 */
export function spend(items: number): boolean {
  if (items > unitsLeft) return false;
  unitsLeft -= items;
  return true;
}

/** Takes the units for going through so many UTF-16 code units of text. */
export const spendText = (characters: number): boolean => characters < 64 || spend(characters >> 6);

/** Whether an operator may work on a text, for which it pays first, as measuring one costs something too. */
export const mayWorkOn = (text: string): boolean =>
  text.length <= limits.conditionStringBytes && spendText(text.length) && isShort(text);

/** Whether a text is within its bound. Cost: constant for texts far below or above it. */
export function isShort(text: string): boolean {
  if (text.length * 3 <= limits.conditionStringBytes) return true;
  return text.length <= limits.conditionStringBytes && Buffer.byteLength(text) <= limits.conditionStringBytes;
}
