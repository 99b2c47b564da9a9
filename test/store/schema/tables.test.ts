/** What becomes of the tables that both engines share; their migrations run in the tests of each engine. */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { mainMigrations } from '../../../src/store/file/schema/tables.ts';
import { migrations } from '../../../src/store/postgres/schema/tables.ts';
import { versionColumns } from '../../../src/store/rules/policy-row.ts';
import { indexTables } from '../../../src/store/schema/index-map.ts';
import { intakeTable } from '../../../src/store/schema/intake.ts';
import { changesVersionNow } from '../../../src/store/schema/signed-approvals.ts';
import { otherTables, peopleTables } from '../../../src/store/schema/tables.ts';
import { inPostgres, inSqlite } from '../../../src/store/schema/words.ts';

const shared = peopleTables + otherTables + indexTables + intakeTable;
const namesIn = (pattern: RegExp): string[] => [...shared.matchAll(pattern)].map(([, name = '']) => name);

describe('a table for both engines', () => {
  it('a shared table is strict in SQLite, uses its types alone, and is clustered when declared', () => {
    const db = new Database(':memory:');
    db.exec(inSqlite(shared));
    const made = db
      .prepare<[], { name: string; strict: number; wr: number }>(
        "SELECT name, strict, wr FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%'",
      )
      .all();
    const types = db
      .prepare<[], { type: string }>(
        'SELECT DISTINCT c.type FROM sqlite_schema t JOIN pragma_table_info(t.name) c ORDER BY c.type',
      )
      .all();
    db.close();
    expect(made.map(({ name }) => name).toSorted()).toEqual(namesIn(/CREATE TABLE (\w+)/g).toSorted());
    expect(made.filter(({ strict }) => strict !== 1)).toEqual([]);
    const clustered = namesIn(/CREATE TABLE (\w+) \([^;]*\n\) WITHOUT ROWID/g);
    expect(clustered.length).toBeGreaterThan(5);
    expect(
      made
        .filter(({ wr }) => wr === 1)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(clustered.toSorted());
    expect(types.map(({ type }) => type)).toEqual(['BLOB', 'INTEGER', 'TEXT']);
    expect(inSqlite(shared)).not.toMatch(/fillfactor|COLLATE|octet_length/);
  });

  it('a shared table has no SQLite keyword in PostgreSQL and keeps its fill factor', () => {
    const text = inPostgres(shared);
    expect(text).not.toMatch(/ROWID|STRICT/);
    expect(text).toMatch(/\n\) WITH \(fillfactor = 70\);/);
  });
});

describe('migrations', () => {
  it('migrations of both engines have the same versions, one after the other', () => {
    const versions = migrations.map(({ version }) => version);
    expect(versions).toEqual(mainMigrations.map(({ version }) => version));
    expect(versions).toEqual(versions.map((_, at) => at + 1));
  });

  it('the rule that a policy version never changes names each of its columns', () => {
    const named = Object.values(versionColumns.names).filter((column) =>
      changesVersionNow.includes(`NEW.${column} `),
    );
    expect(named).toEqual(Object.values(versionColumns.names));
  });
});
