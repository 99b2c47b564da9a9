/**
 * The canonical JSON of a condition (`gov.cond/1`), in which it is stored and hashed: JsonLogic with array arguments
 * throughout.
 *
 *     scalar, list             itself
 *     call                     {"<operator>": [arguments]}
 *     path from the root       {"val": ["context", "tool", "name"]}, within d iterators {"val": [[2d], "context", …]}
 *     path from the item       {"val": ["quantity"]}; the item itself {"val": []}
 *     the whole scope          {"val": [[2d]]}, outside of iterators {"val": [[0]]}
 *     path with a default      {"??": [{"val": […]}, default]}
 *     exists                   {"exists": ["context", "tool"]}, a path as in val
 *     missing                  {"missing": [{"val": […]}, …]}
 *
 * The leading [2d] is JsonLogic's way up: two scopes for each iterator, because the iteration itself is one. Proven by
 * `test/core/policies/language/parse.test.ts` and `test/core/policies/reference.test.ts`: it parses to the same tree.
 */
import type { Json } from '../../json/parse.ts';
import type { Node } from './ast.ts';
import { iterates } from './operand-types.ts';

/** Returns the canonical form. Cost: linear in the nodes. Recursive: the caller limits the depth. */
export const canonicalCondition = (node: Node): Json => canonical(node, 0);

function canonical(node: Node, iterators: number): Json {
  switch (node.kind) {
    case 'literal':
      return node.value;
    case 'list':
      return node.items.map((item) => canonical(item, iterators));
    case 'path': {
      const path = { val: segments(node, iterators) };
      return node.fallback === undefined ? path : { '??': [path, canonical(node.fallback, iterators)] };
    }
    case 'call':
      return { [node.op]: args(node, iterators) };
  }
}

function args({ op, args }: Extract<Node, { kind: 'call' }>, iterators: number): Json[] {
  const [path] = args;
  if (op === 'exists' && path?.kind === 'path') return segments(path, iterators);
  return args.map((arg, at) => canonical(arg, at === 1 && iterates(op) ? iterators + 1 : iterators));
}

function segments({ scope, path }: Extract<Node, { kind: 'path' }>, iterators: number): Json[] {
  const isPlain = scope === 'item' || (iterators === 0 && path.length > 0);
  return isPlain ? [...path] : [[2 * iterators], ...path];
}
