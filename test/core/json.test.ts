/** Strict JSON (RFC 8259, RFC 7493, contract A6): hostile texts, bounds, and `JSON.parse` as oracle. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GovError } from '../../src/contract/problems.ts';
import { canonicalize, defaultBounds, largeBounds, parseJson, readJson } from '../../src/core/json.ts';
import type { Json, JsonBounds } from '../../src/core/json.ts';
import { hasVectors, vectors } from '../shared.ts';

const parse = (text: string, bounds?: JsonBounds): Json => parseJson(Buffer.from(text), bounds);

/** How parsing ends: `accepted`, or the problem as `CODE at offset: detail`. */
function outcome(input: string | Uint8Array, bounds?: JsonBounds): string {
  try {
    parseJson(typeof input === 'string' ? Buffer.from(input) : input, bounds);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    expect(error.status).toBe(400);
    expect(error.message).toMatch(/^expected .+, got .+ at byte [0-9]+$/);
    expect(error.message).toContain(`at byte ${String(error.extensions['offset'])}`);
    return `${error.code} at ${String(error.extensions['offset'])}: ${error.message}`;
  }
}

describe('texts that are JSON', () => {
  test.each([
    'null',
    'true',
    'false',
    '0',
    '-0',
    '""',
    '[]',
    '{}',
    ' \t\r\n[ \t\r\n] \t\r\n',
    ' { "a" : [ 1 , { } , "b" ] , "c" : null } ',
    '[[],[[]],{},{"a":{}}]',
    '[1.0,1e2,1E+2,0.1,-1.50,2e-3,0e99999,9007199254740991,-9007199254740991]',
    String.raw`"\"\\\/\b\f\n\r\t\u0041\u00e9\uD83D\uDE00\u001f"`,
    '"\u007f\u0080é€😀\u2028\ufeff"',
    '{"__proto__":{"a":1},"constructor":2,"prototype":3,"toString":4,"":5}',
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
  ])('%s is read as JSON.parse reads it', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test('a view into a larger buffer is read alone', () => {
    const bytes = Buffer.from('x["a",12345678901234.5]x');
    expect(parseJson(bytes.subarray(1, -1))).toEqual(['a', 12345678901234.5]);
  });

  test('__proto__ is data: an own property that changes no prototype', () => {
    const value = parse('{"__proto__":{"admin":true},"a":{"__proto__":null}}') as Record<string, Json>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(value['a'])).toBe(Object.prototype);
    expect('admin' in value).toBe(false);
  });
});

describe('texts that are not JSON, with what was expected, what came, and where', () => {
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
  ])('%j', (text, offset, detail) => {
    expect(outcome(text)).toBe(`INVALID_JSON at ${offset}: ${detail} at byte ${offset}`);
  });
});

describe('what I-JSON refuses', () => {
  test.each([
    [String.raw`["a\u0000b"]`, 3, 'text without U+0000'],
    [String.raw`["\ud800"]`, 2, 'surrogates in pairs'],
    [String.raw`["\udc00"]`, 2, 'surrogates in pairs'],
    [String.raw`["\ude00\ud83d"]`, 2, 'surrogates in pairs'],
    [String.raw`["\ud83d\ud83d\ude00"]`, 2, 'surrogates in pairs'],
    [String.raw`["\ud83d\n"]`, 2, 'surrogates in pairs'],
    [String.raw`{"\udbff":1}`, 2, 'surrogates in pairs'],
    ['{"a":1,"b":2,"a":3}', 13, 'each member name once, got a second "a"'],
    [String.raw`{"a":1,"\u0061":3}`, 7, 'each member name once, got a second "a"'],
    [String.raw`{"\ud83d\ude00":1,"😀":3}`, 18, 'each member name once, got a second "😀"'],
    ['{"":1,"":1}', 6, 'each member name once, got a second ""'],
    ['[{},{"b":{"a":1,"c":{"a":1},"a":2}}]', 28, 'each member name once, got a second "a"'],
    ['{"__proto__":1,"__proto__":2}', 15, 'each member name once, got a second "__proto__"'],
    ['{"1":1,"1":2}', 7, 'each member name once, got a second "1"'],
    [String.raw`{"\n":1,"\u000a":2}`, 8, String.raw`each member name once, got a second "\n"`],
  ])('%s', (text, offset, detail) => {
    const answer = outcome(text);
    expect(answer).toContain(`INVALID_JSON at ${offset}: expected ${detail}`);
  });

  test('a repeated name is quoted with at most 64 characters', () => {
    const name = 'n'.repeat(256);
    expect(outcome(`{"${name}":1,"${name}":1}`)).toContain(`got a second "${'n'.repeat(63)}…" at byte 262`);
  });

  test.each([
    ['ff', 2],
    ['c0af', 2], // overlong
    ['eda080', 2], // surrogate
    ['f4908080', 2], // beyond U+10FFFF
    ['61e282', 3], // cut
    ['efbbbfc3', 5], // a BOM inside a string is text
  ])('the bytes %s in a string are not UTF-8', (hex, offset) => {
    const bytes = Buffer.concat([Buffer.from('["'), Buffer.from(hex, 'hex'), Buffer.from('"]')]);
    expect(outcome(bytes)).toContain('INVALID_JSON at ');
    expect(outcome(bytes)).toContain('expected UTF-8, got an invalid sequence');
    const at = Number(/at byte (\d+)/.exec(outcome(bytes))?.[1]);
    expect(at - offset).toBeGreaterThanOrEqual(0);
    expect(at - offset).toBeLessThan(4);
  });
});

describe('member names spelled with an escape', () => {
  // after the first text of a pair, JSON.parse of V8 12.8 and later misreads the second (nodejs/node#63785)
  test.each([
    [String.raw`{"a1":1,"\\":1}`, String.raw`{"a1":1,"\n":1}`, '\n'],
    [String.raw`{"a2":1,"\\":1}`, String.raw`{"a2":1,"\"":1}`, '"'],
    [String.raw`{"a3":1,"\\":1}`, String.raw`{"a3":1,"\u0041":1}`, 'A'],
    [String.raw`{"a4":1,"\\n":1}`, String.raw`{"a4":1,"\nx":1}`, '\nx'],
    [String.raw`{"a5":1,"\\nab":1}`, String.raw`{"a5":1,"\nabc":1}`, '\nabc'],
    [String.raw`[{"a6":1,"\\":1}]`, String.raw`{"a6":{"a6":1,"\r":1},"b":[{"a6":0,"\f":"\n"}]}`, '\r'],
  ])('after %s, %s is still read as it stands', (before, text, name) => {
    for (const read of [parse, readJson]) {
      read(before);
      JSON.parse(before);
      const value = read(text) as Record<string, Json>;
      const inner = (value['a6'] ?? value) as Record<string, Json>;
      expect(Object.keys(inner)[1]).toBe(name);
    }
  });

  test.each([
    String.raw` { "\u0061" : [ 1 , [ ] , { } , -0.5e1 , true , false , null , "\ud83d\ude00" ] , "b" : { "\"" : { } } } `,
    String.raw`{"\u005f_proto__":{"a":1},"10":1,"9":[{"\/":"é"}]}`,
    String.raw`[[{"\\":1},{"\\":2}],{"\\":{"\\":[]}}]`,
  ])('%s has the value that JSON.parse gives in a fresh process', (text) => {
    const printed = execFileSync(process.execPath, [
      '-p',
      'JSON.stringify(JSON.parse(process.argv[1]))',
      text,
    ]);
    expect(JSON.stringify(parse(text))).toBe(printed.toString().trimEnd());
    expect(Object.getPrototypeOf(parse(text))).toBe(
      Array.isArray(parse(text)) ? Array.prototype : Object.prototype,
    );
  });
});

describe('numbers: nothing is rounded', () => {
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
  ])('%s is accepted, with its value', (literal) => {
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
  ])('%s is refused', (literal, expected) => {
    expect(outcome(`[${literal}]`)).toContain(`INVALID_JSON at 1: expected ${expected}`);
  });

  test('a literal of a megabyte is refused or read in one pass', () => {
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

  test('a literal is accepted exactly when BigInt arithmetic finds it equal to its JCS form', () => {
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

describe('bounds, at n and n + 1', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const nestedObjects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const zeros = (count: number): string => `[${Array(count).fill('0').join()}]`;

  test('depth', () => {
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

  test('values: each array, object and scalar counts, names do not', () => {
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

  test('characters of a member name, however they are spelled', () => {
    for (const char of ['a', 'é', '😀', String.raw`\u0061`, String.raw`\ud83d\ude00`, String.raw`\n`]) {
      expect(outcome(`{"${char.repeat(256)}":1}`)).toBe('accepted');
      expect(outcome(`{"${char.repeat(257)}":1}`)).toContain(
        'JSON_TOO_COMPLEX at 1: expected at most 256 characters',
      );
    }
    expect(outcome(`["${'a'.repeat(257)}"]`)).toBe('accepted');
  });

  test('bytes of a string, however they are spelled', () => {
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

describe('hostile bodies', () => {
  test.each([
    ['arrays', '['.repeat(100_000), 32],
    ['closed arrays', '['.repeat(100_000) + ']'.repeat(100_000), 32],
    ['objects', '{"a":'.repeat(100_000), 160],
    ['arrays in objects', '{"a":['.repeat(100_000), 96],
  ])('100,000 levels of %s are refused at the 33rd', (_, text, offset) => {
    expect(outcome(text, largeBounds)).toContain(`JSON_TOO_COMPLEX at ${offset}`);
  });

  test('eight million values are refused at the bound, before anything is built', () => {
    const bytes = Buffer.alloc(16 * 1024 * 1024, ',0');
    bytes[0] = 0x5b;
    expect(outcome(bytes, largeBounds)).toContain('JSON_TOO_COMPLEX at 399999');
  });

  test('an object of 199,999 members is read, and its one repeated name is found', () => {
    const members = Array.from({ length: 199_998 }, (_, index) => `"k${index}":0`).join();
    expect(Object.keys(parse(`{${members},"k":0}`, largeBounds) as object)).toHaveLength(199_999);
    expect(outcome(`{${members},"k77777":0}`, largeBounds)).toContain('got a second "k77777"');
  });

  test('every prefix and every suffix of a text is refused', () => {
    const text = Buffer.from(String.raw`{"a":[1.5e3,true,null,"\u00e9\n€"],"b":{}}`);
    for (let at = 0; at < text.length; at++) expect(outcome(text.subarray(0, at))).toContain('INVALID_JSON');
    for (let at = 1; at <= text.length; at++) {
      if (outcome(text.subarray(at)) === 'accepted') expect(text.subarray(at).toString()).toBe('never');
    }
  });
});

describe.skipIf(!hasVectors)('hostile vectors (skipped where the vectors folder is absent)', () => {
  const cases = hasVectors
    ? (JSON.parse(readFileSync(vectors('jcs/hostile.json'), 'utf8')) as {
        name: string;
        inputHex: string;
        expect: string;
      }[])
    : [];

  /** JCS has a form for these; a profile for evidence refuses them (contract A6). */
  const profileRefuses = new Set(['integer above 2^53 loses precision', 'escapes']);

  test.each(cases)('$name', ({ name, inputHex, expect: expected }) => {
    const bytes = Buffer.from(inputHex, 'hex');
    if (expected === 'reject' || profileRefuses.has(name)) {
      expect(outcome(bytes)).toContain('INVALID_JSON');
    } else {
      expect(Buffer.from(canonicalize(parseJson(bytes))).toString('hex')).toBe(expected);
    }
  });
});

const withoutNul = fc.string({ unit: 'binary', maxLength: 6 }).filter((text) => !text.includes('\0'));
const name = fc.oneof(fc.constantFrom('__proto__', 'constructor', '0', '10', '', '"', '\\', 'a'), withoutNul);
const number = fc.oneof(
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
);
const { value: anyJson } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false),
    number,
    name,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 6 }).map((members) => Object.fromEntries(members)),
  ),
}));

describe('parseJson beside JSON.parse', () => {
  test('any value of the profile is read back, with and without white space', () => {
    fc.assert(
      fc.property(anyJson, fc.constantFrom('', '\t', '  '), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(canonicalize(parse(text))).toBe(canonicalize(value));
      }),
      { numRuns: 1000 },
    );
  });

  test('JCS of whatever was read is read as the same', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalize(value);
        expect(canonicalize(parse(text))).toBe(text);
      }),
    );
  });

  test('a name put in a second time, anywhere, is refused', () => {
    fc.assert(
      fc.property(anyJson, name, anyJson, fc.boolean(), (first, twice, second, escaped) => {
        const spelled = escaped
          ? `"${Array.from({ length: twice.length }, (_, at) => String.raw`\u${twice.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
          : JSON.stringify(twice);
        const text = `[{"x-":0,${JSON.stringify(twice)}:${JSON.stringify(first)},${spelled}:${JSON.stringify(second)}}]`;
        expect(outcome(text)).toContain('each member name once');
      }),
    );
  });

  test('a text with bytes changed is refused as not JSON exactly when JSON.parse refuses it', () => {
    const change = fc.record({
      at: fc.nat(),
      drop: fc.integer({ min: 0, max: 2 }),
      put: fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '0',
        '-',
        '.',
        'e',
        'u',
        ' ',
        '\n',
        '\0',
        'é',
      ),
    });
    fc.assert(
      fc.property(anyJson, fc.array(change, { minLength: 1, maxLength: 3 }), (value, changes) => {
        let text = JSON.stringify(value);
        for (const { at, drop, put } of changes) {
          const start = at % (text.length + 1);
          text = text.slice(0, start) + put + text.slice(start + drop);
        }
        text = text.toWellFormed();
        const answer = outcome(text);
        let parsed: unknown;
        try {
          parsed = JSON.parse(text);
        } catch {
          expect(answer).toContain('INVALID_JSON');
          return;
        }
        const byProfile =
          /each member name once|U\+0000|surrogates|2\^53-1|a double|characters in a member name/;
        if (answer !== 'accepted') expect(answer).toMatch(byProfile);
        // where a name may be spelled with an escape, JSON.parse is no oracle
        else if (!text.includes('\\')) expect(canonicalize(parse(text))).toBe(canonicalize(parsed as Json));
      }),
      { numRuns: 5000 },
    );
  });

  test('no bytes at all make it throw anything but a problem', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => void outcome(bytes)));
  });
});
