/**
 * Which clauses decided a condition for a checkpoint. Of an `and` that is false one false operand is enough, of
 * one that is true all are needed, and `or` is the dual, so what is found decides whatever the other clauses
 * are: with only its paths left in the checkpoint, a condition that was true or false is so still. Of several
 * such operands the one that takes the fewest paths is named. Proven by `test/core/policy/explain.test.ts`.
 */
import type { Node } from './ast.ts';
import { clausesOf } from './clause.ts';
import type { Clause } from './clause.ts';
import type { Checkpoint, Truth } from './compile.ts';

/** A clause and what it answered. */
export interface Judged {
  readonly clause: Clause;
  readonly truth: Truth;
  readonly parts: readonly Judged[];
  /** The clauses below that decided, in the order of the text; of a leaf itself. */
  readonly deciders: readonly Judged[];
}

/** What each clause of a condition answers. Cost: evaluates each clause once more than the condition itself. */
export const judge = (node: Node, checkpoint: Checkpoint): Judged => judged(clausesOf(node), checkpoint);

const none: readonly Judged[] = [];

function judged(clause: Clause, checkpoint: Checkpoint): Judged {
  const truth = clause.condition.evaluate(checkpoint);
  const parts = clause.parts.length === 0 ? none : clause.parts.map((part) => judged(part, checkpoint));
  const [first, ...others] = parts.length === 0 ? none : deciding(clause.op, truth, parts);
  if (first !== undefined) {
    const deciders =
      others.length === 0
        ? first.deciders
        : [...new Set([first, ...others].flatMap((part) => part.deciders))];
    return { clause, truth, parts, deciders };
  }
  // a connective that its parts do not explain decided itself: one that went beyond its budget
  const own: Judged[] = [];
  const leaf: Judged = { clause, truth, parts, deciders: own };
  own.push(leaf);
  return leaf;
}

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
export const pathsOf = (judged: readonly Judged[]): readonly string[] => [
  ...new Set(judged.flatMap(({ clause }) => clause.readTexts)),
];
