/** `and`, `or`, `!`, `!!`, `if` and `missing` of conditions: the semantics are in `compile.ts`. */
import type { Evaluate, Site } from './operator.ts';
import { truthOf } from './indeterminate.ts';
import type { Indeterminate, Value } from './indeterminate.ts';
import type { Lookup } from './lookup.ts';

/**
 * `and` and `or` from left to right: the first operand that decides, as in JsonLogic, else what is indeterminate,
 * else the last operand.
 *
 * An operand that decides absorbs an indeterminate one before it where only truth counts (`absorbs`). Elsewhere
 * it must not: `{"===":[{"and":[a, b]}, 0]}` with a = 0 and b = "" would be true, and false once a is hidden.
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

/** `!` where negated, else `!!`. */
export function negation(operand: Evaluate, isNegated: boolean): Evaluate {
  return (root, item) => {
    const truth = truthOf(operand(root, item));
    return typeof truth === 'boolean' ? truth !== isNegated : truth;
  };
}

/** `if`: conditions and values in turn, then a value for else; where there is none, absent. */
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

/** `missing`: the names of those paths that hold nothing, or null, in the order given. */
export function missing(paths: readonly { readonly lookup: Lookup; readonly name: string }[]): Evaluate {
  return (root, item) => paths.filter(({ lookup }) => lookup(root, item) === null).map(({ name }) => name);
}
