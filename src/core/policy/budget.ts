/**
 * What one evaluation may cost: so many items of lists that it walks, and texts of so many bytes for each
 * operator on texts. Beyond either, the answer is indeterminate. Evaluation is synchronous and calls nothing
 * outside, so one counter serves all conditions. Proven by `test/core/policy/conditionlimits.test.ts`.
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

/** Whether an operator may work on a text. Cost: constant for texts far below or above the bound. */
export function isShort(text: string): boolean {
  if (text.length * 3 <= limits.conditionStringBytes) return true;
  return text.length <= limits.conditionStringBytes && Buffer.byteLength(text) <= limits.conditionStringBytes;
}
