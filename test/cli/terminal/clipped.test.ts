import { describe, expect, it } from 'vitest';
import { clipped, clippedObject } from '../../../src/cli/terminal/clipped.ts';
import { sha256Text } from '../../../src/core/hash.ts';

describe('a long value on a terminal', () => {
  it('a value of at most 200 characters is shown whole', () => {
    expect(clipped('é'.repeat(200))).toBe('é'.repeat(200));
    expect(clipped({ a: [1, 2] })).toBe('{"a":[1,2]}');
  });

  it('a longer value is shown by its beginning, its bytes and its hash', () => {
    const text = 'é'.repeat(201);
    const hash = sha256Text(text).slice(0, 19);
    expect(clipped(text)).toBe(`${'é'.repeat(200)}… (402 bytes, ${hash}…)`);
  });

  it('a cut in a surrogate pair leaves well-formed text', () => {
    expect(clipped(`${'a'.repeat(199)}\u{1f600}b`).isWellFormed()).toBe(true);
  });

  it('a long member of an object does not hide the others', () => {
    const shown = clippedObject({ note: 'x'.repeat(32_000), amount: 5 });
    expect(shown).toMatch(/^\{"note":"x{39}… \(32002 bytes, sha256:[0-9a-f]{12}…\),"amount":5\}$/);
    expect(clippedObject({ amount: 5 })).toBe('{"amount":5}');
  });
});
