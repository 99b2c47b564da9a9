/**
 * Each table of either engine: fsck reports it when it is emptied, or nothing can say what it had. A new table fails here
 * until it is in one of the two lists.
 */
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { migrate } from '../../../src/store/file/migrate.ts';
import { mainMigrations } from '../../../src/store/file/schema/tables.ts';
import { uncheckedTables } from '../../../src/store/fsck/tables.ts';
import { tables as ofPostgres } from '../../../src/store/postgres/schema/rules.ts';
import { emptiedTables, elsewhere } from '../support/emptied.ts';

function ofSqlite(): string[] {
  const db = new Database(':memory:');
  migrate(db, mainMigrations);
  const names = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .pluck()
    .all();
  db.close();
  return names;
}

it('every table is compared by fsck, or its list says why nothing can be', () => {
  const all = new Set([...ofSqlite(), ...Object.keys(ofPostgres)]);
  const named = [...Object.keys(emptiedTables), ...Object.keys(elsewhere), ...Object.keys(uncheckedTables)];
  expect(named.toSorted()).toEqual([...all].toSorted());
});
