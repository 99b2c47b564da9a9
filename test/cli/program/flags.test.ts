import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kebab, parseDuration, readFlag } from '../../../src/cli/program/flags.ts';
import type { FlagSpec } from '../../../src/cli/program/spec.ts';
import { emptyDirectory } from '../support/tool.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const read = (spec: Partial<FlagSpec> & Pick<FlagSpec, 'type'>, text: string): unknown =>
  readFlag({ flag: '--x', spec: { description: '', ...spec }, text, now });

describe('flags', () => {
  it('a flag is written in kebab case', () => expect(kebab('schemaVersion')).toBe('schema-version'));

  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['30', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['', undefined],
    ['1.5s', undefined],
    ['-3s', undefined],
    ['soon', undefined],
  ])('the duration %j is %s ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it('a time flag takes RFC 3339, a day, or a time ago', () => {
    expect(read({ type: 'time' }, '2026-01-31T09:00:00.5+02:00')).toBe('2026-01-31T09:00:00.5+02:00');
    expect(read({ type: 'time' }, '2026-01-31')).toBe('2026-01-31T00:00:00Z');
    expect(read({ type: 'time' }, '2h')).toBe('2026-03-01T10:00:00.000Z');
    for (const bad of ['yesterday', '5', '2026-01-31 09:00']) {
      expect(() => read({ type: 'time' }, bad)).toThrow(/--x: expected a time/);
    }
  });

  it('an integer flag accepts its limits, and refuses one beyond', () => {
    const spec = { type: 'integer', minimum: 1, maximum: 5 } as const;
    expect(read(spec, '1')).toBe(1);
    expect(read(spec, '5')).toBe(5);
    for (const bad of ['0', '6', '1.0', '', 'x', '99999999999999999999']) {
      expect(() => read(spec, bad)).toThrow(/--x: expected a whole number from 1 to 5, got/);
    }
  });

  it('a text flag is checked for choices, length and pattern', () => {
    expect(() => read({ type: 'string', choices: ['a', 'b'] }, 'c')).toThrow(
      '--x: expected one of a, b, got "c"',
    );
    expect(read({ type: 'string', maxLength: 3 }, 'abc')).toBe('abc');
    expect(() => read({ type: 'string', maxLength: 3 }, 'abcd')).toThrow(/at most 3/);
    expect(() => read({ type: 'string', pattern: '^[a-z]+$' }, 'A')).toThrow(/matches/);
  });

  it('an error about a flag shortens the text that it quotes', () => {
    expect(() => read({ type: 'integer' }, 'y'.repeat(500))).toThrow(new RegExp(`"y{64}…"$`));
  });

  it('a JSON flag is read from the word or from a file', () => {
    expect(read({ type: 'json' }, '{"a":1}')).toEqual({ a: 1 });
    expect(() => read({ type: 'json' }, '{a}')).toThrow(/a JSON value/);
    const absent = join(emptyDirectory(), 'absent');
    expect(() => read({ type: 'json' }, `@${absent}`)).toThrow(
      `cannot read ${absent}: the file does not exist`,
    );
  });
});
