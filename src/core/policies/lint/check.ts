/**
 * The condition linter: clauses that are never true or never false, paths read without a presence test, paths that no
 * recorded input has, values of two types, `in` for a text or a list, times compared as texts, names compared exactly, duplicate
 * clauses. A finding of severity `error` is
 * certain. Proven by `test/core/policies/lint/check.test.ts`.
 */
import type { PolicyAction } from '../../../contract/policy-words.ts';
import { canonicalize } from '../../json/parse.ts';
import { ambiguousIns } from './ambiguity.ts';
import { exactNames } from './exact-name.ts';
import type { LintFinding } from './finding.ts';
import { isConnective, type Node } from '../language/ast.ts';
import { canonicalCondition } from '../language/canonical.ts';
import { allClausesOf, clausesOf, simpleClausesOf, replaced } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import { missingGuards } from './presence.ts';
import { canBe } from './satisfiable.ts';
import { seenText } from './seen.ts';
import { pathText, printText } from '../language/text-print.ts';
import { textsForActions } from './text-for-action.ts';
import { textTimes } from './text-time.ts';
import { typeConflicts } from './type-conflict.ts';

export { seenPaths } from './seen.ts';

export interface LintOptions {
  readonly action: PolicyAction;
  /** Paths of recorded inputs from `seenPaths`; without them lint does not check for unknown paths. */
  readonly seenPaths?: ReadonlySet<string>;
}

/** Returns the findings, ordered by `findingCodes`, then by the condition. Cost: at worst quadratic in the clauses. */
export function lint(node: Node, { action, seenPaths }: LintOptions): readonly LintFinding[] {
  const root = clausesOf(node);
  return [
    ...constants(root, true),
    ...constants(root, false),
    ...missingGuards(root, action),
    ...unseen(root, seenPaths),
    ...typeConflicts(root),
    ...ambiguousIns(root),
    ...textTimes(root),
    ...exactNames(root, action),
    ...textsForActions(root, action),
    ...duplicates(root),
  ];
}

/** Returns findings for the outermost clauses that cannot have this result. */
function constants(root: Clause, want: boolean): readonly LintFinding[] {
  const found: LintFinding[] = [];
  const walk = (clause: Clause): void => {
    if (!canBe(clause, want)) found.push(constant(root, clause, want));
    else for (const part of clause.parts) walk(part);
  };
  walk(root);
  return found;
}

function constant(root: Clause, clause: Clause, want: boolean): LintFinding {
  const text = printText(clause.node);
  const isWhole = clause === root;
  const never = want ? 'true' : 'false';
  const isLiteral = clause.node.kind === 'literal';
  return {
    code: want ? 'never_matches' : 'always_matches',
    // A literal true condition, such as {}, is intended.
    severity: isWhole && isLiteral && !want ? 'info' : isWhole ? 'error' : 'warning',
    path: clause.path,
    detail: `expected a ${isWhole ? 'condition' : 'clause'} that can be ${never}, got ${shortened(text)}`,
  };
}

const shortened = (text: string): string => (text.length <= 120 ? text : `${text.slice(0, 119)}…`);

function unseen(root: Clause, seen: ReadonlySet<string> | undefined): readonly LintFinding[] {
  if (seen === undefined || seen.size === 0) return [];
  const found = new Map<string, LintFinding>();
  for (const leaf of simpleClausesOf(root)) {
    for (const { path } of leaf.reads) {
      const text = pathText(path);
      if (path.length === 0 || seen.has(seenText(path)) || found.has(text)) continue;
      const detail = `expected a path of a recorded checkpoint, got ${text}, which no checkpoint has`;
      found.set(text, { code: 'unseen_path', severity: 'warning', path: leaf.path, detail });
    }
  }
  return [...found.values()];
}

/** Returns findings for equal operands of one `and` or `or`. */
function duplicates(root: Clause): readonly LintFinding[] {
  return allClausesOf(root)
    .filter(({ op, node }) => isConnective(node) && (op === 'and' || op === 'or'))
    .flatMap(({ parts }) => {
      const first = new Map<string, Clause>();
      return parts.flatMap((part): LintFinding[] => {
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
