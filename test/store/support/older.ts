/** Makes the database of an older release from one of this release, with the rows that the older tables can take. */
import { renameSync, rmSync } from 'node:fs';
import { migrate } from '../../../src/store/file/migrate.ts';
import { connect } from '../../../src/store/file/connection.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { mainApplicationId, mainMigrations } from '../../../src/store/file/schema/tables.ts';

interface Entry {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

/** Nobody may have the database open. */
export function makeOlder(dataDir: string, version: number): void {
  const { main } = storeFiles(dataDir);
  const path = `${main}.older`;
  const older = connect(path, { applicationId: mainApplicationId });
  migrate(older, mainMigrations.slice(0, version));
  const triggers = older
    .prepare<[], Entry>("SELECT type, name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) older.exec(`DROP TRIGGER ${name}`);
  older.pragma('foreign_keys = 0');
  older.exec(`ATTACH '${main}' AS newer`);
  const columns = (schema: string, table: string): string[] =>
    older
      .prepare<[string, string], { name: string }>('SELECT name FROM pragma_table_info(?, ?)')
      .all(table, schema)
      .map(({ name }) => name);
  const tables = older
    .prepare<[], Entry>(
      "SELECT type, name, sql FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  for (const { name } of tables) {
    const newer = columns('newer', name);
    const shared = columns('main', name).filter((each) => newer.includes(each));
    if (shared.length === 0) continue;
    older.exec(
      `DELETE FROM main.${name}; INSERT INTO main.${name} (${shared}) SELECT ${shared} FROM newer.${name}`,
    );
  }
  for (const { sql } of triggers) older.exec(sql);
  older.exec('DETACH newer');
  older.close();
  for (const end of ['', '-wal', '-shm']) rmSync(`${main}${end}`, { force: true });
  renameSync(path, main);
}
