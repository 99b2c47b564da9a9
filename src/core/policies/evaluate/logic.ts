/**
 * `and`, `or`, `!`, `!!`, `if` and `missing` of conditions; `compile.ts` has the semantics.
 * Proven by `test/core/policies/reference.test.ts`.
 */
import type { Evaluate, Site } from './operator.ts';
import { truthOf } from './indeterminate.ts';
import type { Indeterminate, Value } from './indeterminate.ts';
import type { Lookup } from './lookup.ts';

/**
 * `and` and `or` from left to right: the first operand that decides, as in JsonLogic, else the first indeterminate one,
 * else the last operand.
 *
 * If only truth counts (`absorbs`), a deciding operand absorbs an earlier indeterminate one. Elsewhere it must not:
 * `{"===":[{"and":[a, b]}, 0]}` with a = 0 and b = "" would be true, and false once a is hidden.
 */
export function connective(op: 'and' | 'or', operands: readonly Evaluate[], absorbs: boolean): Evaluate {
  const decides = op === 'or';
  return (root, item) => {
    let unknown: Indeterminate | undefined;
    let value: Value = !decides;
    for (let at = 0; at < operands.length; at++) {
      value = (operands[at] as Evaluate)(root, item);
      const truth = typeof value === 'boolean' ? value : truthOf(value);
      if (truth === decides) return value;
      if (typeof truth === 'boolean') continue;
      if (!absorbs) return truth;
      unknown ??= truth;
    }
    return unknown ?? value;
  };
}

/** `!` if negated, else `!!`. */
export function negation(operand: Evaluate, isNegated: boolean): Evaluate {
  return (root, item) => {
    const truth = truthOf(operand(root, item));
    return typeof truth === 'boolean' ? truth !== isNegated : truth;
  };
}

/** `if`: conditions and values alternate, then a value for else; without it the result is absent. */
export function choice(operands: readonly Evaluate[], site: Site): Evaluate {
  const noElse = site.because('absent');
  return (root, item) => {
    let at = 0;
    for (; at + 1 < operands.length; at += 2) {
      const truth = truthOf((operands[at] as Evaluate)(root, item));
      if (truth === true) return (operands[at + 1] as Evaluate)(root, item);
      if (truth !== false) return truth;
    }
    return operands[at]?.(root, item) ?? noElse;
  };
}

/** `missing`: the names of the paths with no value or null, in the given order. */
export function missing(paths: readonly { readonly lookup: Lookup; readonly name: string }[]): Evaluate {
  return (root, item) => paths.filter(({ lookup }) => lookup(root, item) === null).map(({ name }) => name);
}
