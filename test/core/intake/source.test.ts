import { describe, expect, it } from 'vitest';
import { importValue } from './fits.ts';
import { decodeText, documents, parseLoose } from '../../../src/core/intake/source.ts';

const values = (text: string): unknown[] =>
  [...documents(text, 'f.json')].map((document) => ('value' in document ? document.value : document));

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('a value that nests deep', () => {
  it('is read with 1,000 levels, and with one more refused, as a line alone', () => {
    expect([...documents(nested(1000), 'f')]).toHaveLength(1);
    expect(() => [...documents(nested(1001), 'f')]).toThrow(
      'f:1: expected values that are not nested too deep',
    );
    const lines = [...documents(`{"a":1}\n${nested(1001)}\n{"a":2}`, 'f')];
    expect(lines.map((each) => ('reason' in each ? each.reason : 'read'))).toEqual([
      'read',
      'validation_error: expected values that are not nested too deep: at most 1000 levels',
      'read',
    ]);
  });

  it('is kept as a text where it stands in one', () => {
    const call = { id: 'c', function: { name: 'f', arguments: nested(1001) } };
    const [run] = importValue([
      { role: 'user', content: 'go' },
      { role: 'assistant', tool_calls: [call] },
    ]);
    expect(run?.events.at(-1)?.metadata?.['arguments']).toBe(nested(1001));
  });

  it('can be recorded', () => {
    const x = JSON.parse(nested(990)) as unknown;
    expect(importValue([{ role: 'user', content: 'go', x }])[0]?.events).toHaveLength(2);
  });
});

describe('loose JSON of other programs', () => {
  it('NaN, infinities and digits that a double would lose are kept as text', () => {
    expect(
      parseLoose('{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN in text","d":12345678901234567890,"e":1e400}'),
    ).toEqual({
      a: 'NaN',
      b: ['-Infinity', 'Infinity'],
      c: 'NaN in text',
      d: '12345678901234567890',
      e: '1e400',
    });
    expect(parseLoose('{"a":1234567890123456.5,"b":0.1234567890123456789}')).toEqual({
      a: 1234567890123456.5,
      b: 0.12345678901234568,
    });
  });

  it('text that is not even loose JSON is refused', () => {
    for (const text of ['{"a":}', '{a:1}', '', 'NaNs', '[1,]'])
      expect(() => parseLoose(text)).toThrow(SyntaxError);
  });
});

describe('the documents of a file', () => {
  it('a source file contains one JSON value in any layout, or one value a line', () => {
    expect(values('\ufeff{\n "a": 1\n}\n')).toEqual([{ a: 1 }]);
    expect(values('[1,\n2]')).toEqual([[1, 2]]);
    expect([...documents('{"a":1}\r\n\n{"a":2}', 'f')]).toEqual([
      { value: { a: 1 }, line: 1 },
      { value: { a: 2 }, line: 3 },
    ]);
  });

  it('an unreadable document is reported with file and line', () => {
    expect(values('{"a":1}\n{"a":')).toEqual([
      { a: 1 },
      { line: 2, reason: expect.stringMatching(/^invalid_json: expect/) },
    ]);
    expect(() => values('{"a":')).toThrow(/^f\.json:1: expected/);
    expect(() => values('{\n"a":1,\n"b":x\n}')).toThrow(/^f\.json:3: expected/);
    expect(() => values('')).toThrow(/^f\.json:1: expected/);
  });

  it('a text of UTF-16 is read in both orders of bytes, with a mark and without', () => {
    const text = '{"a":"é😀"}\n{"a":2}\n';
    const little = Buffer.from(text, 'utf16le');
    const big = Buffer.from(little).swap16();
    for (const bytes of [Buffer.from(text), little, big, Buffer.from(`\ufeff${text}`, 'utf16le')])
      expect(decodeText(bytes)).toEqual({ text, repaired: false });
    expect(decodeText(little.subarray(0, -1)).repaired).toBe(true);
  });
});
