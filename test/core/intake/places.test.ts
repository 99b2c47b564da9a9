import { describe, expect, it } from 'vitest';
import { Places } from '../../../src/core/intake/places.ts';

describe('the place of a value in a file', () => {
  const part = { text: 'x' };

  it('is the line of its document and a pointer from there', () => {
    const places = new Places({ value: { 'a/b': [1, part] }, line: 7 });
    expect(places.of(part)).toBe('line 7 /a~1b/1');
  });

  it('is the line of its own where the document is a list of lines', () => {
    const lines = [{ a: 1 }, { content: [part] }];
    const places = new Places({ value: lines, line: 3, lines: [3, 9] });
    expect(places.of(part)).toBe('line 9 /content/0');
    expect(places.of(lines[0])).toBe('line 3');
  });

  it('is the line of the document for a value that is not an object of it', () => {
    const places = new Places({ value: [part], line: 2 });
    expect([places.of('x'), places.of({ text: 'x' })]).toEqual(['line 2', 'line 2']);
  });

  it('is found in a value that nests deeper than the stack', () => {
    const deepest = {};
    let value: object = deepest;
    for (let level = 0; level < 100_000; level += 1) value = [value];
    expect(new Places({ value, line: 1 }).of(deepest)).toHaveLength('line 1 '.length + 2 * 100_000);
  });
});
