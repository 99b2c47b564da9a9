/**
 * Lint of values of two types, and of clauses that no value decides: a text is never above a number, nothing is equal to
 * null, and no value is certainly outside a list of texts and numbers. Proven by `test/core/policies/lint/check.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';
import { simpleClausesOf } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { LintFinding } from './finding.ts';
import { withValue } from '../explain/nearest.ts';
import { neededType } from '../evaluate/operand.ts';
import { pathText, printText } from '../language/text-print.ts';

export const typeConflicts = (root: Clause): readonly LintFinding[] => [
  ...undecidable(root),
  ...mixed(root),
  ...mixedLists(root),
];

/** Returns findings for clauses of at most one path that are indeterminate for every type of value. */
function undecidable(root: Clause): readonly LintFinding[] {
  return simpleClausesOf(root)
    .filter(isNeverDecided)
    .map((leaf): LintFinding => {
      const { node, path } = leaf;
      const isNull =
        node.kind === 'call' && node.args.some((arg) => arg.kind === 'literal' && arg.value === null);
      const instead = isNull ? '; has(…) tests for a value' : '';
      const detail = `expected a clause that some value decides, got ${printText(node).slice(0, 120)}${instead}`;
      return { code: 'type_conflict', severity: 'error', path, detail };
    });
}

function isNeverDecided({ reads, node, condition }: Clause): boolean {
  const [read] = reads;
  if (reads.length > 1) return false;
  if (read === undefined) return condition.why({ context: {} }) !== null;
  return [...samples, ...literalsOf(node)].every((value) => {
    const input = withValue({ context: {} }, read.path, value);
    return input !== undefined && condition.why(input) !== null;
  });
}

const samples: readonly Json[] = [
  '',
  'a',
  '1.0.0',
  '2026-01-01T00:00:00Z',
  0,
  1,
  -1,
  true,
  false,
  [],
  [1],
  ['a'],
  {},
];

function literalsOf(node: Node): readonly Json[] {
  switch (node.kind) {
    case 'literal':
      return [node.value, [node.value]];
    case 'list':
      return node.items.flatMap(literalsOf);
    case 'path':
      return node.fallback === undefined ? [] : literalsOf(node.fallback);
    case 'call':
      return node.args.flatMap(literalsOf);
  }
}

/** Returns findings for paths that one clause uses as text and another as number. */
function mixed(root: Clause): readonly LintFinding[] {
  const first = new Map<string, { readonly type: string; readonly at: string }>();
  const found = new Map<string, LintFinding>();
  for (const leaf of simpleClausesOf(root)) {
    const taken = typeOf(leaf.node);
    if (taken === undefined) continue;
    const before = first.get(taken.path);
    if (before === undefined) first.set(taken.path, { type: taken.type, at: leaf.path });
    if (before === undefined || before.type === taken.type || found.has(taken.path)) continue;
    const detail = `expected ${taken.path} of one type, got ${taken.type} here and ${before.type} at ${before.at}`;
    found.set(taken.path, { code: 'type_conflict', severity: 'warning', path: leaf.path, detail });
  }
  return [...found.values()];
}

/** Returns findings for literal lists of two types after `in`, which is false for no value. */
function mixedLists(root: Clause): readonly LintFinding[] {
  return simpleClausesOf(root)
    .filter(({ node }) => node.kind === 'call' && node.op === 'in' && isMixed(node.args[1]))
    .map(({ node, path }): LintFinding => {
      const effect =
        'a value outside of the list has another type than some item, which makes the clause indeterminate';
      const detail = `expected items of one type, got ${printText(node).slice(0, 120)}: ${effect}`;
      return { code: 'type_conflict', severity: 'warning', path, detail };
    });
}

function isMixed(list: Node | undefined): boolean {
  if (list?.kind !== 'list') return false;
  const types = list.items.map((item) => (item.kind === 'literal' ? typeof item.value : undefined));
  return new Set(types.filter((type) => type !== undefined)).size > 1;
}

/** Returns the path of a leaf, and the type that the leaf needs. */
function typeOf(node: Node): { readonly path: string; readonly type: string } | undefined {
  if (node.kind !== 'call' || node.args.length < 2) return undefined;
  const path = node.args.find((arg) => arg.kind === 'path' && arg.scope === 'root');
  if (path?.kind !== 'path') return undefined;
  const type = neededType(node, { node: path, reason: 'absent', read: null });
  return type === 'value' || isHaystack(node, path) ? undefined : { path: pathText(path.path), type };
}

const isHaystack = (call: Node, path: Node): boolean =>
  call.kind === 'call' && call.op === 'in' && call.args[1] === path;
