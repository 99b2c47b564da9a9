/**
 * Arithmetic of conditions on finite doubles, from left to right. A text is never a number. A result that is not finite,
 * such as of a division by zero, is indeterminate; -0 is 0. Proven by `test/core/policies/evaluate/compile.test.ts`.
 */
import type { Evaluate, Operand, Site } from './operator.ts';
import { Indeterminate } from './indeterminate.ts';

type Arithmetic = '+' | '-' | '*' | '/' | '%' | 'min' | 'max';

const operations: Readonly<Record<Arithmetic, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
};

/** A single argument is the result itself, for `-` its negation. */
export function arithmetic(operands: readonly Operand[], site: Site, op: Arithmetic): Evaluate {
  const wrongTypes = operands.map(({ read }) => site.because('type', read));
  const notFinite = site.because('arith');
  const operation = operations[op];
  const sign = op === '-' && operands.length === 1 ? -1 : 1;
  return (root, item) => {
    let result = 0;
    for (let at = 0; at < operands.length; at++) {
      const value = (operands[at] as Operand).evaluate(root, item);
      if (typeof value !== 'number') {
        return value instanceof Indeterminate ? value : (wrongTypes[at] as Indeterminate);
      }
      result = at === 0 ? value : operation(result, value);
    }
    return Number.isFinite(result) ? sign * result + 0 : notFinite;
  };
}
