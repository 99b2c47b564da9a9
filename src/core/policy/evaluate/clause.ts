/**
 * A condition as its author thinks of it: connectives (`and`, `or`, `!`, `!!`, `if`) over clauses that are true,
 * false or indeterminate. Each has the path of its member in the canonical JSON, such as `$.and[0].===`. What a
 * clause is, is said here once, for explaining, linting and coverage; what it answers, by `compile` alone.
 * Proven by `test/core/policy/explain/detail.test.ts`.
 */
import type { Node } from '../language/ast.ts';
import { addWork } from './budget.ts';
import { compile } from './compile.ts';
import type { Condition } from './compile.ts';
import { pathText } from '../language/text-print.ts';

export type Path = Extract<Node, { kind: 'path' }>;
export type Call = Extract<Node, { kind: 'call' }>;

export interface Clause {
  readonly node: Node;
  /** In the canonical JSON, such as `$.and[0].===`. */
  readonly path: string;
  /** The operator; `val` for a path and `literal` for a value that stand as a clause. */
  readonly op: string;
  /** The operands of a connective; empty for a leaf. */
  readonly parts: readonly Clause[];
  /** The paths of the checkpoint that it may read, each once. */
  readonly reads: readonly Path[];
  /** As texts. */
  readonly readTexts: readonly string[];
  readonly condition: Condition;
}

/** Of compiling a clause: 10 µs. */
const compiledUnits = 100;

const known = new WeakMap<Node, Clause>();

/** The clauses of a condition. Cost: compiles each once for as long as the node lives. */
export function clausesOf(node: Node): Clause {
  let clause = known.get(node);
  if (clause === undefined) {
    clause = clauseAt(node, '$');
    addWork(allOf(clause).length * compiledUnits);
    known.set(node, clause);
  }
  return clause;
}

/** The clauses that are no connectives, in the order of the text. */
export const leavesOf = (clause: Clause): readonly Clause[] =>
  clause.parts.length === 0 ? [clause] : clause.parts.flatMap(leavesOf);

/** A clause and all below it, in the order of the text. */
export const allOf = (clause: Clause): readonly Clause[] => [clause, ...clause.parts.flatMap(allOf)];

/**
 * The condition with another node in place of one clause of it; undefined drops the clause from its `and` or
 * `or`, of which one that is left stands alone.
 */
export function replaced(root: Clause, target: Clause, by: Node | undefined): Node {
  if (root === target) return by ?? root.node;
  if (root.node.kind !== 'call' || root.parts.length === 0) return root.node;
  const kept = by === undefined ? root.parts.filter((part) => part !== target) : root.parts;
  const args = kept.map((part) => replaced(part, target, by));
  const [only] = args;
  if (kept.length < root.parts.length && args.length === 1 && only !== undefined) return only;
  return { kind: 'call', op: root.node.op, args };
}

const connectives: ReadonlySet<string> = new Set(['and', 'or', '!', '!!', 'if']);

export const isConnective = (node: Node): node is Call => node.kind === 'call' && connectives.has(node.op);

function clauseAt(node: Node, at: string): Clause {
  const op = node.kind === 'call' ? node.op : node.kind === 'path' ? 'val' : node.kind;
  const path = node.kind === 'call' || node.kind === 'path' ? `${at}.${op}` : at;
  const parts = isConnective(node) ? node.args.map((arg, index) => clauseAt(arg, `${path}[${index}]`)) : [];
  const reads = readsOf(node);
  const readTexts = reads.map((read) => pathText(read.path));
  return { node, path, op, parts, reads, readTexts, condition: compile(node) };
}

/** The paths of the checkpoint below a node, each once, without defaults, in the order of the text. */
export function readsOf(node: Node): readonly Path[] {
  const found = new Map<string, Path>();
  collect(node, found);
  return [...found.values()];
}

function collect(node: Node, found: Map<string, Path>): void {
  switch (node.kind) {
    case 'literal':
      return;
    case 'list':
      for (const item of node.items) collect(item, found);
      return;
    case 'path':
      if (node.scope === 'root') {
        const text = pathText(node.path);
        if (!found.has(text)) found.set(text, { kind: 'path', scope: 'root', path: node.path });
      }
      if (node.fallback !== undefined) collect(node.fallback, found);
      return;
    case 'call':
      for (const arg of node.args) collect(arg, found);
  }
}
