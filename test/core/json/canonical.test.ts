/** RFC 8785: the RFC's own examples, its authors' test data, and the package `canonicalize` as oracle. */
import { readFileSync, readdirSync } from 'node:fs';
import oracle from 'canonicalize';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize, canonicalText } from '../../../src/core/json/canonical.ts';
import type { Json } from '../../../src/core/json/canonical.ts';
import { hasVectors, vectors } from '../../paths.ts';
import { numbers, serialization, sorting } from '../../vectors/rfc8785.ts';

const parse = (text: string): Json => JSON.parse(text) as Json;

function double(ieeeHex: string): number {
  return Buffer.from(ieeeHex.padStart(16, '0'), 'hex').readDoubleBE();
}

describe('the text of RFC 8785', () => {
  test('canonicalize writes the example of RFC 8785 §3.2.2 in the bytes of §3.2.4', () => {
    const output = canonicalize(parse(serialization.input));
    expect(output).toBe(serialization.output);
    expect(Buffer.from(output).toString('hex')).toBe(serialization.outputHex);
  });

  test('canonicalize sorts the names of RFC 8785 §3.2.3 by UTF-16 code units', () => {
    const output = canonicalize(parse(sorting.input));
    const at = sorting.values.map((value) => output.indexOf(JSON.stringify(value)));
    expect(at).not.toContain(-1);
    expect(at).toEqual(at.toSorted((a, b) => a - b));
  });

  test.each(numbers)(
    'canonicalize spells the number %s of RFC 8785 appendix B as %s',
    (ieeeHex, expected) => {
      expect(canonicalize(double(ieeeHex))).toBe(expected);
    },
  );
});

describe.skipIf(!hasVectors)('official test data (skipped where the vectors folder is absent)', () => {
  const pairs = hasVectors ? readdirSync(vectors('jcs/input')) : [];

  test.each(pairs)('canonicalize writes the file %s in the published bytes', (file) => {
    const output = canonicalize(parse(readFileSync(vectors(`jcs/input/${file}`), 'utf8')));
    const hex = readFileSync(vectors(`jcs/outhex/${file.replace('.json', '.txt')}`), 'latin1');
    expect(Buffer.from(output)).toEqual(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'));
    expect(Buffer.from(output)).toEqual(readFileSync(vectors(`jcs/output/${file}`)));
  });

  test('canonicalize spells ten thousand numbers like the ES6 test file', () => {
    const lines = readFileSync(vectors('jcs/es6testfile10k.txt'), 'latin1').trimEnd().split('\n');
    expect(lines).toHaveLength(10_000);
    const wrong = lines.filter((line) => {
      const [ieeeHex = '', expected] = line.split(',');
      return canonicalize(double(ieeeHex)) !== expected;
    });
    expect(wrong).toEqual([]);
  });

  test('canonicalize gives hostile texts that JSON.parse reads their canonical form or refuses them', () => {
    const cases = JSON.parse(readFileSync(vectors('jcs/hostile.json'), 'utf8')) as {
      name: string;
      inputHex: string;
      expect: string;
    }[];
    const surrogates = cases.filter(({ name }) => /lone|reversed/.test(name));
    expect(surrogates).toHaveLength(5);
    for (const { inputHex } of surrogates) {
      expect(() => canonicalize(parse(Buffer.from(inputHex, 'hex').toString()))).toThrow('lone surrogate');
    }
    for (const { name, inputHex, expect: expected } of cases.filter((each) => each.expect !== 'reject')) {
      const output = canonicalize(parse(Buffer.from(inputHex, 'hex').toString()));
      expect(Buffer.from(output).toString('hex'), name).toBe(expected);
    }
  });
});

/** Names that tempt an implementation: integer-like ones, `__proto__`, prefixes of each other, astral ones. */
const name = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toJSON',
    '10',
    '9',
    '0',
    '01',
    '-1',
    '4294967295',
    '',
    'a',
    'aa',
  ),
  fc.constantFrom('é', '\u20ac', '\u{1f600}', '\ufb33', '"', '\\', '\n', '\u2028', '\\ud800'),
  fc.string({ maxLength: 8, unit: 'binary' }),
);
const { value: anyJson } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    name,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 24 }).map((members) => Object.fromEntries(members)),
  ),
}));

/** The value with the members of all objects in the opposite order. */
function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, member]): [string, Json] => [name, reversed(member)]);
  return Object.fromEntries(members.toReversed());
}

describe('canonicalize', () => {
  test('canonicalize equals the package canonicalize on any JSON value and does not change the value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const before = JSON.stringify(value);
        expect(canonicalize(value)).toBe(oracle(value));
        expect(JSON.stringify(value)).toBe(before);
      }),
      { numRuns: 2000 },
    );
  });

  test('canonicalize does not depend on the order in which members were added', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalize(reversed(value))).toBe(canonicalize(value));
      }),
    );
  });

  test.each([
    ['{"b":1,"10":2,"9":3,"a":4}', '{"10":2,"9":3,"a":4,"b":1}'],
    ['{"b":{"__proto__":1,"A":2},"a":0}', '{"a":0,"b":{"A":2,"__proto__":1}}'],
    ['{"__proto__":{"b":1,"a":2}}', '{"__proto__":{"a":2,"b":1}}'],
    ['{"a":{"z":1,"y":[{"d":1,"c":2}]},"b":[]}', '{"a":{"y":[{"c":2,"d":1}],"z":1},"b":[]}'],
    [String.raw`{"b":"\\ud800","a":"\u007f"}`, String.raw`{"a":"` + '\u007f' + String.raw`","b":"\\ud800"}`],
    ['{}', '{}'],
    ['[]', '[]'],
    ['{"":{}}', '{"":{}}'],
  ])('canonicalize writes %s as %s', (input, expected) => {
    expect(canonicalize(parse(input))).toBe(expected);
  });

  test('canonicalize accepts objects without a prototype', () => {
    expect(canonicalize(Object.assign(Object.create(null), { b: 1, a: 2 }) as Json)).toBe('{"a":2,"b":1}');
  });

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['undefined in an object', { a: undefined }],
    ['undefined in a value that is spelled out', { 10: 1, 9: [undefined] }],
    ['a hole', Array(1)],
    ['a hole in a value that is spelled out', { b: { 10: 1, 9: 2, '-': 1 }, a: Array(1) }],
    ['NaN', [Number.NaN]],
    ['an infinity', { a: -Infinity }],
    ['a bigint', 1n],
    ['a function', { toJSON: () => 1 }],
    ['a symbol', Symbol('a')],
    ['a date', new Date(0)],
    ['a date in a value that is spelled out', { b: 1, 10: new Date(0) }],
    ['a map', new Map()],
    ['bytes', Buffer.from('a')],
    ['a boxed number', Object(1)],
    ['a lone surrogate', { a: ['\ud800'] }],
    ['a lone surrogate in a name', { '\udc00': 1 }],
  ])('canonicalize refuses %s', (_, value) => {
    expect(() => canonicalize(value as Json)).toThrow(/^expected/);
  });
});

describe('canonicalText', () => {
  test('canonicalText accepts values whose type is JSON, and the compiler refuses others', () => {
    interface Shaped {
      readonly name: string;
      readonly of?: readonly number[];
    }
    const shaped: Shaped = { name: 'b', of: [2, 1] };
    expect(canonicalText(shaped)).toBe(canonicalize({ of: [2, 1], name: 'b' }));
    expect(canonicalText([shaped, null, true])).toBe('[{"name":"b","of":[2,1]},null,true]');
    // @ts-expect-error -- bytes are no JSON
    expect(() => canonicalText({ bytes: Buffer.of(1) })).toThrow();
    // @ts-expect-error -- nor is what may be anything
    expect(canonicalText({ any: 1 as unknown })).toBe('{"any":1}');
    // @ts-expect-error -- nor a bigint
    expect(() => canonicalText({ big: 1n })).toThrow();
    // @ts-expect-error -- nor undefined
    expect(() => canonicalText({ none: undefined })).toThrow();
  });
});
