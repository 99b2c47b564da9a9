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
  it('lines are numbered, and blank lines are left out', async () => {
    expect(shown(await all(lines(chunked('\n1\r\n\n  \n2'))))).toEqual([
      [2, '1'],
      [5, '2'],
    ]);
  });

  it('lines are the same for any division into chunks', async () => {
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

  it('a line that is too long is skipped in limited memory and refused, and the next line is read', async () => {
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
  it('array elements are cut at the commas between them, with the lines they begin on', async () => {
    expect(shown(await all(elements(chunked(text))))).toEqual([
      [2, '{"a":"],[{\\"\\\\"}'],
      [4, '[1,[2]]'],
      [4, '"x,]"'],
      [5, '7'],
      [5, 'null'],
    ]);
    expect(await all(elements(chunked(' [ \n ] ')))).toEqual([]);
  });

  it('array elements equal the values of the array for any layout and any chunks', async () => {
    const input = fc.tuple(
      fc.array(fc.jsonValue()),
      fc.constantFrom(undefined, 1, '\t'),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(input, async ([array, indent, sizes]) => {
        const pieces = await all(elements(chunked(JSON.stringify(array, null, indent), sizes)));
        expect(pieces.map(({ bytes }) => JSON.parse(String(bytes)))).toEqual(
          JSON.parse(JSON.stringify(array)),
        );
      }),
    );
  });

  it.each([
    ['[{"a":1},\n', 1, 2, 'expected the end of the array'],
    ['[1,,2]', 2, 1, 'expected an event between commas'],
    ['[1,\n]', 1, 2, 'expected an event between commas'],
    ['[1]\n[2]', 1, 2, 'expected the end of the input after the array'],
    ['7', 0, 1, 'expected a JSON array'],
  ])(
    'the whole elements of %j are read, and the error has its line',
    async (broken, whole, line, message) => {
      const pieces = await all(elements(chunked(broken)));
      expect(pieces.filter(({ fault }) => fault === undefined).length).toBe(whole);
      expect(pieces.find(({ fault }) => fault !== undefined)).toMatchObject({
        line,
        fault: expect.stringContaining(message),
      });
    },
  );

  it('array elements that are not JSON are refused alone, with their line', async () => {
    expect(await read('[\n{"a":1},\n{"a":},\n{"a":2}]')).toMatchObject([
      { line: 2, event: { a: 1 } },
      { line: 3, reason: expect.stringMatching(/^invalid_json: expected/) },
      { line: 4, event: { a: 2 } },
    ]);
  });
});

describe('records', () => {
  it('records that are not JSON or not UTF-8 are refused alone, with their line', async () => {
    const text = Buffer.from('{"a":1}\nWarning: x\n{"a":"\xff"}\n{"a":2}\n{"a":', 'latin1');
    expect(await read(text)).toMatchObject([
      { line: 1, event: { a: 1 } },
      { line: 2, reason: expect.stringMatching(/^invalid_json: expected/) },
      { line: 3, reason: expect.stringMatching(/^not_utf8: expected UTF-8.*Latin-1/) },
      { line: 4, event: { a: 2 } },
      { line: 5, reason: expect.stringMatching(/^invalid_json: expected a whole line/) },
    ]);
  });

  it('a record over several lines has the line of its fault, and is not called cut off without reason', async () => {
    expect(await read('{\n"a": 1,\n}\n{"a":NaN}')).toMatchObject([
      { line: 1, reason: "invalid_json: expected a member name, got '}' in line 3" },
      { line: 4, reason: expect.stringMatching(/^invalid_json: expected a JSON value/) },
    ]);
    expect(await read('[{},\n\n {"a":\n}]')).toMatchObject([
      { line: 1 },
      { line: 3, reason: "invalid_json: expected a JSON value, got '}' in line 4" },
    ]);
  });

  it('records after a first line of other text are read', async () => {
    expect(await read('Warning: x\n{"a":1}\n')).toMatchObject([{ line: 1, reason: /./ }, { line: 2 }]);
  });

  const pretty = '{\n "a": 1,\n "b": {"c": [1,\n2]}\n}\n';
  it.each([
    ['of a batch body', '{"events":[{"a":1},\n{"b":2}]}', [1, 2]],
    ['of batch bodies, one a line', '{"events":[{"a":1}]}\n{"events":[{"b":2}]}\n', [1, 2]],
    ['after record separators', '\x1e{"a":1}\n\x1e{"b":\n2}\n', [1, 2]],
    ['over several lines', `${pretty}${pretty}`, [1, 6]],
  ])('records %s are read', async (_, text, lines) => {
    for (const sizes of [[text.length], [1], [3]]) {
      const records = await all(
        readRecords({ name: 'in', path: null, size: null }, chunked(text, [text.length, ...sizes]), 'auto'),
      );
      expect(records.map(({ line }) => line)).toEqual(
        text.includes('events') ? [1, expect.anything()] : lines,
      );
      expect(records.every((record) => 'event' in record)).toBe(true);
    }
  });

  it('records over several lines are read on after one that does not end', async () => {
    expect(await read(`{oops\n${pretty}stray\n{"x":"\n${pretty}`)).toMatchObject([
      { line: 1, reason: /./ },
      { line: 2, event: { a: 1 } },
      { line: 7, reason: /./ },
      { line: 8, reason: /./ },
      { line: 9, event: { a: 1 } },
    ]);
  });

  it.each(['utf16le', 'utf-16be'])(
    'records in %s are read, with and without a byte order mark',
    async (encoding) => {
      for (const mark of ['\ufeff', '']) {
        const bytes = Buffer.from(`${mark}{"a":"Zoë"}\r\n{"a":2}\r\n`, 'utf16le');
        if (encoding === 'utf-16be') bytes.swap16();
        expect(await read(bytes)).toMatchObject([{ event: { a: 'Zoë' } }, { event: { a: 2 } }]);
      }
    },
  );

  it('JSON records that would make a body invalid are refused alone', async () => {
    const records = await read(
      '{"a":1,"a":2}\n{"a":"\\ud800"}\n{"a":"\\u0000"}\n{"a":12345678901234567890}\n{"a":1}\n',
    );
    expect(values(records).slice(0, 4)).toEqual(Array(4).fill(expect.stringMatching(/^unsafe_json: /)));
    expect(records[4]).toMatchObject({ line: 5, event: { a: 1 } });
    const deep = `${'['.repeat(31)}${']'.repeat(31)}`;
    expect(readPiece({ line: 1, bytes: Buffer.from(deep) })[0]).toMatchObject({
      reason: expect.stringMatching(/levels/),
    });
    expect(readPiece({ line: 1, bytes: Buffer.from(deep.slice(1, -1)) })[0]).toMatchObject({ line: 1 });
  });

  it('records keep names such as __proto__ as data', async () => {
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
  ])('the format of %j is detected', async (text, name, expected) => {
    expect(values(await read(text, 'auto', name))).toEqual(expected);
  });

  it('an undetectable format is reported with the expected formats', async () => {
    const file = { name: 'in', path: '/in', size: 12 };
    await expect(all(readRecords(file, chunked('hello world\n'), 'auto'))).rejects.toThrow(
      'in:1: expected events as NDJSON, a JSON array or CSV',
    );
    // the writer of a pipe must not get SIGPIPE after a refusal
    expect(await read('hello world\n')).toMatchObject([{ line: 1, reason: /./ }]);
  });
});

describe('CSV', () => {
  const rows = async (text: string) => values(await all(csvRecords(chunked(text), 'in')));

  it('CSV fills fields and dotted members, reads JSON cells, and leaves out empty ones', async () => {
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

  it('CSV rows are numbered by the line they begin on, with line breaks in cells and blank lines', async () => {
    const records = await all(csvRecords(chunked('runId,action\n"a\nb",x\n\nr,"y\n"\nr,z\n'), 'in'));
    expect(records.map(({ line }) => line)).toEqual([2, 5, 7]);
  });

  it.each([
    ['runId,nonsense\n', /^in:1: expected columns named .* got "nonsense"/],
    ['runId,runId\n', /^in:1: expected each column once/],
    ['runId,actor.\n', /^in:1: expected columns/],
  ])('CSV refuses %j', async (text, message) => {
    await expect(rows(text)).rejects.toThrow(message);
  });

  it('CSV rows that cannot be read are refused alone, with their line', async () => {
    const text = 'runId,action\nr,1\nr\nr,2\nr,Zo\xeb\nr,3\nr,"x\n';
    const records = await all(csvRecords(chunked(Buffer.from(text, 'latin1')), 'in'));
    expect(records.toSorted((a, b) => a.line - b.line)).toMatchObject([
      { line: 2, event: { action: '1' } },
      { line: 3, reason: expect.stringMatching(/^invalid_csv: /) },
      { line: 4, event: { action: '2' } },
      { line: 5, reason: expect.stringMatching(/^not_utf8: /) },
      { line: 6, event: { action: '3' } },
      { line: 7, reason: expect.stringMatching(/^invalid_csv: /) },
    ]);
  });

  it.each([
    ['runId;action;metadata.amount\r\nr;x;1,50\r\n', 2],
    ['sep=;\r\nrunId;action;metadata.amount\r\nr;x;1,50\r\n', 3],
    ['sep=|\nrunId|action|metadata.amount\nr|x|1,50\n', 3],
    ['runId\taction\tmetadata.amount\nr\tx\t1,50\n', 2],
  ])('CSV is read with other delimiters, as in %j', async (text, line) => {
    expect(await read(text)).toMatchObject([
      { line, event: { runId: 'r', action: 'x', metadata: { amount: '1,50' } } },
    ]);
  });

  it.each([
    ['runId,actor,actor.name\nr,Bob,Zoe\n', '/actor expected either the column actor or its members'],
    ['runId,actor.name,actor\nr,Zoe,Bob\n', '/actor expected either the column actor or its members'],
    ['runId,actor,actor.name\nr,"{""name"":""Bob""}",Zoe\n', '/actor/name expected one value, got two'],
  ])('CSV refuses a row with two values for one member, as in %j', async (text, reason) => {
    expect(await read(text)).toEqual([{ line: 2, reason: expect.stringContaining(reason) }]);
  });
});
