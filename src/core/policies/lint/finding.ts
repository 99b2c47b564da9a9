/** A finding of the condition linter: code, severity, path and repair. Proven by `test/core/policies/lint/check.test.ts`. */
import type { Node } from '../language/ast.ts';

const findingCodes = [
  'never_matches',
  'always_matches',
  'missing_guard',
  'unseen_path',
  'type_conflict',
  'ambiguous_in',
  'text_time',
  'exact_name',
  'text_for_action',
  'duplicate_clause',
] as const;

export interface LintFinding {
  readonly code: (typeof findingCodes)[number];
  readonly severity: 'error' | 'warning' | 'info';
  /** Path of the clause in the canonical JSON, such as `$.and[0].===`. */
  readonly path: string;
  readonly detail: string;
  /** The whole condition, repaired. */
  readonly fix?: Node;
}
