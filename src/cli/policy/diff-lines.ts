/**
 * Two versions of a policy, compared clause by clause: one line per clause, and the lines that only one version has
 * (longest common subsequence). Tested by `test/cli/commands/policy/test.test.ts`.
 */
import type { PolicyAction, PolicySeverity } from '../../contract/policy-words.ts';
import type { Node } from '../../core/policy/language/ast.ts';
import { clausesOf } from '../../core/policy/evaluate/clause.ts';
import type { Clause } from '../../core/policy/evaluate/clause.ts';
import { printText } from '../../core/policy/language/text.ts';
import { lineDiff, type DiffLine } from '../terminal/line-diff.ts';

export interface Ruling {
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  readonly requireSignedApproval: boolean;
  readonly node: Node;
}

/** Returns removed lines of `before`, added lines of `after`, and common lines. Cost: the product of their numbers. */
export function diffLines(before: Ruling, after: Ruling): DiffLine[] {
  return lineDiff(linesOf(before), linesOf(after));
}

export const isChanged = (lines: readonly DiffLine[]): boolean => lines.some(({ sign }) => sign !== ' ');

function linesOf({ action, severity, requireSignedApproval, node }: Ruling): string[] {
  const signed = requireSignedApproval ? ['signed approval required'] : [];
  return [
    `action ${action}`,
    `severity ${severity ?? 'none'}`,
    ...signed,
    'when',
    ...laidOut(clausesOf(node), '  '),
  ];
}

const titles: Readonly<Record<string, string>> = { and: 'all of', or: 'any of', '!': 'not' };

/** A connective with its parts below it; any other clause on one line. */
function laidOut({ node, op, parts }: Clause, indent: string): string[] {
  const title = titles[op];
  const isGroup = title !== undefined && (parts.length > 1 || (parts[0]?.parts.length ?? 0) > 0);
  if (!isGroup) return [`${indent}${printText(node)}`];
  return [`${indent}${title}`, ...parts.flatMap((part) => laidOut(part, `${indent}  `))];
}
