import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { LargeList, type LargeListOptions } from '../../../src/core/json/large-list.ts';
import { canonicalize, defaultBounds, parseJson, type Json } from '../../../src/core/json/parse.ts';

const bounds = { ...defaultBounds, values: 1000 };

/** Reads a text in chunks of `size` bytes, as a reader of bundles does: the lists `items` and `in/side`. */
function read(text: string | Buffer, size = Infinity, limit: Partial<LargeListOptions> = {}) {
  const bytes = Buffer.from(text);
  const items: Json[] = [];
  const inside: Json[] = [];
  const offsets: number[] = [];
  const list = new LargeList({
    bytes: 10_000,
    restBytes: 10_000,
    itemBytes: 10_000,
    keepsRest: true,
    lists: [
      {
        path: ['items'],
        isKept: false,
        item: (item, at) => {
          items.push(parseJson(item, bounds));
          offsets.push(at);
        },
      },
      { path: ['in', 'side'], isKept: true, item: (item) => inside.push(parseJson(item, bounds)) },
    ],
    ...limit,
  });
  for (let at = 0; at < bytes.length; at += size) list.push(bytes.subarray(at, at + size));
  const rest = list.end();
  return { rest: parseJson(rest.bytes, bounds), items, inside, offsets, offset: rest.offset };
}

const outcome = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return error.code;
  }
};

/** What `read` must give: the value of `parseJson`, with the lists apart. */
function oracle(text: string | Buffer): unknown {
  const value = parseJson(Buffer.from(text), bounds) as { items?: Json; in?: { side?: Json } };
  const [items, inside] = [value.items, value.in?.side];
  if (Array.isArray(items)) value.items = [];
  if (Array.isArray(inside)) value.in!.side = [];
  return {
    rest: value,
    items: Array.isArray(items) ? items : [],
    inside: Array.isArray(inside) ? inside : [],
  };
}

const sample =
  '{"a":1,"items":[{"x":"]},{"},{"y":[1,{"z":"\\""}]}],"in":{"b":2,"side":[[1],[2,3]]},"c":"items"}';

describe('an object with large lists', () => {
  it('an object is split into its lists and its rest, wherever its chunks end', () => {
    for (let size = 1; size <= sample.length; size++) {
      const { offset: _offset, offsets, ...parts } = read(sample, size);
      expect(parts).toEqual(oracle(sample));
      expect(offsets).toEqual([sample.indexOf('{"x"'), sample.indexOf('{"y"')]);
    }
  });

  it('a list is found by its name in any spelling, and only where it is looked for', () => {
    expect(read('{"\\u0069tems":[{}]}').items).toEqual([{}]);
    expect(read('{"in" : {"side"\n:\t[ [] , {} ]}}').inside).toEqual([[], {}]);
    const elsewhere = '{"a":{"items":[{}],"side":[{}]},"items2":[{}],"b":["items",[{}]],"side":[{}]}';
    expect(read(elsewhere)).toMatchObject({ rest: JSON.parse(elsewhere), items: [], inside: [] });
    const long = `{"${'i'.repeat(300)}":[{}],"c":{"${'s'.repeat(256)}":1}}`;
    expect(outcome(() => read(long, 7))).toBe('JSON_TOO_COMPLEX');
    expect(read(`{"${'i'.repeat(200)}":[{}],"items":[{}]}`, 7).items).toEqual([{}]);
  });

  it.each([
    ['a text that ends in an item', sample.slice(0, 30)],
    ['a text that ends in a string of an item', sample.slice(0, 23)],
    ['a text that ends after an item', '{"items":[{}'],
    ['a text that ends after a comma', '{"items":[{},'],
    ['a text that ends in the rest', '{"items":[{}],'],
    ['an item without a comma before it', '{"items":[{}{}]}'],
    ['two commas', '{"items":[{},,{}]}'],
    ['a comma before the first item', '{"items":[,{}]}'],
    ['a comma after the last item', '{"items":[{},]}'],
    ['another bracket at the end of a list', '{"items":[{}}}'],
    ['another bracket in an item', '{"items":[{"a":[1}]]}'],
    ['a repeated list', '{"items":[{}],"items":[{}]}'],
    ['a repeated list in another spelling', '{"items":[{}],"it\\u0065ms":[]}'],
    ['a repeated list within a member', '{"in":{"side":[[]],"side":[[]]}}'],
    ['a repeated member of the rest', '{"a":1,"items":[{}],"a":1}'],
    ['a repeated member of an item', '{"items":[{"a":1,"a":1}]}'],
    ['two values', '{"items":[{}]}{"items":[{}]}'],
    ['a list without an object', '"items":[{}]'],
    ['two colons', '{"items"::[{}]}'],
    ['a byte order mark', '\ufeff{"items":[{}]}'],
    ['a byte order mark before an item', '{"items":[\ufeff{}]}'],
    ['a form feed between items', '{"items":[{},\f{}]}'],
    ['no text', ''],
  ])('%s is refused', (_what, text) => {
    for (const size of [1, 3, Infinity]) {
      expect(outcome(() => read(text, size))).toBe('INVALID_JSON');
    }
    expect(outcome(() => oracle(text))).toBe('INVALID_JSON');
  });

  it('scalars in a list are refused, because no list has them', () => {
    for (const item of ['1', '"x"', 'null', 'true']) {
      expect(outcome(() => read(`{"items":[${item}]}`))).toBe('INVALID_JSON');
    }
  });

  it('bytes that are not UTF-8 are refused in an item and in the rest', () => {
    for (const mark of ['"x"', '"a"']) {
      const bytes = Buffer.from(sample);
      bytes[bytes.indexOf(mark) + 1] = 0xff;
      expect(outcome(() => read(bytes, 5))).toBe('INVALID_JSON');
    }
  });

  it('the limits of text, rest and item hold at n and n + 1, wherever chunks end', () => {
    const item = `{"x":"${'a'.repeat(92)}"}`;
    expect(item).toHaveLength(100);
    const text = `{"items":[${item},${item}],"in":{"side":[[1]]}}`;
    const restBytes = text.length - 201;
    for (const size of [1, 7, 64, Infinity]) {
      const codes = (limit: Partial<LargeListOptions>) =>
        outcome(() => read(text, size, limit) && 'accepted');
      expect(codes({ bytes: text.length, restBytes })).toBe('accepted');
      expect(codes({ bytes: text.length - 1, restBytes })).toBe('PAYLOAD_TOO_LARGE');
      expect(codes({ restBytes: restBytes - 1 })).toBe('PAYLOAD_TOO_LARGE');
      expect(codes({ itemBytes: 100 })).toBe('accepted');
      expect(codes({ itemBytes: 99 })).toBe('JSON_TOO_COMPLEX');
    }
  });

  it('an error in the rest has its offset in the whole text', () => {
    const { offset } = read(sample);
    const rest = sample.replace(/\[\{"x.*?\]\}\]/, '[]').replace('[[1],[2,3]]', '[]');
    for (const part of ['"a"', '"items":[', '"in"', '"b"', '"c"']) {
      expect(offset(rest.indexOf(part))).toBe(sample.indexOf(part));
    }
  });

  it('any text gives what the strict parser gives, in any chunks', { timeout: 60_000 }, () => {
    const container = fc.oneof(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })),
      fc.array(fc.jsonValue()),
    );
    const value = fc.record(
      {
        items: fc.oneof(
          fc.array(container),
          fc.jsonValue({ maxDepth: 1 }).filter((each) => !Array.isArray(each)),
        ),
        in: fc.oneof(
          fc.record({ side: fc.array(container), more: fc.jsonValue() }),
          fc.constant({ items: [{}] }),
        ),
        more: fc.jsonValue({ maxDepth: 2 }),
      },
      { requiredKeys: [] },
    );
    const edit = fc.record({
      at: fc.nat(),
      cut: fc.nat({ max: 3 }),
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
        ' ',
        '"items":[{}],',
        '{},',
        '\\u0069',
        'é',
        '0',
      ),
    });
    fc.assert(
      fc.property(
        value,
        fc.array(edit, { maxLength: 2 }),
        fc.integer({ min: 1, max: 40 }),
        (whole, edits, size) => {
          let text = JSON.stringify(whole);
          for (const { at, cut, put } of edits) {
            const start = at % (text.length + 1);
            text = text.slice(0, start) + put + text.slice(start + cut);
          }
          const expected = outcome(() => oracle(text));
          const given = outcome(() => {
            const { rest, items, inside } = read(text, size);
            return { rest, items, inside };
          });
          // a list of scalars, and a rest that is no object, are for the caller
          if (typeof expected === 'object' && typeof given === 'string') {
            const { items, inside } = expected as { items: Json[]; inside: Json[] };
            const isContainer = (item: Json): boolean => typeof item === 'object' && item !== null;
            expect([...items, ...inside].every(isContainer), text).toBe(false);
          } else if (typeof expected === 'object') {
            expect(canonicalize(given as Json), text).toBe(canonicalize(expected as Json));
          } else expect(typeof given, text).toBe('string');
        },
      ),
      { numRuns: 5000, seed: 3 },
    );
  });
});
