import { describe, expect, it } from 'vitest';
import { diffLines } from '../../../../src/core/policies/language/diff-lines.ts';
import { parseText } from '../../../../src/core/policies/language/text.ts';

describe('the lines of a difference', () => {
  const ruling = (text: string) =>
    ({
      action: 'deny',
      severity: null,
      requireSignedApproval: false,
      onIndeterminate: null,
      node: parseText(text),
    }) as const;
  const lines = (before: string, after: string) =>
    diffLines(ruling(before), ruling(after)).map(({ sign, text }) => `${sign}${text}`);

  it('a policy difference shows removed, added and unchanged clauses', () => {
    expect(lines('a == 1 && b == 2 && c == 3', 'a == 1 && (b == 2 || d == 4) && c == 3')).toEqual([
      ' action deny',
      ' severity none',
      ' when',
      '   all of',
      '     context.a == 1',
      '-    context.b == 2',
      '+    any of',
      '+      context.b == 2',
      '+      context.d == 4',
      '     context.c == 3',
    ]);
  });

  it('a policy difference is empty for equal conditions', () => {
    expect(lines('a && !(b || c)', 'a && !(b || c)').every((line) => line.startsWith(' '))).toBe(true);
  });
});
