/** fsck of a database: whole logs, and rows that a superuser altered past every trigger. */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import type { FsckReport } from '../../../../src/store/fsck/check.ts';
import { fsckPostgres } from '../../../../src/store/postgres/write/fsck.ts';
import { appended, codeOf, event, genesis, projectOf, request, stored } from '../../support/fixture.ts';
import {
  createPolicy,
  decideApproval,
  movePolicy,
  openApproval,
  snapshot,
  unmetered,
} from '../../support/governance.ts';
import { logGraph, logProof } from '../../support/proved.ts';
import { missing, Processes, server } from '../support/described.ts';

async function filled(processes: Processes): Promise<void> {
  const store = processes.first;
  await store.createProject(projectOf('b'), genesis('b'));
  for (const projectId of ['prj_a', 'prj_b']) {
    for (let round = 0; round < 4; round += 1) {
      const made = Array.from({ length: 100 }, (_, at) => event({ runId: `r${at % 3}` }));
      await stored(store, request(made, { projectId }));
    }
    await stored(store, { ...createPolicy('1'), projectId });
    await stored(store, { ...movePolicy('1', 'active', { revision: 1 }), projectId });
    await stored(store, { ...openApproval('1'), projectId });
    await stored(store, { ...decideApproval('1', 'approved'), projectId });
    await stored(store, unmetered([snapshot()], [{ kind: 'claimSnapshot', runId: 'r1' }], { projectId }));
    await stored(store, { ...logProof('1'), projectId });
    await logGraph(store, '1', { projectId });
    const [tree, name] = ['audit', projectId.slice(4)] as const;
    const head = await store.head(projectId, tree);
    await store.saveCheckpoint(
      projectId,
      tree,
      { origin: `test/${name}/audit`, ...head, extensions: [] },
      (signed) => `${signed.origin}\n${signed.size}\n${signed.root.toString('base64')}\n\n— test sig\n`,
    );
  }
}

const check = (processes: Processes, deep = true): Promise<FsckReport> =>
  fsckPostgres({ url: processes.database.serving, deep });

/** As a superuser, past triggers and policies. */
const tamper = async (processes: Processes, statement: string): Promise<void> => {
  const client = new Client({ connectionString: processes.database.superuser });
  await client.connect();
  await client.query("SET session_replication_role = 'replica'; SET search_path = gov");
  const { rowCount } = await client.query(statement);
  await client.end();
  expect(rowCount).toBeGreaterThan(0);
};

describe.skipIf(missing !== null)('fsck of a whole database', () => {
  it('fsck of a whole database finds no problem and reports its counts', async () => {
    const processes = await Processes.on(server);
    await filled(processes);
    const { problems, ...report } = await check(processes);
    expect(problems).toEqual([]);
    expect(report).toEqual({
      ok: true,
      found: 0,
      projects: 2,
      leaves: 2 * (408 + 12),
      checkpoints: 2,
      unopened: 0,
      deep: true,
    });
    await processes.drop();
  });

  it('fsck of a database finds no problem while a writer appends', async () => {
    const processes = await Processes.on(server);
    const writing = { on: true };
    const writer = (async () => {
      for (let round = 0; writing.on; round += 1) {
        await appended(processes.first, request(Array.from({ length: 1 + (round % 40) }, () => event())));
      }
    })();
    for (let time = 0; time < 4; time += 1) expect((await check(processes)).problems).toEqual([]);
    writing.on = false;
    await writer;
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('fsck of changed rows', () => {
  const b = 2; // the number of prj_b
  const at = (index: number): string => `position = (${b}::int8 << 36) + ${index}`;
  it.each([
    [
      'a record',
      `UPDATE leaf SET record = replace(record, 'tool.call', 'tool.cell') WHERE ${at(7)}`,
      'prj_b/audit/7',
      'record_altered',
    ],
    ['a deleted record', `DELETE FROM leaf WHERE ${at(7)}`, 'prj_b/audit/7', 'record_missing'],
    [
      'an inserted record',
      `INSERT INTO leaf VALUES ((${b}::int8 << 36) + 500, '{}')`,
      'prj_b/audit/500',
      'record_beyond_head',
    ],
    [
      'a body',
      `UPDATE body SET disclosures = replace(disclosures, 'agent', 'agend') WHERE ${at(7)}`,
      'prj_b/audit/7',
      'body_altered',
    ],
    ['a deleted body', `DELETE FROM body WHERE ${at(7)}`, 'prj_b/audit/7', 'body_missing'],
    [
      'a metering leaf',
      `UPDATE meter SET record = replace(record, ':100', ':99') WHERE ${at(1)}`,
      'prj_b/metering/1',
      'record_altered',
    ],
    [
      'a tile',
      `UPDATE tile SET hashes = overlay(hashes PLACING '\\x00' FROM 1 FOR 1) WHERE project = ${b} AND tree = 0 AND level = 1`,
      'prj_b/audit/tile/1/0',
      'tile_altered',
    ],
    [
      'a counter',
      `UPDATE type_total SET events = events + 1 WHERE project = ${b}`,
      'prj_b/type_total/1',
      'counter_mismatch',
    ],
    [
      'a head anchor',
      `UPDATE head_anchor SET size = size + 9 WHERE project = ${b}`,
      'heads/test/b/audit',
      'heads_mismatch',
    ],
    [
      'a policy',
      `UPDATE policy SET status = 'disabled' WHERE project = ${b}`,
      'prj_b/policy/pol_1',
      'policy_mismatch',
    ],
    [
      'an approval',
      `UPDATE approval SET outcome = 'denied' WHERE project = ${b}`,
      'prj_b/approval/apr_1',
      'approval_mismatch',
    ],
    ['a deleted proof', `DELETE FROM proof WHERE project = ${b}`, 'prj_b/proof/prf_1', 'proof_mismatch'],
    ['a deleted graph', `DELETE FROM graph WHERE project = ${b}`, 'prj_b/audit/407', 'graph_mismatch'],
    [
      'deleted rows of a graph',
      `DELETE FROM graph_part WHERE project = ${b} AND list = 'edges'`,
      'prj_b/graph/grp_1/edges',
      'graph_mismatch',
    ],
  ])(
    'fsck reports %s at its position, in the affected project alone',
    async (_, statement, position, kind) => {
      const processes = await Processes.on(server);
      await filled(processes);
      await tamper(processes, statement);
      const { problems } = await check(processes);
      expect(problems.map((problem) => `${problem.position} ${problem.kind}`)).toContain(
        `${position} ${kind}`,
      );
      expect(problems.filter((problem) => problem.position.includes('prj_a'))).toEqual([]);
      await processes.drop();
    },
  );

  it('fsck agrees with reads, which refuse a changed leaf and report it in the condition', async () => {
    const processes = await Processes.on(server);
    await filled(processes);
    await tamper(
      processes,
      `UPDATE leaf SET record = replace(record, 'tool.call', 'tool.cell') WHERE ${at(7)}`,
    );
    const store = processes.first;
    expect(await codeOf(store.leaf('prj_b', 7))).toBe('STORAGE_FAULT');
    expect(store.condition()).toMatchObject({
      writable: true,
      reasons: [expect.stringMatching(/^integrity_violation: project prj_b: leaf 7 of the audit log/)],
    });
    expect((await store.leaf('prj_a', 7))?.index).toBe(7);
    await processes.drop();
  });
});
