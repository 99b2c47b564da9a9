/**
 * Two versions of a policy, clause by clause: a condition laid out with one clause a line, and the lines that one
 * version has and the other has not (longest common subsequence). `test/cli/commands/policy/test.test.ts` proves it.
 */
import type { PolicyAction, PolicySeverity } from '../../contract/policy-words.ts';
import type { Node } from '../../core/policy/language/ast.ts';
import { clausesOf } from '../../core/policy/evaluate/clause.ts';
import type { Clause } from '../../core/policy/evaluate/clause.ts';
import { printText } from '../../core/policy/language/text.ts';

export interface Ruling {
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  readonly node: Node;
}

export interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Lines of `before` that went, of `after` that came, and what stayed. Cost: the product of their numbers. */
export function diffLines(before: Ruling, after: Ruling): DiffLine[] {
  return merged(linesOf(before), linesOf(after));
}

export const isChanged = (lines: readonly DiffLine[]): boolean => lines.some(({ sign }) => sign !== ' ');

function linesOf({ action, severity, node }: Ruling): string[] {
  return [`action ${action}`, `severity ${severity ?? 'none'}`, 'when', ...laidOut(clausesOf(node), '  ')];
}

const titles: Readonly<Record<string, string>> = { and: 'all of', or: 'any of', '!': 'not' };

/** A connective over its parts, each below it; any other clause on one line. */
function laidOut({ node, op, parts }: Clause, indent: string): string[] {
  const title = titles[op];
  const isGroup = title !== undefined && (parts.length > 1 || (parts[0]?.parts.length ?? 0) > 0);
  if (!isGroup) return [`${indent}${printText(node)}`];
  return [`${indent}${title}`, ...parts.flatMap((part) => laidOut(part, `${indent}  `))];
}

function merged(before: readonly string[], after: readonly string[]): DiffLine[] {
  const common = commonLengths(before, after);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  const length = (a: number, b: number): number => common[a]?.[b] ?? 0;
  while (i < before.length || j < after.length) {
    const [left, right] = [before[i], after[j]];
    if (left !== undefined && left === right) {
      lines.push({ sign: ' ', text: left });
      i += 1;
      j += 1;
    } else if (left !== undefined && (right === undefined || length(i + 1, j) >= length(i, j + 1))) {
      lines.push({ sign: '-', text: left });
      i += 1;
    } else {
      lines.push({ sign: '+', text: right ?? '' });
      j += 1;
    }
  }
  return lines;
}

/** At [i][j] how many lines `before` from i on and `after` from j on have in common, in order. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array[] {
  const table = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const [row, below] = [table[i], table[i + 1]];
    if (row === undefined || below === undefined) continue;
    for (let j = after.length - 1; j >= 0; j -= 1) {
      row[j] = before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}
