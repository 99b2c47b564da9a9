/** A database of the second version gets the counters by time from its rows. */
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { mainMigrations } from '../../../../src/store/file/schema/tables.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { schemaVersion } from '../../../../src/store/file/migrate.ts';
import { event, request, startMs, stored } from '../../support/fixture.ts';
import { makeOlder } from '../../support/older.ts';
import { TestPlane } from '../../support/plane.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

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
    makeOlder(plane.dataDir, 2);
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
