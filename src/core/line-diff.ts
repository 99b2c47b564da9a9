/**
 * Two lists of lines, compared by their longest common subsequence.
 * Tested by `test/core/policies/language/diff-lines.test.ts`.
 */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Returns removed lines of `before`, added lines of `after`, and common lines. Cost: the product of their numbers. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
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

/** At [i][j]: the length of the longest common subsequence of `before` from i on and `after` from j on. */
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
