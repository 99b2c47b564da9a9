/**
 * Two versions of a policy, compared clause by clause: one line per clause, and the lines that only one version has
 * (longest common subsequence). Tested by `test/core/policies/language/diff-lines.test.ts`.
 */
import type { PolicyAction, PolicySeverity } from '../../../contract/policy-words.ts';
import { lineDiff, type DiffLine } from '../../line-diff.ts';
import { isConnective, type Node } from './ast.ts';
import { printText } from './text-print.ts';

export interface PolicyRuling {
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  readonly requireSignedApproval: boolean;
  readonly onIndeterminate: PolicyAction | null;
  readonly node: Node;
}

/** Returns removed lines of `before`, added lines of `after`, and common lines. Cost: the product of their numbers. */
export function diffLines(before: PolicyRuling, after: PolicyRuling): DiffLine[] {
  return lineDiff(rulingLines(before), rulingLines(after));
}

export const isChanged = (lines: readonly DiffLine[]): boolean => lines.some(({ sign }) => sign !== ' ');

/** Returns a version as lines: action, severity, what an undecided condition means, a required signature, and a line for each clause. */
function rulingLines(ruling: PolicyRuling): string[] {
  const { action, severity, requireSignedApproval, onIndeterminate, node } = ruling;
  const signed = requireSignedApproval ? ['signed approval required'] : [];
  const unknown = onIndeterminate === null ? [] : [`unknown ${onIndeterminate}`];
  return [
    `action ${action}`,
    `severity ${severity ?? 'none'}`,
    ...unknown,
    ...signed,
    'when',
    ...laidOut(node, '  '),
  ];
}

const titles: Readonly<Record<string, string>> = { and: 'all of', or: 'any of', '!': 'not' };

const partsOf = (node: Node): readonly Node[] => (isConnective(node) ? node.args : []);

/** A connective with its parts below it; any other clause on one line. */
function laidOut(node: Node, indent: string): string[] {
  const parts = partsOf(node);
  const title = node.kind === 'call' ? titles[node.op] : undefined;
  const [first] = parts;
  const isGroup =
    title !== undefined && first !== undefined && (parts.length > 1 || partsOf(first).length > 0);
  if (!isGroup) return [`${indent}${printText(node)}`];
  return [`${indent}${title}`, ...parts.flatMap((part) => laidOut(part, `${indent}  `))];
}
