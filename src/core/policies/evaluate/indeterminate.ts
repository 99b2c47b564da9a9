/**
 * The third truth value of conditions (`gov.cond/1`): the result of an operator that lacks a usable value.
 * It propagates through every operator except `and`, `or`, `exists`, `missing` and defaults. It never counts as false: a
 * policy that cannot be decided is enforced. Proven by `test/core/policies/evaluate/compile.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';

/** `absent`: no value, or null. `type`: a wrong type. `arith`: no finite number. `budget`: too much work. */
export type Reason = 'absent' | 'type' | 'arith' | 'budget';

/** Created at compile time, one for each node and reason, so that evaluation allocates nothing. */
export class Indeterminate {
  readonly reason: Reason;
  /** The path with the absent value or wrong type, such as `context.a.b`; null if no path was read. */
  readonly read: string | null;
  /** The absent path, else the call. */
  readonly node: Node;

  constructor(reason: Reason, read: string | null, node: Node) {
    this.reason = reason;
    this.read = read;
    this.node = node;
  }
}

/** The value of a node; null occurs only inside lists and objects, for an absent value. */
export type Value = Json | Indeterminate;

/** Truth as in JsonLogic: false, 0, "" and [] are false; everything else is true, also "0" and {}. */
export function truthOf(value: Value): boolean | Indeterminate {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'number':
      return value !== 0;
    case 'string':
      return value !== '';
    default:
      if (value instanceof Indeterminate) return value;
      return Array.isArray(value) ? value.length > 0 : value !== null;
  }
}
