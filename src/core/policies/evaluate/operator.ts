/**
 * Types of compiled operators: evaluation, operands, and the place of a call.
 * Proven by `test/core/policies/evaluate/compile.test.ts`.
 */
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';
import { Indeterminate } from './indeterminate.ts';
import type { Reason, Value } from './indeterminate.ts';

/** Returns the value of a node for a policy input and, inside `some`, `all` and `none`, for the current item. */
export type Evaluate = (
  root: { readonly step?: number; readonly context: JsonObject },
  item: Json | undefined,
) => Value;

export interface Operand {
  readonly node: Node;
  readonly evaluate: Evaluate;
  /** Name of the path that it reads, for messages; null if it is not a path. */
  readonly read: string | null;
}

/** A call, and the reasons why it may have no value. */
export interface Site {
  readonly node: Node;
  because(reason: Reason, read?: string | null): Indeterminate;
}

export const siteOf = (node: Node): Site => ({
  node,
  because: (reason, read = null) => new Indeterminate(reason, read, node),
});
