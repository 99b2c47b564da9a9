/**
 * The clauses of a condition as its author sees them: connectives (`and`, `or`, `!`, `!!`, `if`) over clauses that are
 * true, false or indeterminate. Each has a path in the canonical JSON, such as `$.and[0].===`. Explaining, linting and
 * coverage share this definition; only `compile` evaluates clauses. Proven by `test/core/policies/explain/detail.test.ts`.
 */
import { isConnective, type Node } from '../language/ast.ts';
import { addWork } from './budget.ts';
import { compile } from './compile.ts';
import type { Condition } from './compile.ts';
import { pathText } from '../language/text-print.ts';

export type Path = Extract<Node, { kind: 'path' }>;
export type Call = Extract<Node, { kind: 'call' }>;

export interface Clause {
  readonly node: Node;
  /** Path in the canonical JSON, such as `$.and[0].===`. */
  readonly path: string;
  /** The operator; `val` for a path and `literal` for a value used as a clause. */
  readonly op: string;
  /** The operands of a connective; empty for a leaf. */
  readonly parts: readonly Clause[];
  /** Paths of the policy input that it may read, each once. */
  readonly reads: readonly Path[];
  /** The same paths as texts. */
  readonly readTexts: readonly string[];
  readonly condition: Condition;
}

/** Work units of compiling a clause: 10 µs. */
const compiledUnits = 100;

const known = new WeakMap<Node, Clause>();

/** Returns the clauses of a condition. Cost: compiles each once in the lifetime of the node. */
export function clausesOf(node: Node): Clause {
  let clause = known.get(node);
  if (clause === undefined) {
    clause = clauseAt(node, '$');
    addWork(allClausesOf(clause).length * compiledUnits);
    known.set(node, clause);
  }
  return clause;
}

/** Returns the clauses that are not connectives, in text order. */
export const simpleClausesOf = (clause: Clause): readonly Clause[] =>
  clause.parts.length === 0 ? [clause] : clause.parts.flatMap(simpleClausesOf);

/** Returns a clause and all clauses below it, in text order. */
export const allClausesOf = (clause: Clause): readonly Clause[] => [
  clause,
  ...clause.parts.flatMap(allClausesOf),
];

/**
 * Returns the condition with another node in place of one clause; undefined removes the clause from its `and` or `or`,
 * and a single remaining clause replaces the connective.
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

function clauseAt(node: Node, at: string): Clause {
  const op = node.kind === 'call' ? node.op : node.kind === 'path' ? 'val' : node.kind;
  const path = node.kind === 'call' || node.kind === 'path' ? `${at}.${op}` : at;
  const parts = isConnective(node) ? node.args.map((arg, index) => clauseAt(arg, `${path}[${index}]`)) : [];
  const reads = readsOf(node);
  const readTexts = reads.map((read) => pathText(read.path));
  return { node, path, op, parts, reads, readTexts, condition: compile(node) };
}

/** Returns the paths of the policy input below a node, each once, without defaults, in text order. */
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
