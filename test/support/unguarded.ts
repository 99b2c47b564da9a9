import type { Database } from 'better-sqlite3';

/** Changes a database below its guards: `work` runs without the triggers, which are put back as they were. */
export function unguarded(db: Database, work: () => void): void {
  const triggers = db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  work();
  for (const { sql } of triggers) db.exec(sql);
}
