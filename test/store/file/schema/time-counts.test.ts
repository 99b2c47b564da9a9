/** A database of the second version gets the counters by time from its rows. */
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { mainMigrations } from '../../../../src/store/file/schema/tables.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { migrate, schemaVersion } from '../../../../src/store/file/migrate.ts';
import { event, request, startMs, stored } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

const older = `
DROP TABLE event_count;
DROP TABLE document;
DROP TABLE event_term;
DROP TABLE event_term_head;
DROP TABLE intake_fact;
DROP TABLE run_span;
DROP INDEX run_event_time;
DROP INDEX run_system;
DROP INDEX run_type_runs;
DROP TABLE job;
DROP TRIGGER approval_update;
DROP INDEX approval_call;
ALTER TABLE approval DROP COLUMN used_ms;
ALTER TABLE approval DROP COLUMN used_by;
ALTER TABLE approval DROP COLUMN call_key;
DROP TRIGGER policy_version_update;
ALTER TABLE policy_version DROP COLUMN require_signed;
PRAGMA user_version = 2;
`;

/** A trigger, table or index in the words of the second version. */
function textThen(name: string): string {
  const fresh = new Database(':memory:');
  migrate(fresh, mainMigrations.slice(0, 2));
  const sql = fresh
    .prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?')
    .pluck()
    .get(name);
  fresh.close();
  return `${sql};`;
}

describe('a database of the second version', () => {
  it('fsck accepts a database of the second version, and the start counts its events by time', async () => {
    const plane = await new TestPlane().filled(300);
    undo.push(() => plane.drop());
    const { main } = storeFiles(plane.dataDir);
    const rows = (table: string): unknown[] => {
      const db = new Database(main);
      const all = db.prepare(`SELECT * FROM ${table}`).all();
      db.close();
      return all;
    };
    const before = [rows('event_count'), rows('run_span')];
    expect(before.map(({ length }) => length > 3)).toEqual([true, false]);
    const db = new Database(main);
    const parts = ['job', 'job_result', 'job_age', 'job_due', 'approval_update', 'policy_version_update'];
    db.exec(older + parts.map(textThen).join('\n'));
    db.close();
    expect(await plane.fsck()).toMatchObject({ ok: true, problems: [] });
    const store = plane.open();
    expect([rows('event_count'), rows('run_span')]).toEqual(before);
    expect(await store.countEvents('prj_a', { startMs: 1 })).toBe(300);
    const at = { startMs: startMs + 3, endMs: startMs + 3 };
    const then = await store.countEvents('prj_a', at);
    const timestamp = new Date(at.startMs).toISOString();
    await stored(store, request([event({ timestamp })]));
    expect(await store.countEvents('prj_a', at)).toBe(then + 1);
    await store.close();
    const again = new Database(main);
    expect(schemaVersion(again)).toBe(mainMigrations.length);
    again.close();
    expect(await plane.fsck()).toMatchObject({ ok: true, problems: [] });
  });
});
