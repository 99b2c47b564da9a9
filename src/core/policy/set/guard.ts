/**
 * Guards: conjuncts of a condition that fix the value of one path, so that an index can tell without evaluating
 * that the condition is false. Sound because a false conjunct absorbs whatever the others are (Kleene), and
 * because equality and `in` with literals cost no budget. Proven by `test/core/policy/set/guard-index.test.ts`.
 */
import type { Node, Scalar, Segment } from '../language/ast.ts';
import { stepOf } from '../language/read-path.ts';

type Path = Extract<Node, { kind: 'path' }>;
export type Literal = Exclude<Scalar, null>;

/** A path, and as one text that is equal for paths that read the same. */
export interface GuardedPath {
  readonly path: readonly Segment[];
  readonly key: string;
}

/** The condition is false where the path holds a value that is none of these, but for values of another type. */
export interface Guard extends GuardedPath {
  readonly values: ReadonlySet<Literal>;
  /** With `==` and `in`, the type of all the values: a value of any other type leaves the condition open. */
  readonly looseType: string | null;
}

export interface Guards {
  readonly values: readonly Guard[];
  /** False where there is no such place; null is one. */
  readonly present: readonly GuardedPath[];
}

/** The guards of a condition. An absent path leaves a guard open; only a presence is false there. */
export function guardsOf(node: Node): Guards {
  const values: Guard[] = [];
  const present: GuardedPath[] = [];
  for (const conjunct of conjunctsOf(node)) {
    const guard = guardOf(conjunct);
    if (guard !== undefined) values.push(guard);
    else if (conjunct.kind === 'call' && conjunct.op === 'exists') {
      for (const path of conjunct.args.filter(isRootPath)) present.push(guardedPath(path));
    }
  }
  return { values, present };
}

function conjunctsOf(node: Node): Node[] {
  return node.kind === 'call' && node.op === 'and' ? node.args.flatMap(conjunctsOf) : [node];
}

function guardOf(node: Node): Guard | undefined {
  if (node.kind !== 'call') return undefined;
  switch (node.op) {
    case '==':
    case '===':
      return equalityGuard(node.args, node.op === '==');
    case 'in':
      return membershipGuard(node.args);
    case 'or':
      return union(node.args.map(guardOf));
    default:
      return undefined;
  }
}

function equalityGuard(args: readonly Node[], isLoose: boolean): Guard | undefined {
  const [left, right, third] = args;
  if (left === undefined || right === undefined || third !== undefined) return undefined;
  const [path, literal] = isRootPath(left) ? [left, right] : [right, left];
  if (!isRootPath(path) || literal.kind !== 'literal' || literal.value === null) return undefined;
  const looseType = isLoose ? typeof literal.value : null;
  return { ...guardedPath(path), values: new Set([literal.value]), looseType };
}

function membershipGuard([path, list]: readonly Node[]): Guard | undefined {
  if (path === undefined || !isRootPath(path) || list?.kind !== 'list') return undefined;
  const values = new Set<Literal>();
  for (const item of list.items) {
    if (item.kind !== 'literal' || item.value === null) return undefined;
    values.add(item.value);
  }
  const types = new Set([...values].map((value) => typeof value));
  // of items of two types it is never false; with no items it always is
  if (types.size > 1) return undefined;
  const [looseType = null] = types;
  return { ...guardedPath(path), values, looseType };
}

/** An `or` is false where each of its operands is: a guard where all of them guard one path. */
function union(guards: readonly (Guard | undefined)[]): Guard | undefined {
  const [first] = guards;
  if (first === undefined) return undefined;
  const values = new Set<Literal>();
  let looseType: string | null = null;
  for (const guard of guards) {
    if (guard?.key !== first.key) return undefined;
    for (const value of guard.values) values.add(value);
    looseType ??= guard.looseType;
  }
  // so that no condition is filed both by value and by type
  if (looseType !== null && [...values].some((value) => typeof value !== looseType)) return undefined;
  return { ...first, values, looseType };
}

/** The whole checkpoint is no value that a literal could equal; other first names hold nothing. */
const isRootPath = (node: Node): node is Path =>
  node.kind === 'path' && node.scope === 'root' && (node.path[0] === 'context' || node.path[0] === 'step');

const guardedPath = ({ path }: Path): GuardedPath => ({ path, key: JSON.stringify(path.map(stepOf)) });
