/**
 * Guards: conjuncts of a condition that fix the value of one path, so that an index proves the condition false without
 * evaluating it. This is sound, because a false conjunct decides whatever the others are (Kleene), and because equality and
 * `in` with literals cost no budget. Proven by `test/core/policies/set/guard-index.test.ts`.
 */
import type { Node, Scalar, Segment } from '../language/ast.ts';
import { stepOf } from '../language/read-path.ts';

type Path = Extract<Node, { kind: 'path' }>;
export type Literal = Exclude<Scalar, null>;

/** A path, and a text that is equal for paths with equal reads. */
export interface GuardedPath {
  readonly path: readonly Segment[];
  readonly key: string;
}

/** The condition is false if the path has another value than these; `looseType` restricts this to one type. */
export interface Guard extends GuardedPath {
  readonly values: ReadonlySet<Literal>;
  /** For `==` and `in`, the type of all values: a value of any other type does not decide the condition. */
  readonly looseType: string | null;
}

export interface Guards {
  readonly values: readonly Guard[];
  /** The condition is false if one of these paths is absent; null counts as present. */
  readonly present: readonly GuardedPath[];
}

/** Returns the guards of a condition. An absent path decides no value guard, only a presence. */
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
  // With items of two types it is never false; without items it always is.
  if (types.size > 1) return undefined;
  const [looseType = null] = types;
  return { ...guardedPath(path), values, looseType };
}

/** An `or` is false if all its operands are: it is a guard if all operands guard one path. */
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
  // So that no condition is filed both by value and by type.
  if (looseType !== null && [...values].some((value) => typeof value !== looseType)) return undefined;
  return { ...first, values, looseType };
}

/** Returns whether a path can equal a literal: the whole input cannot, and other first names are always absent. */
const isRootPath = (node: Node): node is Path =>
  node.kind === 'path' && node.scope === 'root' && (node.path[0] === 'context' || node.path[0] === 'step');

const guardedPath = ({ path }: Path): GuardedPath => ({ path, key: JSON.stringify(path.map(stepOf)) });
