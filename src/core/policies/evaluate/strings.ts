/**
 * `cat`, `substr`, `starts_with`, `ends_with`, `length` and `sem_ver` of conditions. Lengths and positions count Unicode
 * code points. A text over 4 KiB, read or made, exceeds the budget. Proven by `test/core/policies/evaluate/compile.test.ts`.
 */
import { isShort, mayWorkOn, spendText } from './budget.ts';
import type { Evaluate, Operand, Site } from './operator.ts';
import { Indeterminate } from './indeterminate.ts';
import type { Value } from './indeterminate.ts';
import { compareVersions, parseVersion, versionChars, versionOperators } from '../language/semver.ts';
import type { Version, VersionOperator } from '../language/semver.ts';

export type Take<T> = (value: Value) => T | Indeterminate;

/** Takes a text within the budget from a value, or the reason why it cannot. */
export function textOf({ read }: Operand, site: Site): Take<string> {
  const wrongType = site.because('type', read);
  const overBudget = site.because('budget', read);
  return (value) => {
    if (typeof value === 'string') return mayWorkOn(value) ? value : overBudget;
    return value instanceof Indeterminate ? value : wrongType;
  };
}

/** `cat`: joins texts, and numbers and booleans in JSON spelling. */
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
    return spendText(text.length) ? text : overBudget;
  };
}

/**
 * `substr`: from a position (negative: from the end), for a number of characters (negative: up to that many before the
 * end).
 */
export function substring(operands: readonly Operand[], site: Site): Evaluate {
  const [text, start, count] = operands as [Operand, Operand, Operand | undefined];
  const takeText = textOf(text, site);
  const takeStart = integerOf(start, site);
  const takeCount = count === undefined ? undefined : integerOf(count, site);
  return (root, item) => {
    const value = takeText(text.evaluate(root, item));
    if (value instanceof Indeterminate) return value;
    const from = takeStart(start.evaluate(root, item));
    if (from instanceof Indeterminate) return from;
    const taken = count === undefined ? undefined : takeCount?.(count.evaluate(root, item));
    return taken instanceof Indeterminate ? taken : slice(characters(value), from, taken);
  };
}

/** Returns the code points of a text; the text itself if each is one UTF-16 code unit. */
const characters = (text: string): string | readonly string[] =>
  /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;

function slice(text: string | readonly string[], from: number, count: number | undefined): string {
  const begin = from < 0 ? Math.max(text.length + from, 0) : from;
  const end = count === undefined || count < 0 ? text.length + (count ?? 0) : begin + count;
  const part = text.slice(begin, Math.max(end, 0));
  return typeof part === 'string' ? part : part.join('');
}

function integerOf({ read }: Operand, site: Site): Take<number> {
  const wrongType = site.because('type', read);
  return (value) => {
    if (Number.isSafeInteger(value)) return value as number;
    return value instanceof Indeterminate ? value : wrongType;
  };
}

/** `starts_with` and `ends_with`: whether a text begins or ends with another. */
export function withAffix(
  [text, affix]: readonly [Operand, Operand],
  site: Site,
  op: 'starts_with' | 'ends_with',
): Evaluate {
  const [takeText, takeAffix] = [textOf(text, site), textOf(affix, site)];
  return (root, item) => {
    const value = takeText(text.evaluate(root, item));
    if (value instanceof Indeterminate) return value;
    const other = takeAffix(affix.evaluate(root, item));
    if (other instanceof Indeterminate) return other;
    return op === 'starts_with' ? value.startsWith(other) : value.endsWith(other);
  };
}

/** `length`: the number of characters of a text or items of a list. */
export function length(operand: Operand, site: Site): Evaluate {
  const takeText = textOf(operand, site);
  return (root, item) => {
    const value = operand.evaluate(root, item);
    if (Array.isArray(value)) return value.length;
    const text = takeText(value);
    return text instanceof Indeterminate ? text : characters(text).length;
  };
}

/** `sem_ver`: compares two versions with a literal operator (`src/core/policies/language/semver.ts`). */
export function semVer(operands: readonly Operand[], site: Site): Evaluate {
  const [left, operator, right] = operands as [Operand, Operand, Operand];
  const holds = operator.node.kind === 'literal' ? operator.node.value : null;
  const isKnown = versionOperators.includes(holds as VersionOperator);
  const wrongOperator = site.because('type', operator.read);
  const [takeLeft, takeRight] = [versionOf(left, site), versionOf(right, site)];
  return (root, item) => {
    const a = takeLeft(left.evaluate(root, item));
    if (a instanceof Indeterminate) return a;
    const b = takeRight(right.evaluate(root, item));
    if (b instanceof Indeterminate) return b;
    return isKnown ? compareVersions(a, holds as VersionOperator, b) : wrongOperator;
  };
}

/** Takes a version from a text or a number such as 1.2; a literal is parsed once. */
function versionOf({ node, read }: Operand, site: Site): Take<Version> {
  const wrongType = site.because('type', read);
  const overBudget = site.because('budget', read);
  const take: Take<Version> = (value) => {
    if (value instanceof Indeterminate) return value;
    if (typeof value !== 'string' && typeof value !== 'number') return wrongType;
    const text = String(value);
    // A longer text is no version, which costs nothing to detect.
    if (text.length <= versionChars && !spendText(text.length)) return overBudget;
    return parseVersion(text) ?? wrongType;
  };
  if (node.kind !== 'literal' || node.value === null) return take;
  const version = take(node.value);
  return () => version;
}
