/**
 * `in`, `some`, `all` and `none` of conditions. Membership follows `==`: an item of another type than the value, an absent
 * item, and lists and objects are indeterminate unless an item equals the value. If they counted as different, a client
 * could send `["shell"]` instead of `"shell"` to evade a condition. Proven by
 * `test/core/policies/evaluate/compile.test.ts` and `test/core/policies/reference.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import { isShort, mayWorkOn, spend, unitsOf } from './budget.ts';
import { same } from './comparison.ts';
import type { Evaluate, Operand, Site } from './operator.ts';
import { Indeterminate, truthOf } from './indeterminate.ts';
import type { Value } from './indeterminate.ts';

/** `in` for a literal list in the condition, whose items cost no units. */
export function inItems(needle: Operand, items: readonly Operand[], site: Site): Evaluate {
  const literals = items.map(({ node }) => (node.kind === 'literal' ? node.value : null));
  if (!literals.includes(null)) return inTable(needle, literals, site);
  const members = items.map(({ evaluate, read }) => ({
    evaluate,
    compare: same(site.because('type', needle.read ?? read), false),
  }));
  return (root, item) => {
    const value = needle.evaluate(root, item);
    if (value instanceof Indeterminate) return value;
    let unknown: Indeterminate | undefined;
    for (const { evaluate, compare } of members) {
      const answer = compare(value, evaluate(root, item));
      if (answer === true) return true;
      if (answer !== false) unknown ??= answer;
    }
    return unknown ?? false;
  };
}

/** Scalars only: one look-up for any length of the list. False requires a value of the common type of the items. */
function inTable(needle: Operand, literals: readonly Json[], site: Site): Evaluate {
  const table = new Set<Value>(literals);
  const types = new Set(literals.map((each) => typeof each));
  const [type] = types.size === 1 ? types : [];
  const notFound = literals.length === 0 ? false : site.because('type', needle.read);
  return (root, item) => {
    const value = needle.evaluate(root, item);
    if (typeof value === type) return table.has(value);
    if (value instanceof Indeterminate) return value;
    return table.has(value) || notFound;
  };
}

/** `in` for a computed value or one of the policy input: a list as above, or a text that may contain another. */
export function inValue(needle: Operand, haystack: Operand, site: Site): Evaluate {
  const wrongNeedle = site.because('type', needle.read);
  const wrongHaystack = site.because('type', haystack.read);
  const items = haystack.read === null ? null : `${haystack.read}[]`;
  const absentItem = site.because('absent', items);
  const overBudget = site.because('budget', haystack.read);
  const compare = same(site.because('type', needle.read ?? items), false);
  const inList = (value: Json, list: readonly Json[]): Value => {
    if (!spend(list.length)) return overBudget;
    let unknown: Indeterminate | undefined;
    for (const each of list) {
      const answer = each === null ? absentItem : compare(value, each);
      if (answer === true) return true;
      if (answer !== false) unknown ??= answer;
    }
    return unknown ?? false;
  };
  return (root, item) => {
    const value = needle.evaluate(root, item);
    const within = haystack.evaluate(root, item);
    if (value instanceof Indeterminate) return value;
    if (within instanceof Indeterminate) return within;
    if (Array.isArray(within)) return inList(value, within);
    if (typeof within !== 'string') return wrongHaystack;
    if (typeof value !== 'string') return wrongNeedle;
    return isShort(value) && mayWorkOn(within) ? within.includes(value) : overBudget;
  };
}

/**
 * `some`, `all` and `none` of a list. As in JsonLogic, `all` of an empty list is false. An item that is indeterminate makes
 * the list indeterminate, unless another item decides.
 */
export function iterator(
  list: Operand,
  { node, evaluate }: Pick<Operand, 'node' | 'evaluate'>,
  site: Site,
  op: 'some' | 'all' | 'none',
): Evaluate {
  const units = unitsOf(node);
  const wrongType = site.because('type', list.read);
  const overBudget = site.because('budget', list.read);
  const decides = op !== 'all';
  const decided = op === 'some';
  return (root, item) => {
    const items = list.evaluate(root, item);
    if (!Array.isArray(items)) return items instanceof Indeterminate ? items : wrongType;
    if (items.length === 0) return op === 'none';
    if (!spend(items.length * units)) return overBudget;
    let unknown: Indeterminate | undefined;
    for (const each of items) {
      const truth = truthOf(evaluate(root, each));
      if (truth === decides) return decided;
      if (typeof truth !== 'boolean') unknown ??= truth;
    }
    return unknown ?? !decided;
  };
}
