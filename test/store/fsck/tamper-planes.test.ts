/** Rows of data planes that differ from the system events that tell of them are found by fsck. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { enrolled, plane, secrets } from '../support/data-planes.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { genesis, projectOf, startMs } from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';
import { project, projectId, told } from '../support/signed-reports.ts';
import { telling } from '../support/tenants.ts';

const copies: TestPlane[] = [];
let original: TestPlane;

/** Plane 1 was enrolled, enrolled anew under another key and rotated, plane 2 revoked; plane 3 waits. */
beforeAll(async () => {
  original = new TestPlane();
  const store = original.open();
  await store.createProject(projectOf(project), genesis(project));
  const registered = ['1', '2', '3'].map((id) =>
    plane(id, { projectId, name: `n ${id}`, createdBy: 'operator' }),
  );
  for (const each of registered) await store.append(told('registered', each, telling));
  const [first, second] = registered as [(typeof registered)[0] & object, (typeof registered)[0] & object];
  const previous = { ...secrets('1'), untilMs: startMs + 500 };
  const { verifierKey, auditVerifierKey } = enrolled('1');
  const formerKeys = [{ verifierKey, auditVerifierKey, untilMs: startMs + 2 }];
  const anew = enrolled('1', { atMs: startMs + 2, verifierKey: 'test/1/metering/0+new', formerKeys });
  const tokenUsedMs = startMs + 2;
  const rotated = { ...anew, keyLast4: 'new4', current: secrets('new'), previous };
  const changes = [
    ['enrolled', { ...first, tokenUsedMs: startMs + 1, enrolled: enrolled('1') }],
    ['enrolled', { ...first, tokenUsedMs, enrolled: anew }],
    ['rotated', { ...first, tokenUsedMs, enrolled: rotated }],
  ] as const;
  for (const [at, [change, changed]] of changes.entries()) {
    const nowMs = startMs + 1 + at;
    await store.append(told(change, { ...changed, revision: at + 2 }, { ...telling, nowMs }));
  }
  const gone = { ...second, revokedMs: startMs + 9, revision: 2 };
  await store.append(told('revoked', gone, { ...telling, nowMs: startMs + 9 }));
  await store.close();
});
afterEach(() => {
  for (const each of copies.splice(0)) each.drop();
});
afterAll(() => original.drop());

const copy = (): TestPlane => {
  const made = original.copy();
  copies.push(made);
  return made;
};

const row = (id: string) => ({ position: `${projectId}/data_plane/dpl_${id}`, kind: 'plane_mismatch' });

describe('fsck of data planes', () => {
  it('fsck finds no problem in data planes that match their events', async () => {
    expect((await copy().fsck()).problems).toEqual([]);
  });

  it.each([
    ['name', "'x'", '1', 'name n 1'],
    ['created_by', "'x'", '3', 'created_by operator'],
    ['created_ms', '5', '2', `created_ms ${startMs}`],
    ['verifier_key', "'x'", '1', 'verifier_key test/1/metering/0+new'],
    ['audit_verifier_key', "'x'", '1', 'audit_verifier_key test/1/audit+key'],
    ['enrolled_ms', '5', '1', `enrolled_ms ${startMs + 2}`],
    ['key_last4', "'x'", '1', 'key_last4 new4'],
    ['key_digest', "x'00'", '1', `key_digest ${sha256Text(secrets('new').keyDigest)}`],
    ['origin', "'x'", '1', 'origin test/1/metering'],
    ['token_used_ms', 'NULL', '1', `token_used_ms ${startMs + 2}`],
    ['token_used_ms', '5', '3', 'token_used_ms null'],
    [
      'former_keys',
      "'[]'",
      '1',
      `former_keys [{"verifierKey":"test/1/metering/0+key","auditVerifierKey":"test/1/audit+key","untilMs":${startMs + 2}}]`,
    ],
    ['previous_until_ms', '5', '1', `previous_until_ms ${startMs + 500}`],
    ['revoked_ms', 'NULL', '2', `revoked_ms ${startMs + 9}`],
    ['revoked_ms', '5', '3', 'revoked_ms null'],
    ['revision', '9', '1', 'revision 4'],
  ])('fsck reports a data plane whose %s is %s', async (column, value, id, expected) => {
    const made = copy();
    made.sql(`UPDATE telemetry_plane SET ${column} = ${value} WHERE plane_id = 'dpl_${id}'`);
    expect((await made.fsck()).problems).toEqual([{ ...row(id), expected, got: expect.any(String) }]);
  });

  it('fsck reports a data plane that is gone, and one without any event', async () => {
    const made = copy();
    made.sql(`DELETE FROM telemetry_plane WHERE plane_id = 'dpl_2';
      INSERT INTO telemetry_plane (project, plane_id, name, created_ms, created_by, token_digest, token_expires_ms, revision)
      VALUES (1, 'dpl_9', '', 0, '', x'00', 0, 1)`);
    const { problems } = await made.fsck();
    expect(problems.map(({ position, kind }) => ({ position, kind }))).toEqual([row('2'), row('9')]);
  });

  it('fsck does not compare the fields of a data plane that only an erased body contains', async () => {
    const made = copy();
    made.sql(
      "DELETE FROM body WHERE idx = 4; UPDATE telemetry_plane SET origin = 'x', name = 'y' WHERE plane_id = 'dpl_1'",
    );
    const { problems } = await made.fsck();
    const others = problems.filter(({ kind }) => kind !== 'body_missing');
    expect(others).toMatchObject([
      { kind: 'not_checkable', position: `${projectId}/audit/4` },
      { ...row('1'), expected: expect.stringContaining('name n 1') },
    ]);
  });
});
