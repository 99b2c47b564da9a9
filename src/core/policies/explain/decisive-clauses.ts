/**
 * The decisive clauses of a condition for a policy input. One false operand decides a false `and`, all operands decide a
 * true one, and `or` is the dual. The decisive clauses determine the result whatever the others are: an input with only
 * their paths gives the same result, true or false. Of several such operands the one with the fewest paths is chosen.
 * Proven by `test/core/policies/explain/detail.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Node } from '../language/ast.ts';
import { workDone } from '../evaluate/budget.ts';
import { clausesOf } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { PolicyInput, Truth } from '../evaluate/compile.ts';

/** Shared limit of all clauses of a condition: each has a budget of its own, and there may be hundreds. */
interface Allowance {
  units: number;
}

/**
 * A clause and its result. The clauses below are evaluated on demand, which most never are; beyond the limit they count as
 * indeterminate.
 */
export class ClauseResult {
  readonly clause: Clause;
  readonly truth: Truth;
  readonly #input: PolicyInput;
  readonly #allowance: Allowance;
  #below: readonly ClauseResult[] | undefined;
  #found: readonly ClauseResult[] | undefined;

  constructor(clause: Clause, input: PolicyInput, allowance: Allowance = { units: limits.reasoningUnits }) {
    const before = workDone();
    this.clause = clause;
    this.truth = allowance.units > 0 ? clause.condition.evaluate(input) : 'indeterminate';
    this.#input = input;
    this.#allowance = allowance;
    allowance.units -= workDone() - before;
  }

  get parts(): readonly ClauseResult[] {
    this.#below ??= this.clause.parts.map((part) => new ClauseResult(part, this.#input, this.#allowance));
    return this.#below;
  }

  /** The decisive clauses below, in text order; for a leaf the leaf itself. */
  get deciders(): readonly ClauseResult[] {
    this.#found ??= this.#find();
    return this.#found;
  }

  #find(): readonly ClauseResult[] {
    const chosen = deciding(this.clause.op, this.truth, this.parts);
    const [only] = chosen;
    // A connective that its parts do not explain is decisive itself: it exceeded its budget.
    if (only === undefined) return [this];
    return chosen.length === 1 ? only.deciders : chosen.flatMap(({ deciders }) => deciders);
  }
}

/** Returns the results of the clauses of a condition. Cost: one more evaluation of each clause that is read. */
export const judge = (node: Node, input: PolicyInput): ClauseResult =>
  new ClauseResult(clausesOf(node), input);

function deciding(op: string, truth: Truth, parts: readonly ClauseResult[]): readonly ClauseResult[] {
  switch (op) {
    case 'and':
      return truth === 'true' ? parts : cheapest(parts, truth);
    case 'or':
      return truth === 'false' ? parts : cheapest(parts, truth);
    case '!':
    case '!!':
      return parts.filter((part) => (part.truth === 'indeterminate') === (truth === 'indeterminate'));
    case 'if':
      return branch(parts);
    default:
      return [];
  }
}

/** Returns the part with this truth that the fewest paths decide; the first of equals. */
function cheapest(parts: readonly ClauseResult[], truth: Truth): readonly ClauseResult[] {
  const candidates = parts.filter((part) => part.truth === truth);
  if (candidates.length < 2) return candidates;
  let best: ClauseResult | undefined;
  let least = Infinity;
  for (const part of candidates) {
    const count = pathsOf(part.deciders).length;
    if (count < least) [best, least] = [part, count];
  }
  return best === undefined ? [] : [best];
}

/** Returns the tests of an `if` up to the first that was not false, and the value that it chose. */
function branch(parts: readonly ClauseResult[]): readonly ClauseResult[] {
  const passed: ClauseResult[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const [test, value] = parts.slice(at, at + 2);
    if (test !== undefined) passed.push(test);
    if (test?.truth === 'true' && value !== undefined) return [...passed, value];
    if (test?.truth === 'indeterminate') return passed;
  }
  return passed;
}

/** Returns the paths that clauses read, as texts, each once. */
export function pathsOf(judged: readonly ClauseResult[]): readonly string[] {
  const [only] = judged;
  if (only !== undefined && judged.length === 1) return only.clause.readTexts;
  return [...new Set(judged.flatMap(({ clause }) => clause.readTexts))];
}
