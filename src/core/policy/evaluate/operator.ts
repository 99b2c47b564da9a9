/** What operators are compiled from and to. */
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';
import { Indeterminate } from './indeterminate.ts';
import type { Reason, Value } from './indeterminate.ts';

/** The value of a node for a checkpoint and, inside `some`, `all` and `none`, for the item that they are at. */
export type Evaluate = (
  root: { readonly step?: number; readonly context: JsonObject },
  item: Json | undefined,
) => Value;

export interface Operand {
  readonly node: Node;
  readonly evaluate: Evaluate;
  /** The path that it reads, as messages name it; null where it is no path. */
  readonly read: string | null;
}

/** A call: what it answers where it has no value. */
export interface Site {
  readonly node: Node;
  because(reason: Reason, read?: string | null): Indeterminate;
}

export const siteOf = (node: Node): Site => ({
  node,
  because: (reason, read = null) => new Indeterminate(reason, read, node),
});
