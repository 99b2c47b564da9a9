/**
 * Arithmetic of conditions on finite doubles, from left to right. Texts are no numbers, whatever they look like.
 * What has no finite result, such as a division by zero, is indeterminate; -0 is 0.
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

/** One argument is the result itself, for `-` its negation. */
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
