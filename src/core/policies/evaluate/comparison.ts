/**
 * Equality and order of conditions. Values are compared within one type: numbers as doubles, texts by UTF-16 code units,
 * false before true. For two types, or a list or object, `===` is false and all other operators are indeterminate; two
 * lists or two objects are never compared. Three operands are two comparisons of neighbours, which must both be true.
 * Proven by `test/core/policies/evaluate/compile.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import { spendText } from './budget.ts';
import type { Evaluate, Operand, Site } from './operator.ts';
import { Indeterminate } from './indeterminate.ts';
import type { Value } from './indeterminate.ts';

type Compare = (a: Value, b: Value) => boolean | Indeterminate;

/** `==` and `!=` are indeterminate for values of two types; `===` and `!==` treat them as different. */
export function equality(
  operands: readonly Operand[],
  site: Site,
  op: '==' | '===' | '!=' | '!==',
): Evaluate {
  const equals = op === '==' || op === '===';
  const isStrict = op === '===' || op === '!==';
  const [left, right, third] = operands as [Operand, Operand, Operand | undefined];
  const compare = equals
    ? (wrongType: Indeterminate): Compare => same(wrongType, isStrict)
    : (wrongType: Indeterminate): Compare => different(wrongType, isStrict);
  const literal = right.node.kind === 'literal' ? right.node.value : null;
  if (third === undefined && literal !== null && String(literal).length < 64) {
    return againstLiteral(left, literal, compare(wrongTypeOf(left, right, site)), equals);
  }
  return chain(operands, site, compare);
}

/** Fast path of the most frequent comparison: the type of one side is known, and it costs no units. */
function againstLiteral(
  { evaluate }: Operand,
  literal: boolean | number | string,
  compare: Compare,
  equals: boolean,
): Evaluate {
  const type = typeof literal;
  return (root, item) => {
    const value = evaluate(root, item);
    if (typeof value === type) return (value === literal) === equals;
    return compare(value, literal);
  };
}

const orders = {
  '<': (a: Json, b: Json) => (a as number) < (b as number),
  '<=': (a: Json, b: Json) => (a as number) <= (b as number),
  '>': (a: Json, b: Json) => (a as number) > (b as number),
  '>=': (a: Json, b: Json) => (a as number) >= (b as number),
} as const;

/** `<`, `<=`, `>` and `>=`. */
export function order(operands: readonly Operand[], site: Site, op: keyof typeof orders): Evaluate {
  const holds = orders[op];
  return chain(operands, site, (wrongType) => (a, b) => {
    if (typeof a === typeof b && typeof a !== 'object') return holds(a, b as Json);
    if (a instanceof Indeterminate) return a;
    return b instanceof Indeterminate ? b : wrongType;
  });
}

/** Returns a comparison for equality. */
export function same(wrongType: Indeterminate, isStrict: boolean): Compare {
  return (a, b) => {
    if (typeof a === typeof b && typeof a !== 'object') return a === b;
    if (a instanceof Indeterminate) return a;
    if (b instanceof Indeterminate) return b;
    const differ = isStrict && (typeof a !== typeof b || Array.isArray(a) !== Array.isArray(b));
    return differ ? false : wrongType;
  };
}

function different(wrongType: Indeterminate, isStrict: boolean): Compare {
  const compare = same(wrongType, isStrict);
  return (a, b) => {
    const answer = compare(a, b);
    return typeof answer === 'boolean' ? !answer : answer;
  };
}

const wrongTypeOf = (left: Operand, right: Operand, site: Site): Indeterminate =>
  site.because('type', left.read ?? right.read);

/** Wraps a comparison so that it spends units for the shorter of two texts. */
function paid(
  compareWith: (wrongType: Indeterminate) => Compare,
  [left, right]: readonly [Operand, Operand],
  site: Site,
): Compare {
  const compare = compareWith(wrongTypeOf(left, right, site));
  const overBudget = site.because('budget', left.read ?? right.read);
  return (a, b) => {
    if (typeof a !== 'string' || typeof b !== 'string') return compare(a, b);
    return spendText(Math.min(a.length, b.length)) ? compare(a, b) : overBudget;
  };
}

/** Compares neighbours; a false comparison decides, whatever the other result. */
function chain(
  operands: readonly Operand[],
  site: Site,
  compareWith: (wrongType: Indeterminate) => Compare,
): Evaluate {
  const [left, right, third] = operands as [Operand, Operand, Operand | undefined];
  const [a, b] = [left.evaluate, right.evaluate];
  const compare = paid(compareWith, [left, right], site);
  if (third === undefined) return (root, item) => compare(a(root, item), b(root, item));
  const compareNext = paid(compareWith, [right, third], site);
  const c = third.evaluate;
  return (root, item) => {
    const middle = b(root, item);
    const first = compare(a(root, item), middle);
    if (first === false) return false;
    const second = compareNext(middle, c(root, item));
    return second === false ? false : first === true ? second : first;
  };
}
