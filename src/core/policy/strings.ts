/**
 * `cat`, `substr`, `starts_with`, `ends_with`, `length` and `sem_ver` of conditions. Lengths and positions count
 * Unicode code points. A text of more than 4 KiB, read or made, is over the budget.
 */
import { isShort } from './budget.ts';
import type { Evaluate, Operand, Site } from './evaluate.ts';
import { Indeterminate } from './indeterminate.ts';
import type { Value } from './indeterminate.ts';
import { compareVersions, parseVersion, versionOperators } from './semver.ts';
import type { VersionOperator } from './semver.ts';

/** What the operators below take from an operand: a short text, or what to answer instead. */
function textOf(
  { read, evaluate }: Operand,
  site: Site,
): (...at: Parameters<Evaluate>) => string | Indeterminate {
  const wrongType = site.because('type', read);
  const overBudget = site.because('budget', read);
  return (root, item) => {
    const value = evaluate(root, item);
    if (typeof value === 'string') return isShort(value) ? value : overBudget;
    return value instanceof Indeterminate ? value : wrongType;
  };
}

/** `cat`: texts, and numbers and booleans as JSON spells them, one after the other. */
export function concatenation(operands: readonly Operand[], site: Site): Evaluate {
  const wrongTypes = operands.map(({ read }) => site.because('type', read));
  const overBudget = site.because('budget');
  return (root, item) => {
    let text = '';
    for (let at = 0; at < operands.length; at++) {
      const value = (operands[at] as Operand).evaluate(root, item);
      if (typeof value === 'object') {
        return value instanceof Indeterminate ? value : (wrongTypes[at] as Indeterminate);
      }
      text += String(value);
      if (!isShort(text)) return overBudget;
    }
    return text;
  };
}

/**
 * `substr`: from a position, which counts from the end where negative, for a number of characters, or up to that
 * many before the end where it is negative.
 */
export function substring(operands: readonly Operand[], site: Site): Evaluate {
  const [text, start, count] = operands as [Operand, Operand, Operand | undefined];
  const textAt = textOf(text, site);
  const startAt = integerOf(start, site);
  const countAt = count === undefined ? () => undefined : integerOf(count, site);
  return (root, item) => {
    const value = textAt(root, item);
    if (value instanceof Indeterminate) return value;
    const from = startAt(root, item);
    if (from instanceof Indeterminate) return from;
    const taken = countAt(root, item);
    if (taken instanceof Indeterminate) return taken;
    const characters = [...value];
    const begin = from < 0 ? Math.max(characters.length + from, 0) : from;
    const end = taken === undefined || taken < 0 ? characters.length + (taken ?? 0) : begin + taken;
    return characters.slice(begin, Math.max(end, 0)).join('');
  };
}

function integerOf(
  { read, evaluate }: Operand,
  site: Site,
): (...at: Parameters<Evaluate>) => number | Indeterminate {
  const wrongType = site.because('type', read);
  return (root, item) => {
    const value = evaluate(root, item);
    if (Number.isSafeInteger(value)) return value as number;
    return value instanceof Indeterminate ? value : wrongType;
  };
}

/** `starts_with` and `ends_with`: a text and what it begins or ends with. */
export function withAffix(
  [text, affix]: readonly [Operand, Operand],
  site: Site,
  op: 'starts_with' | 'ends_with',
): Evaluate {
  const [textAt, affixAt] = [textOf(text, site), textOf(affix, site)];
  return (root, item) => {
    const value = textAt(root, item);
    if (value instanceof Indeterminate) return value;
    const other = affixAt(root, item);
    if (other instanceof Indeterminate) return other;
    return op === 'starts_with' ? value.startsWith(other) : value.endsWith(other);
  };
}

/** `length`: the characters of a text or the items of a list. */
export function length(operand: Operand, site: Site): Evaluate {
  const textAt = textOf(operand, site);
  return (root, item) => {
    const value = operand.evaluate(root, item);
    if (Array.isArray(value)) return value.length;
    const text = textAt(root, item);
    return text instanceof Indeterminate ? text : [...text].length;
  };
}

/** `sem_ver`: a version, a comparison that is written out, and a version (`semver.ts`). */
export function semVer(operands: readonly Operand[], site: Site): Evaluate {
  const [left, operator, right] = operands as [Operand, Operand, Operand];
  const holds = operator.node.kind === 'literal' ? operator.node.value : null;
  const isKnown = versionOperators.includes(holds as VersionOperator);
  const wrongOperator = site.because('type', operator.read);
  const wrongTypes = [left, right].map(({ read }) => site.because('type', read));
  const version = (value: Value, wrongType: Indeterminate) => {
    if (value instanceof Indeterminate) return value;
    const text = typeof value === 'number' ? String(value) : value;
    return (typeof text === 'string' ? parseVersion(text) : null) ?? wrongType;
  };
  return (root, item) => {
    const a = version(left.evaluate(root, item), wrongTypes[0] as Indeterminate);
    if (a instanceof Indeterminate) return a;
    const b = version(right.evaluate(root, item), wrongTypes[1] as Indeterminate);
    if (b instanceof Indeterminate) return b;
    return isKnown ? compareVersions(a, holds as VersionOperator, b) : wrongOperator;
  };
}
