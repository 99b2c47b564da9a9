/** The bounds of a JSON text, each at n and n + 1. */
import { describe, expect, test } from 'vitest';
import { defaultBounds, largeBounds } from '../../../src/core/json/parse.ts';
import { outcome } from './outcome.ts';

describe('limits of JSON texts, at n and n + 1', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const nestedObjects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const zeros = (count: number): string => `[${Array(count).fill('0').join()}]`;

  test('JSON may be as deep as the limit, and not one level deeper', () => {
    expect(outcome(nested(32))).toBe('accepted');
    expect(outcome(nested(33))).toBe(
      'JSON_TOO_COMPLEX at 32: expected at most 32 levels, got more at byte 32',
    );
    expect(outcome(nestedObjects(32))).toBe('accepted');
    expect(outcome(nestedObjects(33))).toContain('JSON_TOO_COMPLEX at 160: expected at most 32 levels');
    expect(outcome(`[${nested(31)},${nested(31)}]`)).toBe('accepted');
    expect(outcome('1', { ...defaultBounds, depth: 0 })).toBe('accepted');
    expect(outcome('[]', { ...defaultBounds, depth: 0 })).toContain('JSON_TOO_COMPLEX at 0');
  });

  test('the limit of JSON values counts each array, object and scalar, but no names', () => {
    expect(outcome(zeros(19_999))).toBe('accepted');
    expect(outcome(zeros(20_000))).toContain('expected at most 20000 values');
    expect(outcome(zeros(199_999), largeBounds)).toBe('accepted');
    expect(outcome(zeros(200_000), largeBounds)).toContain('expected at most 200000 values');
    const small = { ...defaultBounds, values: 4 };
    expect(outcome('{"a":{},"b":[1]}', small)).toBe('accepted');
    expect(outcome('{"a":{},"b":[1,2]}', small)).toContain(
      'JSON_TOO_COMPLEX at 15: expected at most 4 values',
    );
  });

  test('the limit of a member name counts characters, whatever their spelling', () => {
    for (const char of ['a', 'é', '😀', String.raw`\u0061`, String.raw`\ud83d\ude00`, String.raw`\n`]) {
      expect(outcome(`{"${char.repeat(256)}":1}`)).toBe('accepted');
      expect(outcome(`{"${char.repeat(257)}":1}`)).toContain(
        'JSON_TOO_COMPLEX at 1: expected at most 256 characters',
      );
    }
    expect(outcome(`["${'a'.repeat(257)}"]`)).toBe('accepted');
  });

  test('the limit of a JSON string counts bytes, whatever their spelling', () => {
    const max = 262_144;
    expect(outcome(`"${'a'.repeat(max)}"`)).toBe('accepted');
    expect(outcome(`"${'a'.repeat(max + 1)}"`)).toContain(
      'JSON_TOO_COMPLEX at 0: expected at most 262144 bytes in a string',
    );
    expect(outcome(`"${'é'.repeat(max / 2)}"`)).toBe('accepted');
    expect(outcome(`"${'é'.repeat(max / 2)}a"`)).toContain('JSON_TOO_COMPLEX');
    expect(outcome(`"${String.raw`\u0061`.repeat(max)}"`)).toBe('accepted');
    expect(outcome(`"${String.raw`\u0061`.repeat(max + 1)}"`)).toContain('JSON_TOO_COMPLEX');
  });
});
