/** Round trips: what is sent in binary is what is stored; what fails leaves a connection that goes on. */
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrayOf } from '../../../../src/store/postgres/connection/arrays.ts';
import type { Position } from '../../../../src/store/write/commit-tables.ts';
import { pipeline } from '../../../../src/store/postgres/connection/wire.ts';
import { sql, step } from '../../../../src/store/read/queries.ts';
import { missing, server } from '../support/described.ts';

let client: Client;
beforeAll(async () => {
  if (missing !== null) return;
  client = new Client({ connectionString: server.url });
  await client.connect();
});
afterAll(() => client?.end());

describe.skipIf(missing !== null)('an array', () => {
  const elements = {
    text: sql<{ v: unknown }>('SELECT v FROM unnest($1::text[]) WITH ORDINALITY AS u(v, n) ORDER BY n'),
    bytea: sql<{ v: unknown }>('SELECT v FROM unnest($1::bytea[]) WITH ORDINALITY AS u(v, n) ORDER BY n'),
    int4: sql<{ v: unknown }>('SELECT v FROM unnest($1::int4[]) WITH ORDINALITY AS u(v, n) ORDER BY n'),
    int8: sql<{ v: unknown }>('SELECT v FROM unnest($1::int8[]) WITH ORDINALITY AS u(v, n) ORDER BY n'),
  };
  const read = async (type: keyof typeof elements, cells: Parameters<typeof arrayOf>[1]) =>
    (await pipeline(client, [step<{ v: unknown }>(elements[type], arrayOf(type, cells))]))[0].rows.map(
      ({ v }) => v,
    );
  const runs = { numRuns: 60 };

  it('an array of texts is read back unchanged, with nulls, quotes, braces and signs', async () => {
    const text = fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\0', ''));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text)), async (texts) => {
        expect(await read('text', texts)).toEqual(texts);
      }),
      runs,
    );
    expect(await read('text', ['{"a,b"}', 'NULL', '', '\\', null])).toEqual([
      '{"a,b"}',
      'NULL',
      '',
      '\\',
      null,
    ]);
  });

  it('an array of integers is exact up to 2^53', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.maxSafeInteger()), async (numbers) => {
        expect(await read('int8', numbers)).toEqual(numbers.map((each) => each + 0));
      }),
      runs,
    );
    expect(await read('int4', [0, -1, 2 ** 31 - 1])).toEqual([0, -1, 2 ** 31 - 1]);
  });

  it('an array of bytes is read back unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array()), async (values) => {
        expect(await read('bytea', values)).toEqual(values.map((each) => Buffer.from(each)));
      }),
      runs,
    );
  });

  it('an array of positions contains project and index up to their largest values', async () => {
    const split = sql<{ project: number; idx: number }>(
      `SELECT p >> 36 AS project, p & ${2 ** 36 - 1} AS idx FROM unnest($1::int8[]) WITH ORDINALITY AS u(p, n) ORDER BY n`,
    );
    const positions: Position[] = [
      { project: 1, index: 0 },
      { project: 1, index: 2 ** 32 },
      { project: 2 ** 17, index: 2 ** 36 - 1 },
      { project: 2 ** 27 - 1, index: 2 ** 36 - 1 },
    ];
    const [{ rows }] = await pipeline(client, [step(split, arrayOf('position', positions))]);
    expect(rows).toEqual(positions.map(({ project, index }) => ({ project, idx: index })));
  });
});

describe.skipIf(missing !== null)('a pipeline', () => {
  const give = sql<{ n: number }>('SELECT $1::int8 AS n');
  const divide = sql<{ n: number }>('SELECT 1 / $1::int8 AS n');
  const broken = sql('SELECT FROM no_such_table');

  it('a pipeline returns the result of each step, also of a repeated statement', async () => {
    const results = await pipeline(client, [step(give, 1), step(divide, 1), step(give, 2)]);
    expect(results.map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ n: 1 }], [{ n: 2 }]]);
  });

  it('a pipeline is one transaction that is rolled back when a step fails', async () => {
    await client.query('CREATE TEMPORARY TABLE seen (n int)');
    const insert = sql('INSERT INTO seen VALUES ($1)');
    await expect(pipeline(client, [step(insert, 1), step(divide, 0), step(insert, 2)])).rejects.toMatchObject(
      {
        code: '22012',
      },
    );
    const count = sql<{ n: number }>('SELECT count(*) AS n FROM seen');
    expect((await pipeline(client, [step(count)]))[0].rows).toEqual([{ n: 0 }]);
    expect((await pipeline(client, [step(insert, 1)]))[0].count).toBe(1);
  });

  it('a connection stays usable after a pipeline with a step that could not be prepared', async () => {
    const fresh = sql<{ n: number }>('SELECT 7::int8 AS n');
    for (let time = 0; time < 2; time += 1) {
      await expect(pipeline(client, [step(give, 1), step(broken), step(fresh)])).rejects.toMatchObject({
        code: '42P01',
      });
      expect((await pipeline(client, [step(give, 3)]))[0].rows).toEqual([{ n: 3 }]);
    }
    expect((await pipeline(client, [step(fresh)]))[0].rows).toEqual([{ n: 7 }]);
  });
});
