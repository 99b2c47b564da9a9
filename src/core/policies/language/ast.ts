/**
 * The syntax tree of `gov.cond/1` conditions. Every spelling (JSON, match object, triple, text) becomes this tree, which is
 * compiled, explained, linted and printed. Proven by `test/core/policies/language/parse.test.ts`.
 */

export const engine = 'gov.cond/1';

export const operators = [
  'exists',
  'missing',
  'and',
  'or',
  '!',
  '!!',
  'if',
  '==',
  '===',
  '!=',
  '!==',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  '+',
  '-',
  '*',
  '/',
  '%',
  'min',
  'max',
  'some',
  'all',
  'none',
  'cat',
  'substr',
  'starts_with',
  'ends_with',
  'length',
  'sem_ver',
  'lower',
  'fold',
  'path',
  'path_in',
  'host',
  'host_in',
  'programs',
  'time',
  'bare',
] as const;
export type Operator = (typeof operators)[number];

export type Scalar = null | boolean | number | string;
export type Segment = string | number;

export type Node =
  | { readonly kind: 'literal'; readonly value: Scalar }
  /** An array; items may be expressions. */
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  /**
   * A value of the policy input by path, or absent. `scope` root: `{step, context}`; item: the current element of the
   * innermost `some`, `all` or `none`. An empty path is the whole scope.
   */
  | {
      readonly kind: 'path';
      readonly scope: 'root' | 'item';
      readonly path: readonly Segment[];
      /** The value if the path is absent. */
      readonly fallback?: Node;
    }
  /** Arguments: paths for `exists` and `missing`; a list and a predicate for `some`, `all` and `none`. */
  | { readonly kind: 'call'; readonly op: Operator; readonly args: readonly Node[] };

const connectives: ReadonlySet<string> = new Set(['and', 'or', '!', '!!', 'if']);

/** Whether the operands of a node are clauses themselves. */
export const isConnective = (node: Node): node is Extract<Node, { kind: 'call' }> =>
  node.kind === 'call' && connectives.has(node.op);
