/**
 * Checks of a condition tree in any spelling before it is stored and compiled: limits, arguments of operators, and paths
 * that can be read at their position.
 * Proven by `test/core/policies/condition-limits.test.ts` and `test/core/policies/language/parse.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { canonicalize } from '../../json/parse.ts';
import type { Node, Scalar } from './ast.ts';
import { isShort } from '../evaluate/budget.ts';
import { memberTest } from '../evaluate/tool-texts.ts';
import { canonicalCondition } from './canonical.ts';
import { spellPath } from './path.ts';
import { refuse } from './refusal.ts';
import { parseVersion, versionOperators } from './semver.ts';
import { arity, iterates } from './operand-types.ts';

type Path = Extract<Node, { kind: 'path' }>;
type Call = Extract<Node, { kind: 'call' }>;

/** Position of a node: its pointer, its nesting level, and whether an iterator's item can be read. */
interface NodePosition {
  readonly pointer: string;
  readonly depth: number;
  readonly hasItem: boolean;
}

/**
 * Throws VALIDATION_ERROR for a tree that `compile` does not accept; the author controls the tree. Literals in lists do not
 * count as nodes, they have a limit of their own. Cost: linear in the nodes.
 */
export function checkCondition(node: Node, pointer = '/condition'): void {
  const isClause = node.kind === 'literal' ? typeof node.value === 'boolean' : node.kind !== 'list';
  if (!isClause) {
    refuse(
      pointer,
      'WRONG_TYPE',
      `expected a condition, such as {"tool.name": "shell"}; {} is always true, got a ${node.kind}`,
    );
  }
  const count = checkNode(node, { pointer, depth: 1, hasItem: false });
  if (count > limits.conditionNodes) {
    refuse(pointer, 'TOO_MANY', `expected at most ${limits.conditionNodes} nodes, got ${count}`);
  }
  const bytes = Buffer.byteLength(canonicalize(canonicalCondition(node)));
  if (bytes > limits.conditionBytes) {
    refuse(pointer, 'TOO_LARGE', `expected at most ${limits.conditionBytes} canonical bytes, got ${bytes}`);
  }
}

/** Throws for a nesting level beyond the limit; every recursion over input calls it first. */
export function checkDepth(depth: number, pointer: string): void {
  if (depth > limits.conditionDepth) {
    refuse(pointer, 'TOO_DEEP', `expected at most ${limits.conditionDepth} levels of nesting, got ${depth}`);
  }
}

/** Checks a node, and returns the number of nodes of its tree. */
function checkNode(node: Node, place: NodePosition): number {
  checkDepth(place.depth, place.pointer);
  const inside = { ...place, depth: place.depth + 1 };
  switch (node.kind) {
    case 'literal':
      checkLiteral(node.value, place.pointer);
      return 1;
    case 'list':
      checkLength(node.items, place.pointer);
      return node.items.reduce((count, item) => {
        const nodes = checkNode(item, inside);
        return item.kind === 'literal' ? count : count + nodes;
      }, 1);
    case 'path':
      checkPath(node, place);
      return node.fallback === undefined ? 1 : 1 + checkNode(node.fallback, inside);
    case 'call':
      checkCall(node, place.pointer);
      return node.args.reduce((count, arg, at) => {
        const hasItem = place.hasItem || (at === 1 && iterates(node.op));
        return count + checkNode(arg, { ...inside, hasItem });
      }, 1);
  }
}

function checkLiteral(value: Scalar, pointer: string): void {
  if (typeof value === 'number') {
    if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return;
    refuse(pointer, 'NOT_ALLOWED', `expected a finite number, integers up to 2^53 - 1, got ${value}`);
  }
  if (typeof value !== 'string') return;
  if (!value.isWellFormed()) refuse(pointer, 'NOT_ALLOWED', 'expected a text without lone surrogates');
  if (!isShort(value)) {
    const got = Buffer.byteLength(value);
    refuse(pointer, 'TOO_LONG', `expected texts of at most ${limits.conditionStringBytes} bytes, got ${got}`);
  }
}

function checkLength(items: readonly Node[], pointer: string): void {
  if (items.length <= limits.conditionList) return;
  refuse(
    pointer,
    'TOO_MANY',
    `expected at most ${limits.conditionList} items in a list, got ${items.length}`,
  );
}

function checkPath({ scope, path }: Path, { pointer, hasItem }: NodePosition): void {
  const name = spellPath(scope === 'root' ? '' : '@', path.slice(0, limits.conditionPath)).slice(
    0,
    limits.echoChars,
  );
  if (path.length > limits.conditionPath) {
    const expected = `expected at most ${limits.conditionPath} segments in a path`;
    refuse(pointer, 'TOO_MANY', `${expected}, got ${path.length}: ${name}`);
  }
  for (const segment of path) {
    if (typeof segment === 'string' ? segment.isWellFormed() : Number.isSafeInteger(segment) && segment >= 0)
      continue;
    refuse(pointer, 'NOT_ALLOWED', `expected names and indexes from 0 in a path, got ${name}`);
  }
  if (scope === 'item' && !hasItem) {
    refuse(pointer, 'NOT_ALLOWED', `expected an item only within some, all or none, got ${name}`);
  }
  const [first] = path;
  if (scope === 'item' || first === 'context' || first === undefined) return;
  if (first !== 'step') refuse(pointer, 'NOT_ALLOWED', `expected a path below context, or step, got ${name}`);
  if (path.length > 1) {
    refuse(pointer, 'NOT_ALLOWED', `expected step, which is a number, or context.${name}, got ${name}`);
  }
}

/** Checks the number of arguments, and literals that the operator can never use. */
function checkCall({ op, args }: Call, pointer: string): void {
  const [fewest, most] = arity[op];
  if (args.length < fewest || args.length > most) {
    const expected =
      fewest === most ? `${most}` : most === Infinity ? `${fewest} or more` : `${fewest} or ${most}`;
    const code = args.length < fewest ? 'TOO_FEW' : 'TOO_MANY';
    refuse(pointer, code, `expected ${expected} arguments of ${op}, got ${args.length}`);
  }
  const literals = args.map((arg) => (arg.kind === 'literal' ? arg.value : undefined));
  switch (op) {
    case 'exists':
    case 'missing':
      if (args.every((arg) => arg.kind === 'path' && arg.fallback === undefined)) return;
      return refuse(pointer, 'WRONG_TYPE', `expected paths without a default as arguments of ${op}`);
    case 'all':
    case 'none':
      // In the canonical form another first argument would be indistinguishable from a clause.
      if (args[0]?.kind === 'path' || args[0]?.kind === 'list') return;
      return refuse(pointer, 'WRONG_TYPE', `expected a path or a list as first argument of ${op}`);
    case 'starts_with':
    case 'ends_with':
      if (literals.every((value) => value === undefined || typeof value === 'string')) return;
      return refuse(pointer, 'WRONG_TYPE', `expected texts as arguments of ${op}`);
    case 'sem_ver':
      return checkVersions(literals, pointer);
    case 'path_in':
    case 'host_in':
      return checkMembers(op, args[1] as Node, pointer);
    default:
  }
}

/** A list that a caller could send would let the caller choose the folders or hosts. */
function checkMembers(op: 'path_in' | 'host_in', list: Node, pointer: string): void {
  const such =
    op === 'path_in' ? 'folders such as "/srv/app"' : 'hosts such as "*.example.com" or "10.0.0.0/8"';
  if (list.kind !== 'list') return refuse(pointer, 'WRONG_TYPE', `expected a list of ${such}`);
  for (const item of list.items) {
    const text = item.kind === 'literal' && typeof item.value === 'string' ? item.value : undefined;
    if (text !== undefined && memberTest(op, text) !== null) continue;
    refuse(
      pointer,
      'NOT_ALLOWED',
      `expected ${such} in the list of ${op}, got ${JSON.stringify(text ?? item.kind)}`,
    );
  }
}

function checkVersions([left, operator, right]: readonly (Scalar | undefined)[], pointer: string): void {
  if (!(versionOperators as readonly unknown[]).includes(operator)) {
    refuse(
      pointer,
      'NOT_ALLOWED',
      `expected one of ${versionOperators.join(' ')} as second argument of sem_ver`,
    );
  }
  for (const version of [left, right]) {
    if (version === undefined) continue;
    const isVersion = typeof version === 'string' || typeof version === 'number';
    if (isVersion && parseVersion(String(version)) !== null) continue;
    refuse(pointer, 'NOT_ALLOWED', `expected a version such as 1.2.3 as argument of sem_ver`);
  }
}
