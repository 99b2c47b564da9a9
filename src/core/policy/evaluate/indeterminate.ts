/**
 * The third truth of conditions (`gov.cond/1`): what an operator answers where it cannot know. It spreads through
 * every operator but `and`, `or`, `exists`, `missing` and defaults, and it is never read as false: a policy that
 * cannot be decided is enforced. Proven by `test/core/policy/evaluate/compile.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';

/** `absent`: no such value, or null. `type`: not what the operator takes. `arith`: no finite number. */
export type Reason = 'absent' | 'type' | 'arith' | 'budget';

/** Made when a condition is compiled, one for each place and reason, so that evaluation allocates nothing. */
export class Indeterminate {
  readonly reason: Reason;
  /** The path whose value was absent or of the wrong type, such as `context.a.b`; null where no path was read. */
  readonly read: string | null;
  /** Where it arose: the path that was absent, else the call. */
  readonly node: Node;

  constructor(reason: Reason, read: string | null, node: Node) {
    this.reason = reason;
    this.read = read;
    this.node = node;
  }
}

/** What a node evaluates to; null only inside lists and objects, where it stands for what is absent. */
export type Value = Json | Indeterminate;

/** Truth as in JsonLogic: false, 0, "" and [] are false; all else, also "0" and {}, is true. */
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
