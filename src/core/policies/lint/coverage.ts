/**
 * Test coverage of a condition: the clauses that cases have made true, false and indeterminate, and mutants, small changes
 * that should each make a case fail. A clause that no case has made both true and false could be removed unnoticed.
 * Proven by `test/core/policies/lint/coverage.test.ts`.
 */
import type { Node, Operator, Scalar } from '../language/ast.ts';
import { allClausesOf, clausesOf, simpleClausesOf, replaced } from '../evaluate/clause.ts';
import type { Call, Clause } from '../evaluate/clause.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { opposite } from '../evaluate/operand.ts';
import { printText, scalarText } from '../language/text-print.ts';

interface ClauseCoverage {
  /** Path in the canonical JSON, such as `$.and[0].===`. */
  readonly path: string;
  readonly text: string;
  /** Number of cases with this result. */
  readonly true: number;
  readonly false: number;
  readonly indeterminate: number;
}

export interface Coverage {
  readonly clauses: readonly ClauseCoverage[];
  /** Number of clauses that were both true and false. */
  readonly covered: number;
}

/** Returns the coverage of the cases. Cost: evaluates each clause for each case. */
export function coverage(node: Node, cases: Iterable<PolicyInput>): Coverage {
  const leaves = simpleClausesOf(clausesOf(node));
  const counts = leaves.map(() => ({ true: 0, false: 0, indeterminate: 0 }));
  for (const input of cases) {
    for (const [at, count] of counts.entries()) {
      const truth = leaves[at]?.condition.evaluate(input);
      if (truth !== undefined) count[truth]++;
    }
  }
  const clauses = leaves.map(({ path, node }, at) => ({
    path,
    text: printText(node),
    ...(counts[at] ?? { true: 0, false: 0, indeterminate: 0 }),
  }));
  return { clauses, covered: clauses.filter((clause) => clause.true > 0 && clause.false > 0).length };
}

export interface Mutant {
  readonly description: string;
  readonly node: Node;
}

/**
 * Yields every mutant of a condition, each one change away from it, a few for each node. A mutant may be one node larger
 * than the limit of stored conditions.
 */
export function* mutants(node: Node): Iterable<Mutant> {
  const root = clausesOf(node);
  for (const clause of allClausesOf(root)) {
    for (const { what, by } of changesOf(clause)) {
      yield { description: `${clause.path}: ${what}`, node: replaced(root, clause, by) };
    }
    if (clause.parts.length < 2 || (clause.op !== 'and' && clause.op !== 'or')) continue;
    for (const part of clause.parts) {
      yield { description: `${part.path}: dropped`, node: replaced(root, part, undefined) };
    }
  }
}

interface ClauseChange {
  readonly what: string;
  readonly by: Node;
}

function changesOf({ node, parts }: Clause): readonly ClauseChange[] {
  const negated: ClauseChange = { what: 'negated', by: { kind: 'call', op: '!', args: [node] } };
  switch (node.kind) {
    case 'literal':
      return typeof node.value === 'boolean' ? [literal(node.value, !node.value)] : [];
    case 'list':
      return [];
    case 'path':
      return [negated];
    case 'call':
      if (node.op === '!') return node.args.map((by) => ({ what: 'negation dropped', by }));
      if (parts.length > 0) return swaps(node);
      return [...(swaps(node).length === 0 ? [negated] : swaps(node)), ...shifts(node), ...shorter(node)];
  }
}

const literal = (before: Scalar, after: Scalar): ClauseChange => ({
  what: `${scalarText(before)} became ${scalarText(after)}`,
  by: { kind: 'literal', value: after },
});

/** Operators that authors confuse. */
const mistaken: Readonly<Partial<Record<Operator, readonly Operator[]>>> = {
  and: ['or'],
  or: ['and'],
  '==': ['!='],
  '!=': ['=='],
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', opposite['<']],
  '<=': ['<', opposite['<=']],
  '>': ['>=', opposite['>']],
  '>=': ['>', opposite['>=']],
  exists: ['missing'],
  missing: ['exists'],
  some: ['all', 'none'],
  all: ['some'],
  none: ['some'],
  starts_with: ['ends_with'],
  ends_with: ['starts_with'],
};

function swaps({ op, args }: Call): readonly ClauseChange[] {
  const isOne = args.length === 1;
  // `and` and `or` of one clause are equal; `exists` takes one path.
  if (op === 'and' || op === 'or' ? isOne : op === 'missing' && !isOne) return [];
  return (mistaken[op] ?? []).map((other) => ({
    what: `${op} became ${other}`,
    by: { kind: 'call', op: other, args },
  }));
}

/** Changes compared numbers by one. */
function shifts({ op, args }: Call): readonly ClauseChange[] {
  return args.flatMap((arg, at) => {
    if (arg.kind !== 'literal' || typeof arg.value !== 'number') return [];
    const { value } = arg;
    return [value + 1, value - 1]
      .filter((number) => !Number.isInteger(number) || Number.isSafeInteger(number))
      .map((number) => changedArg({ kind: 'call', op, args }, at, literal(value, number)));
  });
}

/** Removes one item from a literal list. */
function shorter(call: Call): readonly ClauseChange[] {
  return call.args.flatMap((arg, at) =>
    arg.kind !== 'list'
      ? []
      : arg.items.map((item, index) =>
          changedArg(call, at, {
            what: `${printText(item)} left out of the list`,
            by: { kind: 'list', items: arg.items.toSpliced(index, 1) },
          }),
        ),
  );
}

const changedArg = ({ op, args }: Call, at: number, { what, by }: ClauseChange): ClauseChange => ({
  what,
  by: { kind: 'call', op, args: args.toSpliced(at, 1, by) },
});
