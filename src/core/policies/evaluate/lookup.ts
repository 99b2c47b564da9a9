/**
 * Reads of condition paths from a policy input and from the current item of an iterator.
 * Proven by `test/core/policies/evaluate/compile.test.ts`.
 */
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';
import type { Evaluate } from './operator.ts';
import { presence, reader } from '../language/path.ts';

export type Path = Extract<Node, { kind: 'path' }>;

/** Reads a path; null if it is absent. */
export type Lookup = (...at: Parameters<Evaluate>) => Json | null;

export function lookupOf({ scope, path }: Path): Lookup {
  if (scope === 'item') {
    const read = reader(path);
    return (_root, item) => read(item);
  }
  const [first, ...rest] = path;
  const read = reader(rest);
  if (first === 'context') return (root) => read(root.context);
  if (first === 'step') return (root) => read(root.step);
  return first === undefined ? (root) => root as unknown as JsonObject : () => null;
}

/** `exists`: whether a path has a value. As in JsonLogic null is one, although no operator can use it. */
export function existsAt({ scope, path }: Path): Evaluate {
  const isPresent = presence(path);
  return scope === 'item'
    ? (_root, item) => isPresent(item)
    : (root) => isPresent(root as unknown as JsonObject);
}

/** Returns a path as JsonLogic's `missing` lists it: dotted, without a leading `context`. */
export const missingName = ({ path }: Path): string =>
  (path[0] === 'context' && path.length > 1 ? path.slice(1) : path).join('.');
