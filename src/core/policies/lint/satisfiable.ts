/**
 * Decides whether a condition can be true, or false. It answers "no" only if that is certain: it collects the facts that
 * must be true together for each path, and tries relevant values with the evaluator. For equality and lists these are all
 * possible values; for numbers the bounds, a value between neighbours and one beyond each end. Anything else counts as
 * possible.
 * Proven by `test/core/policies/lint/check.test.ts` (no random policy input contradicts it).
 */
import type { Json } from '../../json/parse.ts';
import type { Segment } from '../language/ast.ts';
import type { Clause, Path } from '../evaluate/clause.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { withValue } from '../explain/nearest.ts';
import { pathText } from '../language/text-print.ts';

/** A leaf with its required result. */
interface Fact {
  readonly leaf: Clause;
  readonly want: boolean;
}

/** Returns whether some policy input may make a clause `want`. Cost: quadratic in the clauses on one path. */
export function canBe(clause: Clause, want: boolean): boolean {
  const { op, parts } = clause;
  const [first] = parts;
  if (first === undefined) return !contradict([{ leaf: clause, want }]);
  switch (op) {
    case 'and':
    case 'or':
      // Either all parts must have the result, or one of them.
      if ((op === 'and') !== want) return parts.some((part) => canBe(part, want));
      return parts.every((part) => canBe(part, want)) && !contradict(factsOf(clause, want));
    case '!':
      return canBe(first, !want);
    case '!!':
      return canBe(first, want);
    default:
      return parts.some((part, at) => isValue(parts, at) && canBe(part, want));
  }
}

/** Whether a part of an `if` may be its result. */
const isValue = (parts: readonly Clause[], at: number): boolean => at % 2 === 1 || at === parts.length - 1;

/** Returns the leaves that must all have one result for a clause to be `want`. */
export function factsOf(clause: Clause, want: boolean): readonly Fact[] {
  const { op, parts } = clause;
  const [first] = parts;
  if (first === undefined) return [{ leaf: clause, want }];
  if (op === '!') return factsOf(first, !want);
  if (op === '!!') return factsOf(first, want);
  if ((op === 'and' && want) || (op === 'or' && !want) || (op !== 'if' && parts.length === 1)) {
    return parts.flatMap((part) => factsOf(part, want));
  }
  return [];
}

/** Returns whether facts contradict each other. */
function contradict(facts: readonly Fact[]): boolean {
  const constant = facts.some(({ leaf, want }) => leaf.reads.length === 0 && !answers(leaf, want, empty));
  if (constant) return true;
  const paths = new Map(
    facts
      .filter(({ leaf }) => leaf.reads.length === 1)
      .flatMap(({ leaf }) => leaf.reads.map((read): [string, Path] => [pathText(read.path), read])),
  );
  return [...paths.values()].some(({ path }) => isImpossible(path, facts));
}

const empty: PolicyInput = { context: {} };

const answers = (leaf: Clause, want: boolean, input: PolicyInput): boolean =>
  leaf.condition.evaluate(input) === String(want);

/** Returns whether no candidate value at a path satisfies all facts about it. */
function isImpossible(path: readonly Segment[], facts: readonly Fact[]): boolean {
  const about = facts.filter(({ leaf }) => leaf.reads.length === 1 && concerns(leaf, path));
  const values = valuesFor(about, path);
  if (values === undefined) return false;
  return ![...new Set(values)].some((value) => {
    const input = value === undefined ? empty : withValue(empty, path, value);
    return input === undefined || about.every(({ leaf, want }) => answers(leaf, want, input));
  });
}

/** Whether a clause is about the path, or about the presence of a value on the way to it. */
function concerns({ op, reads }: Clause, path: readonly Segment[]): boolean {
  const [read] = reads;
  if (read === undefined || read.path.length > path.length) return false;
  const isSame = read.path.length === path.length;
  const isOnWay = read.path.every((segment, at) => segment === path[at]);
  return isOnWay && (isSame || op === 'exists' || op === 'missing');
}

/** Returns values of which one satisfies the facts if any does; undefined if unknown. */
function valuesFor(
  about: readonly Fact[],
  path: readonly Segment[],
): readonly (Json | undefined)[] | undefined {
  const shapes = about.filter(({ leaf }) => isSamePath(leaf, path)).map(shapeOf);
  const finite = shapes.find((shape) => shape.kind === 'one of');
  if (finite !== undefined) return finite.values;
  if (shapes.some((shape) => shape.kind === 'other')) return undefined;
  const bounds = shapes.flatMap((shape) => shape.values);
  const numbers = [...new Set(bounds.filter((value) => typeof value === 'number'))].sort((a, b) => a - b);
  if (shapes.some((shape) => shape.kind === 'order')) {
    return bounds.every((value) => typeof value === 'number') ? around(numbers) : undefined;
  }
  const texts = bounds.filter((value) => typeof value === 'string');
  return [undefined, null, true, false, `${texts.join('')}other`, {}, ...bounds, ...around(numbers)];
}

const isSamePath = ({ reads }: Clause, path: readonly Segment[]): boolean =>
  reads[0]?.path.length === path.length;

function around(numbers: readonly number[]): number[] {
  const between = numbers.slice(1).map((number, at) => (number + (numbers[at] ?? number)) / 2);
  return [-Number.MAX_VALUE, ...numbers, ...between, Number.MAX_VALUE];
}

/** The values that a fact allows: one of these, an order relative to these, anything but these, or unknown. */
interface Shape {
  readonly kind: 'one of' | 'order' | 'presence' | 'not' | 'other';
  readonly values: readonly Json[];
}

const other: Shape = { kind: 'other', values: [] };

function shapeOf({ leaf, want }: Fact): Shape {
  const { node } = leaf;
  if (node.kind === 'path') return node.fallback === undefined && !want ? falsy : other;
  if (node.kind !== 'call') return other;
  if (node.op === 'exists' || node.op === 'missing') return { kind: 'presence', values: [] };
  const [left, right] = node.args;
  if (left === undefined || right === undefined || node.args.length > 2) return other;
  const [path, operand] = left.kind === 'path' && left.fallback === undefined ? [left, right] : [right, left];
  if (path.kind !== 'path' || path.fallback !== undefined) return other;
  const values = operand.kind === 'literal' ? [operand.value] : literalItems(operand);
  if (values === undefined) return other;
  switch (node.op) {
    case '==':
    case '===':
      return operand.kind === 'literal' ? { kind: want ? 'one of' : 'not', values } : other;
    case '!=':
    case '!==':
      return operand.kind === 'literal' ? { kind: want ? 'not' : 'one of', values } : other;
    case 'in':
      return path === left && operand.kind === 'list' ? { kind: want ? 'one of' : 'not', values } : other;
    case '<':
    case '<=':
    case '>':
    case '>=':
      return operand.kind === 'literal' ? { kind: 'order', values } : other;
    default:
      return other;
  }
}

/** The values of a path that make it false as a clause. */
const falsy: Shape = { kind: 'one of', values: [false, 0, '', []] };

function literalItems(node: Clause['node']): readonly Json[] | undefined {
  if (node.kind !== 'list') return undefined;
  const values = node.items.map((item) => (item.kind === 'literal' ? item.value : undefined));
  return values.every((value) => value !== undefined) ? values : undefined;
}
