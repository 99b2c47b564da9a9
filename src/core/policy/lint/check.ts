/**
 * What an author of a condition should look at: clauses that can never be true, or never be false, paths that
 * are read without asking whether they are there, paths that no recorded checkpoint has, values of two types,
 * `in` that takes a text and a list, clauses that stand twice. A finding is certain where its severity is `error`. Proven by
 * `test/core/policy/lint/check.test.ts`.
 */
import type { PolicyAction } from '../../../contract/policy-words.ts';
import { canonicalize } from '../../json/parse.ts';
import { ambiguousIns } from './ambiguity.ts';
import type { Finding } from './finding.ts';
import type { Node } from '../language/ast.ts';
import { canonicalCondition } from '../language/canonical.ts';
import { allOf, clausesOf, isConnective, leavesOf, replaced } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import { missingGuards } from './presence.ts';
import { canBe } from './satisfiable.ts';
import { seenText } from './seen.ts';
import { pathText, printText } from '../language/text-print.ts';
import { typeConflicts } from './type-conflict.ts';

export { seenPaths } from './seen.ts';

export interface LintOptions {
  readonly action: PolicyAction;
  /** Of recorded checkpoints, as `seenPaths` gives them; where there are none, nothing is said about them. */
  readonly seenPaths?: ReadonlySet<string>;
}

/** The findings, in the order of `findingCodes`, then of the condition. Cost: quadratic in the clauses at worst. */
export function lint(node: Node, { action, seenPaths }: LintOptions): readonly Finding[] {
  const root = clausesOf(node);
  return [
    ...constants(root, true),
    ...constants(root, false),
    ...missingGuards(root, action),
    ...unseen(root, seenPaths),
    ...typeConflicts(root),
    ...ambiguousIns(root),
    ...duplicates(root),
  ];
}

/** The outermost clauses that cannot answer as wanted. */
function constants(root: Clause, want: boolean): readonly Finding[] {
  const found: Finding[] = [];
  const walk = (clause: Clause): void => {
    if (!canBe(clause, want)) found.push(constant(root, clause, want));
    else for (const part of clause.parts) walk(part);
  };
  walk(root);
  return found;
}

function constant(root: Clause, clause: Clause, want: boolean): Finding {
  const text = printText(clause.node);
  const isWhole = clause === root;
  const never = want ? 'true' : 'false';
  const isLiteral = clause.node.kind === 'literal';
  return {
    code: want ? 'never_matches' : 'always_matches',
    // a condition that is written as true, such as {}, is meant so
    severity: isWhole && isLiteral && !want ? 'info' : isWhole ? 'error' : 'warning',
    path: clause.path,
    detail: `expected a ${isWhole ? 'condition' : 'clause'} that can be ${never}, got ${shortened(text)}`,
  };
}

const shortened = (text: string): string => (text.length <= 120 ? text : `${text.slice(0, 119)}…`);

function unseen(root: Clause, seen: ReadonlySet<string> | undefined): readonly Finding[] {
  if (seen === undefined || seen.size === 0) return [];
  const found = new Map<string, Finding>();
  for (const leaf of leavesOf(root)) {
    for (const { path } of leaf.reads) {
      const text = pathText(path);
      if (path.length === 0 || seen.has(seenText(path)) || found.has(text)) continue;
      const detail = `expected a path of recorded checkpoints, got ${text}, which none of them has`;
      found.set(text, { code: 'unseen_path', severity: 'warning', path: leaf.path, detail });
    }
  }
  return [...found.values()];
}

/** Operands of one `and` or `or` that say the same. */
function duplicates(root: Clause): readonly Finding[] {
  return allOf(root)
    .filter(({ op, node }) => isConnective(node) && (op === 'and' || op === 'or'))
    .flatMap(({ parts }) => {
      const first = new Map<string, Clause>();
      return parts.flatMap((part): Finding[] => {
        const spelling = canonicalize(canonicalCondition(part.node));
        const twin = first.get(spelling);
        if (twin === undefined) {
          first.set(spelling, part);
          return [];
        }
        const detail = `expected each clause once, got ${shortened(printText(part.node))} at ${twin.path} too`;
        const fix = replaced(root, part, undefined);
        return [{ code: 'duplicate_clause', severity: 'warning', path: part.path, detail, fix }];
      });
    });
}
