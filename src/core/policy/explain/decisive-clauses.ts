/**
 * Which clauses decided a condition for a checkpoint. Of an `and` that is false one false operand is enough, of
 * one that is true all are needed, and `or` is the dual, so what is found decides whatever the other clauses
 * are: with only its paths left in the checkpoint, a condition that was true or false is so still. Of several
 * such operands the one that takes the fewest paths is named. Proven by `test/core/policy/explain/detail.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Node } from '../language/ast.ts';
import { workDone } from '../evaluate/budget.ts';
import { clausesOf } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { PolicyInput, Truth } from '../evaluate/compile.ts';

/** What all clauses of a condition may cost together: each has a budget of its own, and there may be hundreds. */
interface Allowance {
  units: number;
}

/**
 * A clause and what it answered. What is below it is judged when it is asked for, which most of it never is; where
 * that would cost too much, it is taken for indeterminate.
 */
export class Judged {
  readonly clause: Clause;
  readonly truth: Truth;
  private readonly input: PolicyInput;
  private readonly allowance: Allowance;
  private below: readonly Judged[] | undefined;
  private found: readonly Judged[] | undefined;

  constructor(clause: Clause, input: PolicyInput, allowance: Allowance = { units: limits.reasoningUnits }) {
    const before = workDone();
    this.clause = clause;
    this.truth = allowance.units > 0 ? clause.condition.evaluate(input) : 'indeterminate';
    this.input = input;
    this.allowance = allowance;
    allowance.units -= workDone() - before;
  }

  get parts(): readonly Judged[] {
    this.below ??= this.clause.parts.map((part) => new Judged(part, this.input, this.allowance));
    return this.below;
  }

  /** The clauses below that decided, in the order of the text; of a leaf itself. */
  get deciders(): readonly Judged[] {
    this.found ??= this.find();
    return this.found;
  }

  private find(): readonly Judged[] {
    const chosen = deciding(this.clause.op, this.truth, this.parts);
    const [only] = chosen;
    // a connective that its parts do not explain decided itself: one that went beyond its budget
    if (only === undefined) return [this];
    return chosen.length === 1 ? only.deciders : chosen.flatMap(({ deciders }) => deciders);
  }
}

/** What each clause of a condition answers. Cost: evaluates each clause that is asked about once more. */
export const judge = (node: Node, input: PolicyInput): Judged => new Judged(clausesOf(node), input);

function deciding(op: string, truth: Truth, parts: readonly Judged[]): readonly Judged[] {
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

/** Of the parts with this truth, the one that takes the fewest paths to decide; the first of equals. */
function cheapest(parts: readonly Judged[], truth: Truth): readonly Judged[] {
  const candidates = parts.filter((part) => part.truth === truth);
  if (candidates.length < 2) return candidates;
  let best: Judged | undefined;
  let least = Infinity;
  for (const part of candidates) {
    const count = pathsOf(part.deciders).length;
    if (count < least) [best, least] = [part, count];
  }
  return best === undefined ? [] : [best];
}

/** The tests of an `if` up to the one that was not false, and the value that it chose. */
function branch(parts: readonly Judged[]): readonly Judged[] {
  const passed: Judged[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const [test, value] = parts.slice(at, at + 2);
    if (test !== undefined) passed.push(test);
    if (test?.truth === 'true' && value !== undefined) return [...passed, value];
    if (test?.truth === 'indeterminate') return passed;
  }
  return passed;
}

/** The paths that clauses read, as texts, each once. */
export function pathsOf(judged: readonly Judged[]): readonly string[] {
  const [only] = judged;
  if (only !== undefined && judged.length === 1) return only.clause.readTexts;
  return [...new Set(judged.flatMap(({ clause }) => clause.readTexts))];
}
