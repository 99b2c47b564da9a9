import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { isRefused, parseItems } from '../../../src/core/json/items.ts';
import {
  canonicalize,
  defaultBounds,
  largeBounds,
  parseJson,
  type Json,
} from '../../../src/core/json/parse.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const pace = { isOver: () => true, next: () => Promise.resolve() };
const read = (text: Buffer, bounds = defaultBounds) => parseItems(text, { bounds, member: 'events', pace });
const itemsOf = async (text: string): Promise<Json[]> =>
  ((await read(bytes(text))) as { events: Json[] }).events;
const kinds = (items: readonly Json[]): string[] =>
  items.map((item) => (isRefused(item) ? item.kind : 'value'));
const codeOf = async (text: string | Buffer): Promise<string> => {
  try {
    await read(Buffer.from(text));
    return 'accepted';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
};

const long = 'x'.repeat(defaultBounds.stringBytes + 1);
const deep = `${'['.repeat(33)}${']'.repeat(33)}`;

/** JSON that the profile refuses, and why. */
const unsafe = [
  ['unsafe', '9007199254740992'],
  ['unsafe', '1e400'],
  ['unsafe', '{"a":{"b":"\\ud800"}}'],
  ['unsafe', '["\\u0000"]'],
  ['unsafe', '{"a":1,"\\u0061":2}'],
  ['too_complex', deep],
  ['too_complex', `{"${'n'.repeat(257)}":1}`],
  ['too_complex', `[${'1,'.repeat(defaultBounds.values)}1]`],
  ['too_complex', `[${deep},"${long}"]`],
  ['too_large', `"${long}"`],
] as const;

describe('a list that is judged item by item', () => {
  it.each(unsafe)('marks an item as %s and keeps the others as values: %.40s', async (kind, bad) => {
    const good = '{"a":[1,{"b":"}],\\"{["}],"c":"\\u20ac"}';
    const items = await itemsOf(` { "events" : [ ${good} , ${bad},\n${good},${bad} ]\t} `);
    expect(kinds(items)).toEqual(['value', kind, 'value', kind]);
    expect([items[0], items[2]]).toEqual([JSON.parse(good), JSON.parse(good)]);
  });

  it('gives refused items of other bytes another digest, and the whole a canonical form', async () => {
    const [one, two, same] = await itemsOf('{"events":[1e400,1e401,1e400]}');
    expect(isRefused(one) && isRefused(two) && isRefused(same)).toBe(true);
    expect(canonicalize(one ?? null)).toBe(canonicalize(same ?? null));
    expect(canonicalize(one ?? null)).not.toBe(canonicalize(two ?? null));
  });

  it('takes no value of a text for a refused item', async () => {
    const [refused] = await itemsOf('{"events":[1e400]}');
    const text = JSON.stringify({ events: [refused] });
    expect(kinds(await itemsOf(text))).toEqual(['value']);
  });

  it('keeps names like __proto__ and other members of the envelope as data', async () => {
    const body = await read(bytes('{"__proto__":1,"events":[1e400],"x":[2]}'));
    expect(Object.keys(body as object)).toEqual(['__proto__', 'events', 'x']);
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
  });

  it('refuses a text that is no JSON, and an envelope outside the profile', async () => {
    const bad = [
      '',
      '{',
      '[1e400]]',
      '{"events":[1e400}',
      '{"events":[1e400],}',
      '{"events":[01]}',
      '{"events":["\\x"]}',
    ];
    const envelope = [
      '{"events":[1],"events":[1e400]}',
      '{"events":[1e400],"a":1,"a":2}',
      '{"events":[],"a":1e400}',
      '{"events":{"a":1e400}}',
      '{"\\ud800":1,"events":[1e400]}',
      '1e400',
    ];
    for (const text of [...bad, ...envelope])
      expect([text, await codeOf(text)]).toEqual([text, 'INVALID_JSON']);
    expect(await codeOf(Buffer.from([...bytes('{"events":[1e400,"'), 0xff, ...bytes('"]}')]))).toBe(
      'INVALID_JSON',
    );
    expect(await codeOf(`{"events":[1e400],"a":${deep}}`)).toBe('JSON_TOO_COMPLEX');
  });

  it('counts the values of all items together', async () => {
    const each = `[${'1,'.repeat(defaultBounds.values / 2)}1]`;
    expect(await codeOf(`{"events":[${each},1e400]}`)).toBe('accepted');
    expect(await codeOf(`{"events":[${each},${each},1e400]}`)).toBe('JSON_TOO_COMPLEX');
  });

  it('reads each item in a slice of its own, and says offsets in the whole text', async () => {
    let slices = 0;
    const counting = { isOver: () => true, next: async () => void (slices += 1) };
    const options = { bounds: defaultBounds, member: 'events', pace: counting };
    await parseItems(bytes('{"events":[1,2,3,4]}'), options);
    expect(slices).toBe(5);
    const faults = [
      ['{"events":[1,{"a":tru}]}', 21],
      ['{"events":[1,[2}]}', 15],
      ['{"events":[1 2]}', 13],
      ['{"events":[1],"a" 2}', 18],
      ['{"events":[1,2', 14],
      ['{"events":[1]} x', 15],
    ] as const;
    for (const [text, offset] of faults) {
      await expect(read(bytes(text))).rejects.toMatchObject({ code: 'INVALID_JSON', extensions: { offset } });
    }
    const notUtf8 = Buffer.from([...bytes('{"events":[1,"é'), 0xff, ...bytes('"]}')]);
    const extensions = { offset: notUtf8.indexOf(0xff) };
    await expect(read(notUtf8)).rejects.toMatchObject({ code: 'INVALID_JSON', extensions });
  });

  it('refuses an item that no single request could have, and an envelope of that size', async () => {
    const of = (size: number): string => `["${'x'.repeat(100)}"${' '.repeat(size - 104)}]`;
    const items = await itemsOf(`{"events":[${of(limits.bodyBytes)},${of(limits.bodyBytes + 1)}]}`);
    expect(kinds(items)).toEqual(['value', 'too_large']);
    const envelope = (size: number): string => `{"events":[]${' '.repeat(size - '{"events":}'.length)}}`;
    expect(await codeOf(envelope(limits.bodyBytes))).toBe('accepted');
    expect(await codeOf(envelope(limits.bodyBytes + 1))).toBe('PAYLOAD_TOO_LARGE');
    expect(await codeOf('{"events":[]}'.padEnd(limits.bodyBytes + 1))).toBe('accepted');
  });

  it('reads what the profile accepts as the whole reader does', async () => {
    const json = fc.json({ maxDepth: 5 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(json, { maxLength: 5 }),
        fc.constantFrom('', ' ', '\n\t'),
        async (items, space) => {
          const text = bytes(
            `{${space}"events"${space}:[${items.join(`${space},${space}`)}${space}]${space}}`,
          );
          let whole: Json;
          try {
            whole = parseJson(text, largeBounds);
          } catch {
            return;
          }
          expect(await read(text, largeBounds)).toEqual(whole);
        },
      ),
    );
  });

  it('accepts exactly the texts that JSON.parse accepts, whatever is cut out or put in', async () => {
    const base = '{"events":[{"a":[1,-2.5e3,true,null,"x\\n\\u00e9\\ud834"],"b":{}},1e400,[[]]],"c":"d"}';
    const piece = fc.constantFrom(
      '',
      '"',
      '\\',
      ',',
      ':',
      '[',
      ']',
      '{',
      '}',
      '0',
      '-',
      'e',
      '.',
      'tru',
      ' ',
      '\u0001',
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(base.length), fc.nat(3), piece, async (at, cut, put) => {
        const text = base.slice(0, at) + put + base.slice(at + cut);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        // what is JSON is refused for its envelope at most
        if (!isJson) expect([text, await codeOf(text)]).toEqual([text, 'INVALID_JSON']);
        else if (text.startsWith('{"events":[') && text.endsWith('],"c":"d"}'))
          expect([text, await codeOf(text)]).toEqual([text, 'accepted']);
      }),
      { numRuns: 2000 },
    );
  });
});
