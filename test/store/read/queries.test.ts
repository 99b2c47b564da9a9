/** What becomes of one text on each engine; `test/store/suite/` runs the reads themselves on both. */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import type { Connection } from '../../../src/store/file/connection.ts';
import { both, each, enter, firstOf, rowsOf, sql, step } from '../../../src/store/read/queries.ts';
import { queriesOf } from '../../../src/store/sqlite/read/queries.ts';

const scope = { duty: 'check' } as const;
const pair = both<{ one: string; other: string }>(`SELECT $2::text AS one, $1 || $2::text AS other`);
const total = both<{ n: number }>('SELECT n FROM count');

describe('a statement for both engines', () => {
  let db: Connection;
  beforeAll(() => {
    db = new Database(':memory:');
    db.exec('CREATE TABLE count (n INTEGER); INSERT INTO count VALUES (1)');
  });
  afterAll(() => db.close());
  const numberOf = (projectId: string): number => {
    if (projectId === 'prj_a') return 7;
    throw new GovError('NOT_FOUND', `no project ${projectId}`);
  };

  it('a statement for both engines binds each value at its number and drops the casts', async () => {
    const [{ rows }] = await queriesOf(db, numberOf).read(scope, [step(pair, 'a', 'b')]);
    expect(rows).toEqual([{ one: 'b', other: 'ab' }]);
    expect(pair.text).toContain('$1 || $2::text');
  });

  it('a statement may have a different text for each engine', async () => {
    const differs = each<{ n: number }>({ postgres: 'SELECT 1 OFFSET 0', sqlite: 'SELECT $1 + 1 AS n' });
    const [{ rows }] = await queriesOf(db, numberOf).read(scope, [step(differs, 1)]);
    expect(rows).toEqual([{ n: 2 }]);
    expect(differs.text).toBe('SELECT 1 OFFSET 0');
  });

  it('SQLite returns no rows for steps that only row-level security needs', async () => {
    const steps = [step(enter("SELECT set_config('gov.lookup', $1, true)"), 'x'), step(total)] as const;
    const [entered, { rows }] = await queriesOf(db, numberOf).readAtOnce(scope, steps);
    expect(entered.rows).toEqual([]);
    expect(rows).toEqual([{ n: 1 }]);
  });

  it('SQLite refuses a statement that exists for PostgreSQL alone', async () => {
    const asked = queriesOf(db, numberOf).read(scope, [step(sql('SELECT now()'))]);
    await expect(asked).rejects.toThrow('expected a statement for SQLite');
  });

  it('a statement gets the number of the project first, and fails for an unknown project', async () => {
    const own = both<{ own: number; more: string }>('SELECT $1 AS own, $2 AS more');
    const queries = queriesOf(db, numberOf);
    expect(await rowsOf(queries, 'prj_a', own, 'x')).toEqual([{ own: 7, more: 'x' }]);
    await expect(rowsOf(queries, 'prj_b', own, 'x')).rejects.toThrow('no project prj_b');
  });

  it('firstOf returns the first row, or null', () => {
    expect(firstOf([{ n: 1 }, { n: 2 }], ({ n }) => n)).toBe(1);
    expect(firstOf<{ n: number }, number>([], ({ n }) => n)).toBeNull();
  });
});
