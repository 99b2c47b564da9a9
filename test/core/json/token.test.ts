/** The grammar of RFC 8259 by its violations, and numbers: `BigInt` arithmetic is the oracle. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { outcome, parse } from './outcome.ts';

describe('errors of texts that are not JSON', () => {
  test.each([
    ['', 0, 'expected a JSON value, got the end of the text'],
    ['  ', 2, 'expected a JSON value, got the end of the text'],
    ['[1,]', 3, "expected a JSON value, got ']'"],
    ['[,1]', 1, "expected a JSON value, got ','"],
    ['[1 2]', 3, "expected ',' or ']', got '2'"],
    ['[1}', 2, "expected ',' or ']', got '}'"],
    ['{"a":1]', 6, "expected ',' or '}', got ']'"],
    ['{"a":1,}', 7, "expected a member name, got '}'"],
    ['{,}', 1, "expected a member name, got ','"],
    ['{a:1}', 1, "expected a member name, got 'a'"],
    ["{'a':1}", 1, "expected a member name, got '''"],
    ['{"a" 1}', 5, "expected ':', got '1'"],
    ['{"a"}', 4, "expected ':', got '}'"],
    ['{"a":}', 5, "expected a JSON value, got '}'"],
    ['{"a":1', 6, "expected ',' or '}', got the end of the text"],
    ['[[]', 3, "expected ',' or ']', got the end of the text"],
    ['[]]', 2, "expected the end of the text, got ']'"],
    ['1 1', 2, "expected the end of the text, got '1'"],
    ['1,', 1, "expected the end of the text, got ','"],
    ['{}\0', 2, 'expected the end of the text, got byte 0x00'],
    ['tru', 3, 'expected true, got the end of the text'],
    ['truE', 3, "expected true, got 'E'"],
    ['falsy', 4, "expected false, got 'y'"],
    ['nul]', 3, "expected null, got ']'"],
    ['undefined', 0, "expected a JSON value, got 'u'"],
    ['NaN', 0, "expected a JSON value, got 'N'"],
    ['-Infinity', 1, "expected a digit, got 'I'"],
    ['01', 1, "expected the end of the text, got '1'"],
    ['-', 1, 'expected a digit, got the end of the text'],
    ['-01', 2, "expected the end of the text, got '1'"],
    ['+1', 0, "expected a JSON value, got '+'"],
    ['.5', 0, "expected a JSON value, got '.'"],
    ['1.', 2, 'expected a digit, got the end of the text'],
    ['1.e5', 2, "expected a digit, got 'e'"],
    ['1e', 2, 'expected a digit, got the end of the text'],
    ['1e+', 3, 'expected a digit, got the end of the text'],
    ['0x10', 1, "expected the end of the text, got 'x'"],
    ['1_000', 1, "expected the end of the text, got '_'"],
    ['"a', 2, `expected '"' or an escape, got the end of the text`],
    ['"a\nb"', 2, `expected '"' or an escape, got byte 0x0a`],
    ['"\u0000"', 1, `expected '"' or an escape, got byte 0x00`],
    [String.raw`"\x41"`, 2, String.raw`expected one of "\/bfnrtu, got 'x'`],
    [String.raw`"\u12g4"`, 5, "expected four hex digits, got 'g'"],
    [String.raw`"\u12`, 5, 'expected four hex digits, got the end of the text'],
    ['"\\', 2, String.raw`expected one of "\/bfnrtu, got the end of the text`],
    [String.raw`"a\"`, 4, `expected '"' or an escape, got the end of the text`],
    ['[1]/*a*/', 3, "expected the end of the text, got '/'"],
    ['\u00a0[]', 0, 'expected a JSON value, got byte 0xc2'],
    ['\v[]', 0, 'expected a JSON value, got byte 0x0b'],
    ['\ufeff[]', 0, 'expected a JSON value, got a byte order mark'],
    ['[\ufeff]', 1, 'expected a JSON value, got byte 0xef'],
  ])('the error for the text %j says what was expected, what came, and where', (text, offset, detail) => {
    expect(outcome(text)).toBe(`INVALID_JSON at ${offset}: ${detail} at byte ${offset}`);
  });
});

describe('numbers are never rounded', () => {
  test.each([
    '1.0',
    '100.000',
    '1e2',
    '1E2',
    '10e-1',
    '0.1',
    '1e-7',
    '0.0000001',
    '5e-324',
    '0.30000000000000004',
    '1763631234.123456',
    '3.141592653589793',
    '1e21',
    '1.5E+300',
    '1.7976931348623157e308',
    '17976931348623157e292',
    '9007199254740991.0',
    '0.000000000000000000000000000',
    '-0.0',
    '-0e-5',
    '0e999999999999999999999',
    '123456789012345',
    '12345678901234.5',
    '1000000000000000e-5',
    '0.1000000000000000000000000000000000000000000000',
  ])('the number %s is accepted with its exact value', (literal) => {
    expect(parse(literal)).toBe(Number(literal));
    expect(() => parse(canonicalize(parse(literal)))).not.toThrow();
  });

  test.each([
    ['9007199254740992', 'an integer of at most 2^53-1'],
    ['-9007199254740992', 'an integer of at most 2^53-1'],
    ['9007199254740993', 'an integer of at most 2^53-1'],
    ['9007199254740992.0', 'an integer of at most 2^53-1'],
    ['1e16', 'an integer of at most 2^53-1'],
    ['1e20', 'an integer of at most 2^53-1'],
    ['1000000000000000000000', 'an integer of at most 2^53-1'],
    ['1'.repeat(300), 'an integer of at most 2^53-1'],
    ['1e400', 'a number within the range of a double'],
    ['-1e400', 'a number within the range of a double'],
    ['1e999999999999999999999', 'a number within the range of a double'],
    ['1'.repeat(400), 'a number within the range of a double'],
    ['1e-400', 'a number that a double holds unchanged, such as 0'],
    ['1e-324', 'a number that a double holds unchanged, such as 0'],
    ['3e-324', 'a number that a double holds unchanged, such as 5e-324'],
    ['0.10000000000000001', 'a number that a double holds unchanged, such as 0.1'],
    ['0.1000000000000000055511151231257827', 'a number that a double holds unchanged, such as 0.1'],
    ['333333333.33333329', 'a number that a double holds unchanged, such as 333333333.3333333'],
    ['9007199254740990.5', 'a number that a double holds unchanged, such as 9007199254740990'],
    ['1.7976931348623158e308', 'a number that a double holds unchanged'],
    ['2.00000000000000000000000001', 'a number that a double holds unchanged, such as 2'],
    ['1e-999999999999999999999', 'a number that a double holds unchanged, such as 0'],
  ])('the number %s is refused because it would be rounded', (literal, expected) => {
    expect(outcome(`[${literal}]`)).toContain(`INVALID_JSON at 1: expected ${expected}`);
  });

  test('a number literal of one megabyte is refused or read in one pass', () => {
    expect(parse(`[0.${'0'.repeat(1_000_000)}]`)).toEqual([0]);
    expect(parse(`[1.5${'0'.repeat(1_000_000)}]`)).toEqual([1.5]);
    expect(outcome(`[1.${'0'.repeat(1_000_000)}1]`)).toContain('holds unchanged, such as 1');
    expect(outcome(`[${'9'.repeat(1_000_000)}]`)).toContain('within the range of a double');
  });

  /** A decimal literal as an exact fraction, by BigInt. */
  function fraction(literal: string): { top: bigint; bottom: bigint } {
    const [, sign = '', whole = '', rest = '', power = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
    const exponent = Number(power) - rest.length;
    const digits = BigInt(`${sign}${whole}${rest}`);
    const scale = 10n ** BigInt(Math.abs(exponent));
    return exponent < 0 ? { top: digits, bottom: scale } : { top: digits * scale, bottom: 1n };
  }

  test('a number literal is accepted exactly when BigInt arithmetic finds it equal to its JCS form', () => {
    const literal = fc.oneof(
      fc.stringMatching(/^-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?$/),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc
        .tuple(fc.double({ min: -1e9, max: 1e9, noNaN: true }), fc.integer({ min: 1, max: 30 }))
        .map(([x, n]) => x.toFixed(n)),
      fc
        .tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: 14, max: 25 }))
        .map(([x, n]) => x.toExponential(n)),
    );
    fc.assert(
      fc.property(literal, (text) => {
        const value = Number(text);
        const isSafe =
          Math.abs(value) <= Number.MAX_SAFE_INTEGER || (Math.abs(value) >= 1e21 && /e/i.test(text));
        let isExact = Number.isFinite(value);
        if (isExact) {
          const sent = fraction(text);
          const kept = fraction(String(value));
          isExact = sent.top * kept.bottom === kept.top * sent.bottom;
        }
        expect(outcome(text) === 'accepted').toBe(isSafe && isExact);
      }),
      { numRuns: 3000 },
    );
  });
});
