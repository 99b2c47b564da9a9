/** Differences between values: where, and how they are shown. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { cut, Differences } from '../../../src/core/replay/fields.ts';

const found = (expected: Json, actual: Json): (readonly string[])[] => {
  const differences = new Differences();
  differences.values('', expected, actual);
  return differences.list.map(({ field, expected, actual }) => [field, expected, actual]);
};

describe('values that differ', () => {
  it('values that differ are named by pointer, in the order of names, with both sides', () => {
    const expected = { b: 1, a: { x: 'same', y: '1' }, list: [1, 2, { z: null }], gone: false };
    const actual = { list: [1, 3, {}, 'new'], b: true, a: { x: 'same', y: 1 }, '~/': '' };
    expect(found(expected, actual)).toEqual([
      ['/a/y', '"1"', '1'],
      ['/b', '1', 'true'],
      ['/gone', 'false', ''],
      ['/list/1', '2', '3'],
      ['/list/2/z', 'null', ''],
      ['/list/3', '', '"new"'],
      ['/~0~1', '', '""'],
    ]);
  });

  it('values of different kinds are shown whole, and names such as __proto__ are data', () => {
    expect(found({ a: [1] }, { a: { 0: 1 } })).toEqual([['/a', '[1]', '{"0":1}']]);
    expect(found(JSON.parse('{"__proto__":1}') as Json, {})).toEqual([['/__proto__', '1', '']]);
    expect(found({}, { constructor: 1 })).toEqual([['/constructor', '', '1']]);
  });

  it('values differ exactly when their canonical texts differ', () => {
    const value = fc
      .jsonValue({ maxDepth: 3 })
      .filter((value) => !JSON.stringify(value).includes('\\ud')) as fc.Arbitrary<Json>;
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(found(a, b).length > 0).toBe(canonicalize(a) !== canonicalize(b));
        expect(found(a, structuredClone(a))).toEqual([]);
      }),
      { seed: 51, numRuns: 500 },
    );
  });

  it('differences beyond the limit are counted', () => {
    const many = Array.from({ length: limits.fieldErrors + 1 }, (_, at) => at);
    const differences = new Differences();
    differences.values('', many.slice(1), []);
    expect([differences.list.length, differences.count]).toEqual([limits.fieldErrors, limits.fieldErrors]);
    differences.values('', [1], []);
    expect([differences.list.length, differences.count]).toEqual([
      limits.fieldErrors,
      limits.fieldErrors + 1,
    ]);
  });

  it('differences have the given severities for changed and for missing values', () => {
    const differences = new Differences({ differs: 'medium', absent: 'low' });
    differences.values('', { a: 1, b: 1 }, { a: 2 });
    expect(differences.list.map(({ field, severity }) => [field, severity])).toEqual([
      ['/a', 'medium'],
      ['/b', 'low'],
    ]);
  });
});

describe('long texts', () => {
  const shown = (expected: string, actual: string): [string, string] => {
    const differences = new Differences();
    differences.texts('', expected, actual);
    const [first] = differences.list;
    return [first!.expected, first!.actual];
  };

  it('a long text is cut exactly to the echo limit', () => {
    const text = 'x'.repeat(limits.echoChars);
    expect(cut(text)).toBe(text);
    expect(cut(`${text}x`)).toBe(`${text.slice(1)}…`);
    expect(shown(text, 'y')).toEqual([text, 'y']);
    expect(shown(`${text}x`, 'y')).toEqual([`${text.slice(1)}…`, 'y']);
  });

  it('a long text is shown from where it differs', () => {
    const same = 's'.repeat(1000);
    expect(shown(`${same}one${same}`, `${same}two`)).toEqual([
      `…${'s'.repeat(16)}one${'s'.repeat(43)}…`,
      `…${'s'.repeat(16)}two`,
    ]);
    expect(shown(same, `${same}!`)).toEqual([`…${'s'.repeat(16)}`, `…${'s'.repeat(16)}!`]);
  });

  it('two different texts still differ when they are cut, short and well-formed', () => {
    const letters = fc.constantFrom('a', 'b', '😀', '😁');
    const text = fc.array(letters, { maxLength: 200 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, text, text, (shared, a, b) => {
        fc.pre(a !== b);
        const [from, to] = shown(shared + a, shared + b);
        expect(from).not.toBe(to);
        for (const each of [from, to]) {
          expect(each.length).toBeLessThanOrEqual(limits.echoChars);
          expect(each.isWellFormed()).toBe(true);
        }
      }),
      { seed: 52, numRuns: 1000 },
    );
  });

  it('two hashes are shown whole, also as JSON', () => {
    const hashes = [`sha256:${'1'.repeat(64)}`, `sha256:${'2'.repeat(64)}`] as const;
    expect(shown(...hashes)).toEqual(hashes);
    expect(shown(hashes[0], '')).toEqual([hashes[0], '']);
    expect(found(...hashes)).toEqual([['', `"${hashes[0]}"`, `"${hashes[1]}"`]]);
    expect(shown(hashes[0], `${hashes[1]}x`)[0]).toHaveLength(limits.echoChars);
  });

  it('a long field name is cut to the limit as well', () => {
    const differences = new Differences();
    differences.values('', { ['n'.repeat(limits.memberNameChars)]: 1 }, {});
    expect(differences.list[0]!.field).toHaveLength(limits.memberNameChars);
  });
});
