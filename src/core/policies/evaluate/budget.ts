/**
 * The cost of one evaluation in units: for each item of a walked list, one for each clause asked of the item; and one for
 * every 64 characters of a text that it processes or compares. So short texts are free, and long texts within iterators
 * are not. A text over 4 KiB is only compared. Beyond the budget the result is indeterminate. Clients choose the length of
 * lists, so ten thousand units, about 0.3 ms, limit each policy. Evaluation is synchronous and calls nothing outside, so
 * one counter serves all conditions.
 * Proven by `test/core/policies/condition-limits.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Node } from '../language/ast.ts';
import { iterates } from '../language/operand-types.ts';

let unitsLeft: number = limits.conditionUnits;
/** Units of the earlier evaluations. */
let done = 0;

/** Cost of an evaluation without lists, in units. */
const evaluationUnits = 16;

export function resetBudget(): void {
  done += limits.conditionUnits - unitsLeft + evaluationUnits;
  unitsLeft = limits.conditionUnits;
}

/** Returns the units of all evaluations in this thread; the work between two calls is the difference. */
export const workDone = (): number => done + limits.conditionUnits - unitsLeft;

/** Counts other work; a unit is about 0.1 µs. */
export function addWork(units: number): void {
  done += units;
}

/**
 * Spends the units of a list before it is walked, even if the walk ends early, so that the cost does not depend on the
 * order of items. Returns false and spends nothing if too few are left.
 */
export function spend(units: number): boolean {
  if (units > unitsLeft) return false;
  unitsLeft -= units;
  return true;
}

/**
 * Returns the units for one item of `some`, `all` and `none`: one for each clause of the predicate (the operands of `and`,
 * `or` and `if`), each operand of a clause beyond the second, each default, and each `!`. A nested iterator spends the
 * units for its own items when it runs.
 */
export const unitsOf = (predicate: Node): number => Math.max(1, clauseUnits(predicate));

function clauseUnits(node: Node): number {
  if (node.kind === 'path') return 1 + operandUnits(node);
  if (node.kind !== 'call') return Math.max(1, operandUnits(node));
  const { op, args } = node;
  switch (op) {
    case 'and':
    case 'or':
    case '!':
    case '!!':
    case 'if':
      return sum(args, clauseUnits) + (args.length === 1 ? 1 : 0);
    case 'missing':
      return sum(args, clauseUnits);
    default: {
      const [list] = args;
      if (iterates(op) && list !== undefined) return 1 + operandUnits(list);
      return Math.max(1, args.length - 1) + sum(args, operandUnits);
    }
  }
}

/** A path or a literal costs nothing beyond its clause. */
function operandUnits(node: Node): number {
  switch (node.kind) {
    case 'literal':
      return 0;
    case 'list':
      return node.items.every(({ kind }) => kind === 'literal') ? 0 : sum(node.items, clauseUnits);
    case 'path':
      return node.fallback === undefined ? 0 : 1 + operandUnits(node.fallback);
    case 'call':
      return clauseUnits(node);
  }
}

const sum = (nodes: readonly Node[], units: (node: Node) => number): number =>
  nodes.reduce((total, node) => total + units(node), 0);

/** Spends the units for processing so many UTF-16 code units of text. */
export const spendText = (characters: number): boolean => characters < 64 || spend(characters >> 6);

/** Returns whether an operator may process a text; spends units first, because measuring has a cost, too. */
export const mayWorkOn = (text: string): boolean =>
  text.length <= limits.conditionStringBytes && spendText(text.length) && isShort(text);

/** Returns whether a text is within its limit. Cost: constant for texts far below or above it. */
export function isShort(text: string): boolean {
  if (text.length * 3 <= limits.conditionStringBytes) return true;
  return text.length <= limits.conditionStringBytes && Buffer.byteLength(text) <= limits.conditionStringBytes;
}
