/** What was changed in the tables of governance, below SQL's guards, is found: by fsck with its position, by reads. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { codeOf, stored } from '../support/fixture.ts';
import { decideApproval, openApproval, useApproval } from '../support/governance.ts';
import { TestPlane } from '../support/plane.ts';

const planes: TestPlane[] = [];
let governed: TestPlane;
beforeAll(async () => {
  governed = await (await new TestPlane().filled(10)).governed();
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => governed.drop());

function copy(): TestPlane {
  const plane = governed.copy();
  planes.push(plane);
  return plane;
}

describe('fsck of changed governance rows', () => {
  it.each([
    [
      'a row of another leaf',
      'UPDATE decided SET idx = 5 WHERE type = 1 AND idx = 19',
      ['prj_a/audit/19 index_mismatch'],
    ],
    [
      'a row of another run',
      "UPDATE decided SET run_id = 'r2' WHERE type = 1 AND id = 'pev_0'",
      ['prj_a/audit/19 index_mismatch'],
    ],
    [
      'a row under another id',
      "UPDATE decided SET id = 'pev_9' WHERE id = 'pev_0'",
      ['prj_a/audit/19 index_mismatch'],
    ],
    [
      'a row taken away',
      "DELETE FROM decided WHERE id = 'pev_0'",
      ['prj_a/audit/19 index_mismatch', 'prj_a/decided index_mismatch'],
    ],
    [
      'a row too many',
      "INSERT INTO decided VALUES (1, 2, 5, 'r1', 'dec_1')",
      ['prj_a/decided index_mismatch'],
    ],
    ['a claim of a snapshot taken away', 'DELETE FROM run_snapshot', ['prj_a/snapshot/r1 index_mismatch']],
    [
      'a claim without a snapshot',
      "INSERT INTO run_snapshot VALUES (1, 'r2')",
      ['prj_a/snapshot/r2 index_mismatch'],
    ],
    [
      'a policy that was switched off',
      "UPDATE policy SET status = 'disabled' WHERE policy_id = 'pol_1'",
      ['prj_a/policy/pol_1 policy_mismatch'],
    ],
    [
      'a policy that was switched on',
      "UPDATE policy SET status = 'active', active_version = 1 WHERE policy_id = 'pol_2'",
      ['prj_a/policy/pol_2 policy_mismatch'],
    ],
    [
      'another version in force',
      "UPDATE policy SET active_version = 2 WHERE policy_id = 'pol_1'",
      ['prj_a/policy/pol_1 policy_mismatch'],
    ],
    [
      'a policy taken away',
      "DELETE FROM policy WHERE policy_id = 'pol_1'",
      ['prj_a/policy/pol_1 policy_mismatch'],
    ],
    [
      'a policy that no leaf made',
      `CREATE TEMP TABLE made AS SELECT * FROM policy LIMIT 1;
       UPDATE made SET policy_id = 'pol_3'; INSERT INTO policy SELECT * FROM made`,
      ['prj_a/policy/pol_3 policy_mismatch'],
    ],
    [
      'another hash of a version',
      "UPDATE policy_version SET policy_hash = 'sha256:x' WHERE policy_id = 'pol_1' AND version = 2",
      Array(3).fill('prj_a/policy/pol_1/2 policy_mismatch'),
    ],
    [
      'another condition of a version, as it was sent',
      "UPDATE policy_version SET condition = '{}' WHERE policy_id = 'pol_1' AND version = 2",
      ['prj_a/policy/pol_1/2 policy_mismatch'],
    ],
    [
      'another condition of a version, as it is evaluated',
      "UPDATE policy_version SET normalized = 'x' WHERE policy_id = 'pol_1' AND version = 2",
      ['prj_a/policy/pol_1/2 policy_mismatch'],
    ],
    [
      'a version that asks for a signature',
      "UPDATE policy_version SET require_signed = 1 WHERE policy_id = 'pol_1' AND version = 2",
      Array(2).fill('prj_a/policy/pol_1/2 policy_mismatch'),
    ],
    [
      'a version that says what an undecided condition means',
      "UPDATE policy_version SET on_indeterminate = 'allow' WHERE policy_id = 'pol_1' AND version = 2",
      Array(2).fill('prj_a/policy/pol_1/2 policy_mismatch'),
    ],
    [
      'another action of a version',
      "UPDATE policy_version SET action = 'allow' WHERE policy_id = 'pol_1' AND version = 2",
      Array(2).fill('prj_a/policy/pol_1/2 policy_mismatch'),
    ],
    [
      'a version taken away',
      "DELETE FROM policy_version WHERE policy_id = 'pol_1' AND version = 2",
      ['prj_a/policy/pol_1/2 policy_mismatch'],
    ],
    [
      'a version that no leaf made',
      `CREATE TEMP TABLE made AS SELECT * FROM policy_version WHERE policy_id = 'pol_1' AND version = 2;
       UPDATE made SET version = 3, published = 0; INSERT INTO policy_version SELECT * FROM made`,
      Array(3).fill('prj_a/policy/pol_1/3 policy_mismatch'),
    ],
    ...[
      ['published', 'published = 1', 2],
      ['not published', 'published = 0', 1],
      ['made by another', "created_by = 'key_9'", 2],
      ['made at another time', 'created_ms = created_ms + 1', 2],
    ].map(([what, change, version]): [string, string, string[]] => [
      `a version ${what}`,
      `UPDATE policy_version SET ${change} WHERE policy_id = 'pol_1' AND version = ${version}`,
      [`prj_a/policy/pol_1/${version} policy_mismatch`],
    ]),
    ...[
      ['another version that was active last', 'last_active_version = 2'],
      ['none that was active last', 'last_active_version = NULL'],
      ['a version in force though disabled', 'active_version = 1'],
      ['another newest version', 'latest_version = 3'],
      ['another revision', 'revision = revision + 1'],
      ['another maker', "created_by = 'key_9'"],
      ['another time of making', 'created_ms = created_ms + 1'],
      ['another time of changing', 'updated_ms = updated_ms + 1'],
      ['another name', "name = 'other'"],
      ['another description', "description = 'other'"],
    ].map(([what, change]): [string, string, string[]] => [
      `a policy of ${what}`,
      `UPDATE policy SET ${change} WHERE policy_id = 'pol_2'`,
      ['prj_a/policy/pol_2 policy_mismatch'],
    ]),
    [
      'another configuration of the risk router',
      "UPDATE risk_config SET config = replace(config, 'strict', 'monitor')",
      ['prj_a/risk_config config_mismatch'],
    ],
    [
      'the configuration before it',
      "UPDATE risk_config SET config = '{}'",
      ['prj_a/risk_config config_mismatch'],
    ],
    [
      'another time of the configuration',
      'UPDATE risk_config SET updated_ms = updated_ms + 1',
      ['prj_a/risk_config config_mismatch'],
    ],
    ['no configuration', 'DELETE FROM risk_config', ['prj_a/risk_config config_mismatch']],
    [
      'a configuration that no leaf finds',
      'DELETE FROM decided WHERE type = 7',
      [
        'prj_a/audit/23 index_mismatch',
        'prj_a/audit/24 index_mismatch',
        'prj_a/decided index_mismatch',
        'prj_a/risk_config config_mismatch',
      ],
    ],
    ...(
      [
        ['another result', `result = replace(result, 'rpl', 'rpl ')`],
        ['no result', 'result = NULL'],
        ['another summary', `summary = '{"steps":1,"warnings":2,"drift":0}'`],
        ['no summary', 'summary = NULL'],
        ['another run', "run_id = 'r2'"],
        ['another type', "type = 'proof'"],
        ['another status', "status = 'failed'"],
        ['another time', 'completed_ms = completed_ms + 1'],
      ] as const
    ).map(([what, change]): [string, string, string[]] => [
      `a replay of ${what}`,
      `UPDATE job SET ${change} WHERE job_id = 'job_1'`,
      ['prj_a/replay/rpl_1 replay_mismatch'],
    ]),
    [
      'a replay under another id',
      "UPDATE job SET result_id = 'rpl_9' WHERE job_id = 'job_1'",
      ['prj_a/replay/rpl_1 replay_mismatch', 'prj_a/job/job_1 replay_mismatch'],
    ],
    [
      'a replay without its id',
      "UPDATE job SET result_id = NULL WHERE job_id = 'job_1'",
      ['prj_a/replay/rpl_1 replay_mismatch', 'prj_a/job/job_1 replay_mismatch'],
    ],
    ['a replay taken away', "DELETE FROM job WHERE job_id = 'job_1'", ['prj_a/replay/rpl_1 replay_mismatch']],
    [
      'a replay that nobody logged',
      "UPDATE job SET status = 'completed', result = '{}' WHERE job_id = 'job_2'",
      ['prj_a/job/job_2 replay_mismatch'],
    ],
    [
      'an approval that was denied',
      "UPDATE approval SET outcome = 'approved' WHERE approval_id = 'apr_1'",
      ['prj_a/approval/apr_1 approval_mismatch'],
    ],
    [
      'an approval that nobody logged',
      "UPDATE approval SET outcome = 'approved', decided_by = 'k', decided_ms = 1 WHERE approval_id = 'apr_2'",
      ['prj_a/approval/apr_2 approval_mismatch'],
    ],
    [
      'an approval of another evaluation',
      "UPDATE approval SET evaluation_id = 'pev_none' WHERE approval_id = 'apr_2'",
      Array(2).fill('prj_a/approval/apr_2 approval_mismatch'),
    ],
    ...(
      [
        ['of another run', "run_id = 'r2'", 'apr_2'],
        ['that another asked for', "requested_by = 'key_2'", 'apr_2'],
        ['that is open for longer', 'expires_ms = expires_ms + 1', 'apr_2'],
        ['that was asked for at another time', 'requested_ms = requested_ms + 1', 'apr_2'],
        ['for another reason', "reason = 'none'", 'apr_2'],
        ['under another id', "approval_id = 'apr_9'", 'apr_2'],
        ['that was decided by another', "decided_by = 'key_1'", 'apr_1'],
        ['that was decided at another time', 'decided_ms = decided_ms + 1', 'apr_1'],
        ['with another comment', "comment = 'x'", 'apr_1'],
        ['without its comment', 'comment = NULL', 'apr_1'],
        [
          'that is open again',
          'outcome = NULL, decided_by = NULL, decided_ms = NULL, comment = NULL',
          'apr_1',
        ],
      ] as const
    ).map(([what, change, id]): [string, string, string[]] => [
      `an approval ${what}`,
      `UPDATE approval SET ${change} WHERE approval_id = '${id}'`,
      [
        `prj_a/approval/${id} approval_mismatch`,
        ...(change.includes('apr_9') ? ['prj_a/approval/apr_9 approval_mismatch'] : []),
      ],
    ]),
    [
      'an approval that no evaluation opened',
      "INSERT INTO approval SELECT project, 'apr_9', evaluation_id, run_id, reason, requested_ms, requested_by, expires_ms, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM approval WHERE approval_id = 'apr_2'",
      ['prj_a/approval/apr_9 approval_mismatch'],
    ],
    [
      'an open approval taken away',
      "DELETE FROM approval WHERE approval_id = 'apr_2'",
      ['prj_a/approval/apr_2 approval_mismatch'],
    ],
    [
      'a decided approval taken away',
      "DELETE FROM approval WHERE approval_id = 'apr_1'",
      Array(2).fill('prj_a/approval/apr_1 approval_mismatch'),
    ],
  ])('fsck finds %s and reports its position', async (_, statements, expected) => {
    const plane = copy();
    expect((await plane.fsck()).problems).toEqual([]);
    plane.sql(statements);
    const { problems } = await plane.fsck();
    expect(problems.map(({ position, kind }) => `${position} ${kind}`)).toEqual(expected);
  });
});

describe('fsck of a policy with erased leaves', () => {
  it('fsck reports only the missing bodies when the leaves of a policy were erased', async () => {
    const plane = copy();
    plane.sql('DELETE FROM body WHERE idx IN (SELECT idx FROM decided WHERE type = 6)');
    plane.sql("UPDATE policy SET name = 'x', created_by = 'x'; UPDATE policy_version SET created_by = 'x'");
    const { problems } = await plane.fsck();
    expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(['body_missing']));
  });
});

describe('fsck of a used approval', () => {
  it.each([
    ['used by another evaluation', "used_by = 'pev_9'"],
    ['used at another time', 'used_ms = used_ms + 1'],
    ['unused again', 'used_by = NULL, used_ms = NULL'],
  ])('fsck finds an approval that was altered to be %s', async (_, change) => {
    const plane = await withUsed();
    plane.sql(`UPDATE approval SET ${change} WHERE approval_id = 'apr_3'`);
    const { problems } = await plane.fsck();
    expect(problems).toMatchObject([{ position: 'prj_a/approval/apr_3', kind: 'approval_mismatch' }]);
  });

  it('fsck finds a use that nobody logged', async () => {
    const plane = await withUsed();
    plane.sql("UPDATE approval SET used_by = 'pev_u4', used_ms = 1 WHERE approval_id = 'apr_4'");
    const { problems } = await plane.fsck();
    expect(problems).toMatchObject([
      { position: 'prj_a/approval/apr_4', expected: 'its gov.use/1 leaf', got: 'none' },
    ]);
  });

  /** With the approval 3, used, and the approval 4, approved. */
  async function withUsed(): Promise<TestPlane> {
    const plane = copy();
    const store = plane.open();
    for (const id of ['3', '4']) {
      await stored(store, openApproval(id));
      await stored(store, decideApproval(id, 'approved'));
    }
    await stored(store, useApproval('3'));
    await store.close();
    expect((await plane.fsck()).problems).toEqual([]);
    return plane;
  }
});

describe('fsck of erased values', () => {
  it('fsck reports only the missing bodies when the values of approvals and jobs were erased', async () => {
    const plane = copy();
    plane.sql(
      `DELETE FROM body WHERE idx IN (SELECT idx FROM decided WHERE type IN (1, 3, 5) AND run_id = 'r1')`,
    );
    plane.sql(
      "UPDATE approval SET comment = 'x', reason = 'y'; UPDATE job SET result = 'x' WHERE job_id = 'job_1'",
    );
    const { problems } = await plane.fsck();
    expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(['body_missing']));
  });
});

describe('a read of decisions', () => {
  it.each([
    ['another leaf', "UPDATE decided SET idx = 5 WHERE id = 'pev_0'", 5],
    ['another run', "UPDATE decided SET run_id = 'r2' WHERE id = 'pev_0'", 19],
    ['another id', "UPDATE decided SET id = 'pev_9' WHERE id = 'pev_0'", 19],
  ])(
    'a read of decisions that meets a row of %s is refused with the position',
    async (_, statements, index) => {
      const plane = copy();
      const store = plane.open();
      plane.sql(statements);
      const read = async () => {
        await store.leafOf('prj_a', 'gov.evaluation/1', 'pev_9');
        await store.leafOf('prj_a', 'gov.evaluation/1', 'pev_0');
        await store.leavesOf('prj_a', { type: 'gov.evaluation/1', runId: 'r2' }, { limit: 9, order: 'asc' });
      };
      await expect(read()).rejects.toMatchObject({ code: 'STORAGE_FAULT', extensions: { index } });
      await store.close();
    },
  );

  it('a read of one leaf type refuses an index row that points to a leaf of another type', async () => {
    const plane = copy();
    const store = plane.open();
    plane.sql("UPDATE decided SET idx = 5 WHERE id = 'pev_0'");
    const read = store.leavesOf('prj_a', { type: 'gov.evaluation/1' }, { limit: 9, order: 'asc' });
    await expect(read).rejects.toMatchObject({ code: 'STORAGE_FAULT', extensions: { index: 5 } });
    await store.close();
  });

  it('a read of a run is refused when its newest evaluation row points to another kind of leaf', async () => {
    const plane = copy();
    const store = plane.open();
    expect((await store.run('prj_a', 'r1'))?.lastDecision).toBe('escalate');
    plane.sql(
      "INSERT INTO decided VALUES (1, 1, 7, 'r2', 'pev_x'); DELETE FROM decided WHERE run_id = 'r1' AND type = 1; INSERT INTO decided VALUES (1, 1, 18, 'r1', NULL)",
    );
    expect(await codeOf(store.run('prj_a', 'r1'))).toBe('STORAGE_FAULT');
    expect(await codeOf(store.runs('prj_a', {}, { limit: 9 }))).toBe('STORAGE_FAULT');
    await store.close();
  });
});
