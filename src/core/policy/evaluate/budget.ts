/**
 * What one evaluation may cost, in units: for each item of a list that it walks, one for each clause that it asks
 * of the item, and one for every 64 characters of a text that it works on or compares, so that a short one is free
 * and long ones within iterators are not. A text of more than 4 KiB is compared only. Beyond the budget the answer
 * is indeterminate: whoever sends a list decides how long it is, so ten thousand units, about 0.3 ms, bound a policy.
 * Evaluation is synchronous and calls nothing outside, so one counter serves all conditions.
 * Proven by `test/core/policy/condition-limits.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Node } from '../language/ast.ts';
import { iterates } from '../language/operand-types.ts';

let unitsLeft: number = limits.conditionUnits;
/** Of the evaluations before this one. */
let done = 0;

/** What an evaluation that walks no list costs, next to a unit. */
const evaluationUnits = 16;

export function resetBudget(): void {
  done += limits.conditionUnits - unitsLeft + evaluationUnits;
  unitsLeft = limits.conditionUnits;
}

/** Units of all evaluations so far, of this thread: what was done between two calls is their difference. */
export const workDone = (): number => done + limits.conditionUnits - unitsLeft;

/** Counts other work, of about 0.1 µs a unit. */
export function addWork(units: number): void {
  done += units;
}

/**
 * Takes the units of a list before it is walked, however early the walk may end, so that the cost does not hang on
 * the order of items. False, and nothing taken, where too few are left.
 */
export function spend(units: number): boolean {
  if (units > unitsLeft) return false;
  unitsLeft -= units;
  return true;
}

/**
 * The units for one item that `some`, `all` and `none` ask about: one for each clause of the predicate, which is
 * what `and`, `or` and `if` connect, for each operand of a clause beyond the second, each default, and each `!`. An
 * iterator within takes the units for its own items when it comes to them.
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

/** A path or a literal is part of the clause that it stands in. */
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
