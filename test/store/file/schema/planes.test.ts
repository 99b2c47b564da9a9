/** What may change of rows of data planes, by trigger; and how many planes a project has. */
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { connect } from '../../../../src/store/file/connection.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { mainApplicationId } from '../../../../src/store/file/schema/tables.ts';
import { enrolled, keep, plane, save } from '../../support/data-planes.ts';
import { codeOf } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';
import { projectId, reported } from '../../support/signed-reports.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const each of planes.splice(0)) each.drop();
});

async function filled(): Promise<TestPlane> {
  const made = new TestPlane();
  planes.push(made);
  const store = made.open();
  await reported(store);
  await store.close();
  return made;
}

const raised = 'revision = revision + 1';
const unanswered = 'WHERE sequence = 2';
const again = "attestation = 'failed', answer_status = 422, answer = '{}', answer_ms = 2";

describe('the tables of data planes', () => {
  it.each([
    ["UPDATE telemetry_plane SET name = 'x'", 'never changes in telemetry_plane'],
    ['UPDATE telemetry_plane SET revision = revision + 2', 'never changes in telemetry_plane'],
    [`UPDATE telemetry_plane SET ${raised}, created_by = 'me'`, 'never changes in telemetry_plane'],
    [`UPDATE telemetry_plane SET ${raised}, plane_id = 'dpl_2'`, 'never changes in telemetry_plane'],
    [`UPDATE telemetry_plane SET ${raised}, origin = 'o'`, 'never changes in telemetry_plane'],
    [`UPDATE telemetry_plane SET ${raised}, enrolled_ms = NULL`, 'CHECK constraint failed'],
    [`UPDATE telemetry_plane SET ${raised}, verifier_key = NULL`, 'CHECK constraint failed'],
    [`UPDATE telemetry_plane SET ${raised}, previous_secret = 's'`, 'CHECK constraint failed'],
    ['DELETE FROM telemetry_plane', 'telemetry_plane stays'],
    ["UPDATE telemetry_report SET body = '{}'", 'never changes in telemetry_report'],
    ["UPDATE telemetry_report SET totals = '{}'", 'never changes in telemetry_report'],
    ["UPDATE telemetry_report SET month = '2027-01'", 'never changes in telemetry_report'],
    ["UPDATE telemetry_report SET cosignature = 'x'", 'never changes in telemetry_report'],
    ['UPDATE telemetry_report SET sequence = sequence + 10', 'never changes in telemetry_report'],
    ["UPDATE telemetry_report SET link = 'unknown' WHERE sequence = 1", 'never changes in telemetry_report'],
    [`UPDATE telemetry_report SET ${again} WHERE answer_ms IS NOT NULL`, 'never changes in telemetry_report'],
    [`UPDATE telemetry_report SET attestation = 'verified' ${unanswered}`, 'CHECK constraint failed'],
    [`UPDATE telemetry_report SET answer_ms = 1 ${unanswered}`, 'CHECK constraint failed'],
    [
      `UPDATE telemetry_report SET attestation = 'expired' WHERE sequence = 1`,
      'never changes in telemetry_report',
    ],
    ['DELETE FROM telemetry_report', 'telemetry_report stays'],
    [
      `INSERT OR REPLACE INTO telemetry_report SELECT * FROM telemetry_report WHERE sequence = 1`,
      'telemetry_report stays',
    ],
    ['UPDATE telemetry_epoch SET tree_size = tree_size + 1', 'never changes in telemetry_epoch'],
    ['UPDATE telemetry_epoch SET held = held + 1, next_sequence = 1', 'never changes in telemetry_epoch'],
    ['UPDATE telemetry_epoch SET held = held + 1, tree_size = 0', 'never changes in telemetry_epoch'],
    ['DELETE FROM telemetry_epoch', 'telemetry_epoch stays'],
    ['UPDATE telemetry_month SET audit_event = audit_event - 1', 'never changes in telemetry_month'],
    ["UPDATE telemetry_month SET month = '2027-01'", 'never changes in telemetry_month'],
    ['DELETE FROM telemetry_month', 'telemetry_month stays'],
    ['UPDATE telemetry_usage SET audit_event = -1', 'CHECK constraint failed'],
    ["UPDATE telemetry_usage SET month = month || 'x'", 'never changes in telemetry_usage'],
    ['DELETE FROM telemetry_usage', 'telemetry_usage stays'],
  ])('the tables of data planes refuse %s', async (statement, message) => {
    const made = await filled();
    const db = connect(storeFiles(made.dataDir).main, { applicationId: mainApplicationId });
    expect(() => db.exec(statement)).toThrow(message);
    db.close();
    expect((await made.fsck()).problems).toEqual([]);
  });

  it('the tables let a plane be renamed and be revoked once, and let a report be linked', async () => {
    const made = await filled();
    const db = connect(storeFiles(made.dataDir).main, { applicationId: mainApplicationId });
    const changes = (sql: string): number => db.prepare(sql).run().changes;
    expect(changes(`UPDATE telemetry_plane SET ${raised}, name = 'x', revoked_ms = 5`)).toBe(1);
    expect(() => changes(`UPDATE telemetry_plane SET ${raised}, revoked_ms = NULL`)).toThrow('never changes');
    expect(() => changes(`UPDATE telemetry_plane SET ${raised}, revoked_ms = 6, key_digest = x'06'`)).toThrow(
      'never changes',
    );
    expect(changes(`UPDATE telemetry_plane SET ${raised}, revoked_ms = 5`)).toBe(1);
    expect(changes(`UPDATE telemetry_plane SET ${raised}, revoked_ms = NULL, key_digest = x'06'`)).toBe(1);
    expect(changes("UPDATE telemetry_report SET link = 'linked' WHERE link = 'unknown'")).toBe(1);
    db.close();
  });
});

describe('the number of data planes of a project', () => {
  it('a project has at most as many data planes as the limit says, without the revoked ones', async () => {
    const made = await filled();
    const room = limits.planesPerProject - 2; // one is there already
    made.guarded(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${room})
       INSERT INTO telemetry_plane (project, plane_id, name, created_ms, created_by, token_digest, token_expires_ms, revision)
       SELECT 1, 'dpl_n' || i, '', 0, '', CAST('t' || i AS BLOB), 0, 1 FROM n`,
    );
    const store = made.open();
    const attempt = (...saved: Parameters<typeof plane>) =>
      codeOf(keep(store, [save(plane(...saved))], projectId));
    expect(await attempt('last')).toBe('none');
    expect(await attempt('more')).toBe('CONFLICT');
    expect(await attempt('last', { revision: 2, revokedMs: 1 })).toBe('none');
    expect(await attempt('more')).toBe('none');
    expect(await attempt('most')).toBe('CONFLICT');
    const back = { revision: 3, enrolled: enrolled('last') };
    expect(await attempt('last', back)).toBe('CONFLICT');
    expect(await attempt('more', { revision: 2, revokedMs: 1 })).toBe('none');
    expect(await attempt('last', back)).toBe('none');
    await store.close();
  });
});
