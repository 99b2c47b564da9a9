import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvRecords } from '../../../src/cli/push/csv.ts';
import { elements, lines } from '../../../src/cli/push/pieces.ts';
import { mostEventBytes, readPiece, type InputRecord, type Piece } from '../../../src/cli/push/record.ts';
import { readRecords, type InputFormat } from '../../../src/cli/push/source.ts';

async function* chunked(
  text: string | Buffer,
  sizes: readonly number[] = [65_536],
): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
};
const shown = (pieces: readonly Piece[]) =>
  pieces.map(({ line, bytes }) => [line, bytes?.toString().trim() ?? null]);
const read = async (
  text: string | Buffer,
  format: InputFormat = 'auto',
  name = 'in',
): Promise<InputRecord[]> => all(readRecords({ name, path: null, size: null }, chunked(text), format));
const values = (records: readonly InputRecord[]) =>
  records.map((record) => ('reason' in record ? record.reason : 'event' in record ? record.event : record));

describe('lines', () => {
  it('are numbered, and blank ones are left out', async () => {
    expect(shown(await all(lines(chunked('\n1\r\n\n  \n2'))))).toEqual([
      [2, '1'],
      [5, '2'],
    ]);
  });

  it('are the same however the bytes come', async () => {
    const text = fc
      .array(fc.oneof(fc.string(), fc.constant('é€😀')), { maxLength: 20 })
      .map((parts) => parts.join('\n'));
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        async (input, sizes) => {
          expect(shown(await all(lines(chunked(input, sizes))))).toEqual(
            shown(await all(lines(chunked(input)))),
          );
        },
      ),
    );
  });

  it('that are too long are passed over in bounded memory and refused, and the next is read', async () => {
    const big = Buffer.alloc(mostEventBytes + 1, 'x');
    const [first, second] = await read(
      Buffer.concat([Buffer.from('{"a":"'), big, Buffer.from('"}\n{"b":1}\n')]),
    );
    expect(first).toEqual({ line: 1, reason: expect.stringMatching(/^event_too_large: /) });
    expect(second).toMatchObject({ line: 2, event: { b: 1 } });
  });
});

describe('elements of an array', () => {
  const text = '\n[ {"a":"],[{\\"\\\\"},\n\n [1,[2]] , "x,]",\n 7,null]\n ';
  it('are cut at the commas between them, with the lines they begin on', async () => {
    expect(shown(await all(elements(chunked(text), 'in')))).toEqual([
      [2, '{"a":"],[{\\"\\\\"}'],
      [4, '[1,[2]]'],
      [4, '"x,]"'],
      [5, '7'],
      [5, 'null'],
    ]);
    expect(await all(elements(chunked(' [ \n ] '), 'in'))).toEqual([]);
  });

  it('are the values of the array however it is laid out and however the bytes come', async () => {
    const input = fc.tuple(
      fc.array(fc.jsonValue()),
      fc.constantFrom(undefined, 1, '\t'),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(input, async ([array, indent, sizes]) => {
        const pieces = await all(elements(chunked(JSON.stringify(array, null, indent), sizes), 'in'));
        expect(pieces.map(({ bytes }) => JSON.parse(String(bytes)))).toEqual(
          JSON.parse(JSON.stringify(array)),
        );
      }),
    );
  });

  it.each([
    ['[{"a":1},\n', 'in:2: expected the end of the array'],
    ['[1,,2]', 'in:1: expected an event between commas'],
    ['[1,\n]', 'in:2: expected an event between commas'],
    ['[1]\n[2]', 'in:2: expected the end of the input after the array'],
    ['7', 'in:1: expected a JSON array'],
  ])('are refused in %j', async (broken, message) => {
    await expect(all(elements(chunked(broken), 'in'))).rejects.toThrow(message);
  });

  it('name the line of one that is not JSON', async () => {
    await expect(read('[\n{"a":1},\n{"a":}\n]')).rejects.toThrow(/^in:3: expected/);
    await expect(read('[{"a":1}\n{"a":2}]')).rejects.toThrow(/^in:1: expected/);
  });
});

describe('records', () => {
  it('that are not JSON end the reading with file and line', async () => {
    await expect(read('{"a":1}\n{"a":\n')).rejects.toMatchObject({
      exit: 2,
      message: expect.stringMatching(/^in:2: /),
    });
    await expect(read(Buffer.from('{"a":"\xff"}', 'latin1'))).rejects.toThrow(/^in:1: expected UTF-8/);
  });

  it('that are JSON but would make a body unacceptable are refused alone', async () => {
    const records = await read(
      '{"a":1,"a":2}\n{"a":"\\ud800"}\n{"a":"\\u0000"}\n{"a":12345678901234567890}\n{"a":1}\n',
    );
    expect(values(records).slice(0, 4)).toEqual(Array(4).fill(expect.stringMatching(/^unsafe_json: /)));
    expect(records[4]).toMatchObject({ line: 5, event: { a: 1 } });
    const deep = `${'['.repeat(31)}${']'.repeat(31)}`;
    expect(readPiece({ line: 1, bytes: Buffer.from(deep) }, 'in')).toMatchObject({
      reason: expect.stringMatching(/levels/),
    });
    expect(readPiece({ line: 1, bytes: Buffer.from(deep.slice(1, -1)) }, 'in')).toMatchObject({ line: 1 });
  });

  it('keep names such as __proto__ as data', async () => {
    const [record] = await read('{"metadata":{"__proto__":{"x":1}}}\n');
    expect(record).toMatchObject({ text: '{"metadata":{"__proto__":{"x":1}}}' });
  });
});

describe('the format', () => {
  it.each([
    ['{"a":1}\n', 'in', [{ a: 1 }]],
    ['\ufeff [{"a":1}]', 'in.json', [{ a: 1 }]],
    ['runId,action\nr,x\n', 'in', [{ runId: 'r', action: 'x' }]],
    ['action,runId\nx,r', 'in.csv', [{ action: 'x', runId: 'r' }]],
    ['', 'in', []],
    ['\n\n', 'in', []],
  ])('of %j is told', async (text, name, expected) => {
    expect(values(await read(text, 'auto', name))).toEqual(expected);
  });

  it('that nothing tells is asked for', async () => {
    await expect(read('hello world\n')).rejects.toThrow(
      'in:1: expected events as NDJSON, a JSON array or CSV',
    );
  });
});

describe('CSV', () => {
  const rows = async (text: string) => values(await all(csvRecords(chunked(text), 'in')));

  it('fills fields and dotted members, reads JSON cells, and leaves out empty ones', async () => {
    const header = 'runId,actor.name,actor.role,resource,metadata.a.b,metadata,causedBy';
    expect(
      await rows(`${header}\r\nr,ann,,"{""type"":""tool""}",5,"{""c"":true}",e1;e2\r\nr2,,,,,,"[""e3""]"`),
    ).toEqual([
      {
        runId: 'r',
        actor: { name: 'ann' },
        resource: { type: 'tool' },
        metadata: { c: true, 'a.b': '5' },
        causedBy: ['e1', 'e2'],
      },
      { runId: 'r2', causedBy: ['e3'] },
    ]);
  });

  it('numbers rows by the line they begin on, through line breaks in cells and blank lines', async () => {
    const records = await all(csvRecords(chunked('runId,action\n"a\nb",x\n\nr,"y\n"\nr,z\n'), 'in'));
    expect(records.map(({ line }) => line)).toEqual([2, 5, 7]);
  });

  it.each([
    ['runId,nonsense\n', /^in:1: expected columns named .* got "nonsense"/],
    ['runId,runId\n', /^in:1: expected each column once/],
    ['runId,actor.\n', /^in:1: expected columns/],
    ['runId,action\nr\n', /^in:2: /],
    ['runId,action\nr,"x\n', /^in:2: /],
  ])('refuses %j', async (text, message) => {
    await expect(rows(text)).rejects.toThrow(message);
  });

  it('refuses what is not UTF-8, near the line', async () => {
    const bytes = Buffer.concat([Buffer.from('runId,action\nr,'), Buffer.from([0xff]), Buffer.from('\n')]);
    await expect(all(csvRecords(chunked(bytes), 'in'))).rejects.toThrow(/UTF-8/);
  });
});
