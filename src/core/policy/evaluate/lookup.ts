/**
 * The paths of a condition as reads of a checkpoint and of the item that an iterator is at.
 * Proven by `test/core/policy/evaluate/compile.test.ts`.
 */
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';
import type { Evaluate } from './operator.ts';
import { presence, reader } from '../language/path.ts';

export type Path = Extract<Node, { kind: 'path' }>;

/** A read of a path; null where it is absent. */
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

/** `exists`: whether there is a value at a path. As in JsonLogic null is one, though no operator can use it. */
export function existsAt({ scope, path }: Path): Evaluate {
  const isPresent = presence(path);
  return scope === 'item'
    ? (_root, item) => isPresent(item)
    : (root) => isPresent(root as unknown as JsonObject);
}

/** As JsonLogic's `missing` lists a path: dotted, without the `context` that shorthand leaves out. */
export const missingName = ({ path }: Path): string =>
  (path[0] === 'context' && path.length > 1 ? path.slice(1) : path).join('.');
