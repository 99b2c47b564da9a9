/**
 * The arguments of each operator, so that a condition that can never be evaluated is refused when it is written.
 * Proven by `test/core/policies/language/parse.test.ts`.
 */
import type { Node, Operator } from './ast.ts';

const many = Infinity;

/** Fewest and most arguments of each operator. */
export const arity: Readonly<Record<Operator, readonly [fewest: number, most: number]>> = {
  exists: [1, 1],
  missing: [1, many],
  and: [1, many],
  or: [1, many],
  '!': [1, 1],
  '!!': [1, 1],
  if: [1, many],
  '==': [2, 3],
  '===': [2, 3],
  '!=': [2, 3],
  '!==': [2, 3],
  '<': [2, 3],
  '<=': [2, 3],
  '>': [2, 3],
  '>=': [2, 3],
  in: [2, 2],
  '+': [1, many],
  '-': [1, many],
  '*': [1, many],
  '/': [2, many],
  '%': [2, many],
  min: [1, many],
  max: [1, many],
  some: [2, 2],
  all: [2, 2],
  none: [2, 2],
  cat: [1, many],
  substr: [2, 3],
  starts_with: [2, 2],
  ends_with: [2, 2],
  length: [1, 1],
  sem_ver: [3, 3],
  lower: [1, 1],
  fold: [1, 1],
  path: [1, 1],
  path_in: [2, 2],
  host: [1, 1],
  host_in: [2, 2],
  programs: [1, 1],
  time: [1, 1],
  bare: [1, 1],
};

const answersBoolean: ReadonlySet<Operator> = new Set([
  ...(['exists', '!', '!!', '==', '===', '!=', '!==', '<', '<=', '>', '>=', 'in'] as const),
  ...(['some', 'all', 'none', 'starts_with', 'ends_with', 'sem_ver', 'path_in', 'host_in'] as const),
]);

/** Returns whether a node is always true, false or indeterminate. */
export function isBoolean(node: Node): boolean {
  if (node.kind === 'literal') return typeof node.value === 'boolean';
  if (node.kind !== 'call') return false;
  if (node.op === 'and' || node.op === 'or') return node.args.every(isBoolean);
  return answersBoolean.has(node.op);
}

/** Returns whether a call iterates: it evaluates its second argument for each item of its first. */
export const iterates = (op: Operator): boolean => op === 'some' || op === 'all' || op === 'none';
