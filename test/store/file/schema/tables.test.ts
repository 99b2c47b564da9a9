/** Append-only by trigger, and migrations that happen whole or not at all. */
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connect, type Connection } from '../../../../src/store/file/connection.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { migrate, schemaVersion } from '../../../../src/store/file/migrate.ts';
import { positionOf } from '../../../../src/store/file/position.ts';
import { mainApplicationId, mainMigrations } from '../../../../src/store/file/schema/tables.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { dropFolder, event, newFolder, request, startMs, stored } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';
import { change, digestOf, session, toldTenant } from '../../support/tenants.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

/** A test that a statement is refused and changes nothing. The tests of a group share one plane. */
function refusing(filled: () => Promise<TestPlane>) {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await filled();
  });
  afterAll(() => plane.drop());
  return async (statement: string, message: string): Promise<void> => {
    const db = connect(storeFiles(plane.dataDir).main, { applicationId: mainApplicationId });
    expect(() => db.exec(statement)).toThrow(message);
    db.close();
    expect((await plane.fsck()).problems).toEqual([]);
  };
}

describe('the tables of the log', () => {
  const refuses = refusing(() => new TestPlane().filled(60));
  it.each([
    ["UPDATE leaf SET record = '{}' WHERE idx = 1", 'leaf is append-only'],
    ['DELETE FROM leaf WHERE idx = 1', 'leaf is append-only'],
    [
      `INSERT OR REPLACE INTO leaf (position, record) VALUES (${positionOf(1, 1)}, '{}')`,
      'leaf is append-only',
    ],
    ["UPDATE meter SET record = '{}'", 'meter is append-only'],
    ['DELETE FROM meter', 'meter is append-only'],
    ['UPDATE checkpoint SET size = 1', 'checkpoint is append-only'],
    ['DELETE FROM checkpoint', 'checkpoint is append-only'],
    ['UPDATE leaf SET position = position + 1000', 'leaf is append-only'],
    ["UPDATE body SET disclosures = '[]'", 'only loses what an erasure names'],
    ['DELETE FROM body', 'body is append-only'],
    ['UPDATE run_event SET idx = 7', 'run_event is append-only'],
    ['DELETE FROM run_event', 'run_event is append-only'],
    ['DELETE FROM client_event', 'client_event is append-only'],
    ['DELETE FROM project', 'project is append-only'],
    ['UPDATE project SET audit_origin = 1', 'project is append-only'],
    ['UPDATE head SET size = size - 1', 'never goes backwards'],
    ['UPDATE head SET last_ms = last_ms - 1', 'never goes backwards'],
    ['DELETE FROM head', 'head is append-only'],
    ['UPDATE tile SET hashes = substr(hashes, 1, 32)', 'only grows'],
    ['UPDATE tile SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB)', 'only grows'],
    ['UPDATE tile SET n = n + 1', 'only grows'],
    ['DELETE FROM tile', 'tile is append-only'],
  ])('the tables of the log refuse %s', refuses);

  it('the tables let a tile grow and let an erasure remove fields from a body', async () => {
    const plane = await new TestPlane().filled(60);
    undo.push(() => plane.drop());
    const db = new Database(storeFiles(plane.dataDir).main);
    db.exec('UPDATE tile SET hashes = CAST(hashes || zeroblob(32) AS BLOB) WHERE tree = 0 AND part = 1');
    expect(
      db.prepare("UPDATE body SET disclosures = '[]', erased = '[[60]]' WHERE idx = 1").run().changes,
    ).toBe(1);
    db.close();
  });
});

describe('the tables of governance', () => {
  const policy = 'revision = revision + 1';
  const decided = "outcome = 'approved', decided_by = 'k', decided_ms = 1";
  const refuses = refusing(async () => (await new TestPlane().filled(10)).governed());
  it.each([
    ['UPDATE decided SET idx = 7', 'decided is append-only'],
    ['DELETE FROM decided', 'decided is append-only'],
    ['UPDATE run_snapshot SET run_id = 7', 'run_snapshot is append-only'],
    ['DELETE FROM run_snapshot', 'run_snapshot is append-only'],
    ["UPDATE policy SET status = 'archived'", 'raises its revision by one'],
    ['UPDATE policy SET revision = revision + 2', 'raises its revision by one'],
    [`UPDATE policy SET ${policy}, latest_version = 1`, 'raises its revision by one'],
    [`UPDATE policy SET ${policy}, created_by = 'me'`, 'raises its revision by one'],
    [
      `UPDATE policy SET ${policy}, policy_id = 'pol_9' WHERE policy_id = 'pol_1'`,
      'raises its revision by one',
    ],
    [`UPDATE policy SET ${policy}, active_version = NULL WHERE status = 'active'`, 'CHECK constraint failed'],
    ['DELETE FROM policy', 'policy is append-only'],
    ['UPDATE policy_version SET published = 0 WHERE published = 1', 'never changes but to be published'],
    ['UPDATE policy_version SET published = 1 WHERE published = 1', 'never changes but to be published'],
    ["UPDATE policy_version SET published = 1, action = 'allow'", 'never changes but to be published'],
    ["UPDATE policy_version SET published = 1, condition = '{}'", 'never changes but to be published'],
    ['UPDATE policy_version SET published = 1, severity = NULL', 'never changes but to be published'],
    ["UPDATE policy_version SET action = 'allow'", 'never changes but to be published'],
    ['DELETE FROM policy_version', 'policy_version is append-only'],
    ["UPDATE approval SET outcome = 'approved' WHERE outcome = 'denied'", 'is decided once'],
    [`UPDATE approval SET ${decided}, expires_ms = 0`, 'is decided once'],
    [`UPDATE approval SET ${decided}, run_id = 'r2'`, 'is decided once'],
    ['UPDATE approval SET expires_ms = 0', 'is decided once'],
    ["UPDATE approval SET outcome = 'approved' WHERE outcome IS NULL", 'CHECK constraint failed'],
    [
      "UPDATE approval SET used_by = 'pev_1', used_ms = 1 WHERE outcome = 'denied'",
      'CHECK constraint failed',
    ],
    ["UPDATE approval SET used_by = 'pev_1', used_ms = 1 WHERE outcome IS NULL", 'is decided once'],
    [`UPDATE approval SET ${decided}, used_by = 'pev_1', used_ms = 1`, 'is decided once'],
    ["UPDATE approval SET call_key = 'x'", 'is decided once'],
    ['DELETE FROM approval', 'approval is append-only'],
  ])('the tables of governance refuse %s', refuses);

  it('the tables let a version be published, and an open approval be decided and then used once', async () => {
    const plane = await (await new TestPlane().filled(10)).governed();
    undo.push(() => plane.drop());
    const db = connect(storeFiles(plane.dataDir).main, { applicationId: mainApplicationId });
    const changes = (sql: string): number => db.prepare(sql).run().changes;
    expect(changes('UPDATE policy_version SET published = 1 WHERE published = 0')).toBe(2);
    expect(changes(`UPDATE approval SET ${decided} WHERE outcome IS NULL`)).toBe(1);
    const use = "used_by = 'pev_1', used_ms = 2";
    const approved = "WHERE outcome = 'approved'";
    expect(() => changes(`UPDATE approval SET ${use}, comment = 'x' ${approved}`)).toThrow('then used once');
    expect(changes(`UPDATE approval SET ${use} ${approved}`)).toBe(1);
    expect(() => changes(`UPDATE approval SET used_by = 'pev_2' ${approved}`)).toThrow('then used once');
    expect(() => changes(`UPDATE approval SET used_by = NULL, used_ms = NULL ${approved}`)).toThrow();
    db.close();
  });
});

describe('the tables of tenants', () => {
  const filled = async (): Promise<TestPlane> => {
    const plane = await new TestPlane().filled(10);
    const store = plane.open();
    await store.createTenant(toldTenant('x'));
    await store.claimInstallation('keys');
    const open: Effect = { kind: 'openSession', session: session('x') };
    const other = session('x', { digest: digestOf('ended'), endedMs: startMs });
    await stored(store, change('prj_x_live', open, { kind: 'openSession', session: other }));
    await stored(store, request([event()], { projectId: 'prj_x_live' }));
    await store.close();
    return plane;
  };

  const refuses = refusing(filled);
  it.each([
    ["UPDATE period SET base = '{}'", 'period is append-only'],
    ["UPDATE period SET month = '2027-01'", 'period is append-only'],
    ['DELETE FROM period', 'period is append-only'],
    ["INSERT INTO period VALUES (1, 'May', '{}')", 'CHECK constraint failed'],
    ["UPDATE installation SET text = 'x'", 'installation is append-only'],
    ['DELETE FROM installation', 'installation is append-only'],
    ["INSERT INTO installation VALUES (2, 'x')", 'CHECK constraint failed'],
    ["INSERT OR REPLACE INTO installation VALUES (1, 'x')", 'installation is append-only'],
    ['UPDATE organization SET created_ms = 1', 'never changes in organization'],
    ["UPDATE organization SET organization_id = 'org_y'", 'never changes in organization'],
    ['DELETE FROM organization', 'organization stays'],
    ["UPDATE person SET organization_id = 'org_y'", 'never changes in person'],
    ["UPDATE person SET subject = 'y'", 'never changes in person'],
    [
      "INSERT INTO person SELECT 'usr_y', organization_id, issuer, subject, NULL, '', 0 FROM person",
      'UNIQUE',
    ],
    ["UPDATE session SET user_id = 'usr_y'", 'never changes in session'],
    ['UPDATE session SET expires_ms = expires_ms + 1', 'never changes in session'],
    ['UPDATE session SET last_used_ms = last_used_ms - 1', 'never changes in session'],
    ['UPDATE session SET ended_ms = NULL WHERE ended_ms IS NOT NULL', 'never changes in session'],
    ['UPDATE project_profile SET project = 1 WHERE project = 2', 'never changes in project_profile'],
    ["UPDATE project_profile SET environment = 'sandbox'", 'never changes in project_profile'],
    ['DELETE FROM project_profile', 'project_profile stays'],
    ['UPDATE api_key SET project = 1', 'never changes in api_key'],
    ["UPDATE api_key SET key_id = 'key_2'", 'never changes in api_key'],
    ['UPDATE api_key SET digest = (SELECT digest FROM api_key LIMIT 1)', 'UNIQUE'],
    ['DELETE FROM api_key', 'api_key stays'],
  ])('the tables of tenants refuse %s', refuses);

  it('the tables of tenants allow the changes that keys, sessions, projects and homes need', async () => {
    const plane = await filled();
    undo.push(() => plane.drop());
    const db = connect(storeFiles(plane.dataDir).main, { applicationId: mainApplicationId });
    const changes = (sql: string): number => db.prepare(sql).run().changes;
    expect(changes('UPDATE api_key SET revoked_ms = 1')).toBe(2);
    expect(changes('UPDATE session SET ended_ms = 1 WHERE ended_ms IS NULL')).toBe(1);
    expect(changes('DELETE FROM session')).toBe(2);
    expect(changes('UPDATE project_profile SET deleted_ms = 1')).toBe(2);
    expect(changes("UPDATE organization SET home_production = 'prj_x_test'")).toBe(1);
    expect(changes("UPDATE organization SET customer_id = 'cus_1'")).toBe(1);
    db.close();
  });
});

const version = (number: number, sql: string) => ({ version: number, sql });
const first = version(1, 'CREATE TABLE one (a INTEGER) STRICT');
const second = version(2, 'CREATE TABLE two (a INTEGER) STRICT; INSERT INTO one VALUES (2)');

function newDatabase(): Connection {
  const folder = newFolder();
  const db = connect(`${folder}/x.db`, { applicationId: 7 });
  undo.push(() => {
    db.close();
    dropFolder(folder);
  });
  return db;
}

describe('migrations', () => {
  it('migrations run once each, in order, from any earlier version', () => {
    const db = newDatabase();
    migrate(db, [first]);
    expect(schemaVersion(db)).toBe(1);
    migrate(db, [first, second]);
    migrate(db, [first, second]);
    expect(schemaVersion(db)).toBe(2);
    expect(db.prepare('SELECT a FROM one').pluck().all()).toEqual([2]);
  });

  it('the migration to cancelled jobs keeps every job and its indexes, and refuses other words', () => {
    const db = newDatabase();
    const before = mainMigrations.filter(({ version: each }) => each <= 10);
    migrate(db, before);
    const insert = (status: string): string =>
      `INSERT INTO job (project, job_id, type, run_id, request, created_ms, status, attempt, attempts_before, due_ms,
         result_id) VALUES (1, 'job_${status}', 'replay', 'r', '{}', 1, '${status}', 1, 0, 1, 'rpl_${status}')`;
    for (const status of ['pending', 'processing', 'completed', 'failed']) db.exec(insert(status));
    expect(() => db.exec(insert('cancelled'))).toThrow('CHECK constraint failed');
    const rows = () => db.prepare('SELECT * FROM job ORDER BY job_id').all();
    const indexes = () =>
      db
        .prepare(
          "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'job' ORDER BY name",
        )
        .all();
    const kept = [rows(), indexes()];
    migrate(db, mainMigrations);
    expect([rows(), indexes()]).toEqual(kept);
    db.exec(insert('cancelled'));
    expect(() => db.exec(insert('lost'))).toThrow('CHECK constraint failed');
    expect(() => db.exec(insert('failed'))).toThrow('UNIQUE');
  });

  it('a migration that fails leaves the database at the version before', () => {
    const db = newDatabase();
    const broken = version(2, 'CREATE TABLE two (a INTEGER) STRICT; INSERT INTO nothing VALUES (1)');
    migrate(db, [first]);
    expect(() => migrate(db, [first, broken])).toThrow('nothing');
    expect(schemaVersion(db)).toBe(1);
    expect(db.inTransaction).toBe(false);
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'two'").pluck().get()).toBe(0);
    migrate(db, [first, second]);
    expect(schemaVersion(db)).toBe(2);
  });

  it('the store and fsck do not change a database of a newer release', async () => {
    const plane = await new TestPlane().filled(50);
    undo.push(() => plane.drop());
    const newest = mainMigrations.at(-1)!.version;
    plane.sql(`PRAGMA user_version = ${newest + 1}`);
    expect(() => plane.open()).toThrow(`expected database version ${newest} or older`);
    await expect(plane.fsck()).rejects.toThrow('use a newer release');
    plane.sql(`PRAGMA user_version = ${newest}`);
    await plane.open().close();
  });

  it('migrations are numbered from 1 without a gap', () => {
    expect(mainMigrations.map((each) => each.version)).toEqual(mainMigrations.map((_, at) => at + 1));
  });
});
