/**
 * The syntax tree of `gov.cond/1` conditions: what every spelling (JSON, match object, triple, text) is
 * normalised to, and what is compiled, explained, linted and printed. Proven by `test/core/policy/*.test.ts`.
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
] as const;
export type Operator = (typeof operators)[number];

export type Scalar = null | boolean | number | string;
export type Segment = string | number;

export type Node =
  | { readonly kind: 'literal'; readonly value: Scalar }
  /** An array; its items may be expressions. */
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  /**
   * A value of the checkpoint by path, or null-like "absent". `scope` root: `{step, context}`; item: the element
   * that the innermost `some`, `all` or `none` is at. An empty path is the whole scope.
   */
  | {
      readonly kind: 'path';
      readonly scope: 'root' | 'item';
      readonly path: readonly Segment[];
      /** Stands in where the path is absent. */
      readonly fallback?: Node;
    }
  /** `exists` and `missing` have paths as arguments, `some`, `all` and `none` a list and a predicate. */
  | { readonly kind: 'call'; readonly op: Operator; readonly args: readonly Node[] };
