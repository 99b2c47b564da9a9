/** Data planes on PostgreSQL: what the database itself holds, whole checks, and several processes at once. */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { namedStatements } from '../../../src/store/read/queries.ts';
import { fsckPostgres } from '../../../src/store/postgres/write/fsck.ts';
import { enrolled, keep, plane, report, save, saveReport, totals } from '../support/data-planes.ts';
import { codeOf } from '../support/fixture.ts';
import { planeId, projectId, reported } from '../support/signed-reports.ts';
import { missing, Processes, server } from './support/described.ts';

/** The number of the project of `reported`, beside `prj_a`. */
const no = 2;

async function asked<Value>(url: string, body: (client: Client) => Promise<Value>): Promise<Value> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

async function filled(): Promise<Processes> {
  const processes = await Processes.on(server);
  await reported(processes.first);
  return processes;
}

describe.skipIf(missing !== null)('rows of data planes', () => {
  it('the serving role and a superuser change rows of data planes only in the allowed ways', async () => {
    const processes = await filled();
    const raised = 'revision = revision + 1';
    const refused = [
      "UPDATE gov.telemetry_plane SET name = 'x'",
      `UPDATE gov.telemetry_plane SET ${raised}, origin = 'o'`,
      `DO $$ BEGIN UPDATE gov.telemetry_plane SET ${raised}, revoked_ms = 5;
        UPDATE gov.telemetry_plane SET ${raised}, revoked_ms = NULL; END $$`,
      'DELETE FROM gov.telemetry_plane',
      "UPDATE gov.telemetry_report SET body = '{}'",
      "UPDATE gov.telemetry_report SET link = 'unknown' WHERE sequence = 1",
      "UPDATE gov.telemetry_report SET answer = '{}' WHERE answer_ms IS NOT NULL",
      "UPDATE gov.telemetry_report SET attestation = 'verified' WHERE sequence = 2",
      'DELETE FROM gov.telemetry_report',
      'UPDATE gov.telemetry_epoch SET held = held + 1, tree_size = 0',
      'DELETE FROM gov.telemetry_epoch',
      'UPDATE gov.telemetry_month SET audit_event = audit_event - 1',
      'DELETE FROM gov.telemetry_month',
      'UPDATE gov.telemetry_usage SET audit_event = -1',
      'TRUNCATE gov.telemetry_usage',
    ];
    const allowed = [
      `UPDATE gov.telemetry_plane SET ${raised}, revoked_ms = 5`,
      "UPDATE gov.telemetry_report SET link = 'linked' WHERE link = 'unknown'",
    ];
    for (const url of [processes.database.serving, processes.database.superuser]) {
      await asked(url, async (client) => {
        const attempt = async (statement: string) => {
          await client.query(`BEGIN; SET LOCAL gov.project = '${no}'`);
          const outcome = await client.query(statement).catch((thrown: unknown) => thrown);
          await client.query('ROLLBACK');
          return outcome as { readonly code?: string; readonly rowCount?: number };
        };
        for (const statement of refused) {
          const { code } = await attempt(statement);
          expect([statement, code]).toEqual([statement, expect.stringMatching(/^(?:23514|42501)$/)]);
        }
        for (const statement of allowed) expect(await attempt(statement)).toMatchObject({ rowCount: 1 });
      });
    }
    await processes.drop();
  });

  it('rows of data planes are visible to their tenant, or with a credential, key or challenge', async () => {
    const processes = await filled();
    await asked(processes.database.serving, async (client) => {
      const counts = async (setting: string): Promise<number[]> => {
        await client.query(`BEGIN; ${setting}`);
        const found: number[] = [];
        for (const table of ['plane', 'report', 'epoch', 'month', 'usage']) {
          const { rows } = await client.query<{ n: string }>(
            `SELECT count(*) AS n FROM gov.telemetry_${table}`,
          );
          found.push(Number(rows[0]?.n));
        }
        await client.query('ROLLBACK');
        return found;
      };
      expect(await counts(`SET LOCAL gov.project = '${no}'`)).toEqual([1, 5, 2, 3, 2]);
      expect(await counts("SET LOCAL gov.project = '1'")).toEqual([0, 0, 0, 0, 0]);
      expect(await counts('SELECT 1')).toEqual([0, 0, 0, 0, 0]);
      expect(await counts("SET LOCAL gov.lookup = 'chl_a'")).toEqual([0, 1, 0, 0, 0]);
      const kept = await processes.first.plane(projectId, planeId);
      const key = kept?.enrolled?.current.keyDigest.toString('hex') ?? '';
      expect(await counts(`SET LOCAL gov.digest = '${key}'`)).toEqual([1, 0, 0, 0, 0]);
      const verifier = kept?.enrolled?.verifierKey ?? '';
      expect(await counts(`SET LOCAL gov.lookup = '${verifier}'`)).toEqual([1, 0, 0, 0, 0]);
    });
    await processes.drop();
  });

  it('fsck accepts the rows of data planes and reports those that a superuser changed', async () => {
    const processes = await filled();
    const check = async () => {
      const { problems } = await fsckPostgres({ url: processes.database.serving, deep: true });
      return problems.map(({ position, kind }) => `${position} ${kind}`);
    };
    expect(await check()).toEqual([]);
    await asked(processes.database.superuser, async (client) => {
      await client.query("SET session_replication_role = 'replica'; SET search_path = gov");
      await client.query("UPDATE telemetry_report SET body = replace(body, 'v24', 'v25') WHERE sequence = 4");
      await client.query("UPDATE telemetry_usage SET risk_decision = 900 WHERE month = '2026-11'");
    });
    expect(await check()).toEqual([
      `${projectId}/data_plane/${planeId}/report/0/4 report_altered`,
      `${projectId}/telemetry_usage/2026-11 usage_mismatch`,
    ]);
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('the number of data planes of a project', () => {
  it('a project has at most as many data planes as the limit says, without the revoked ones', async () => {
    const processes = await Processes.on(server);
    const room = limits.planesPerProject - 1;
    await asked(processes.database.superuser, (client) =>
      client.query(
        `INSERT INTO gov.telemetry_plane (project, plane_id, name, created_ms, created_by, token_digest, token_expires_ms, revision)
         SELECT 1, 'dpl_n' || i, '', 0, '', ('t' || i)::bytea, 0, 1 FROM generate_series(1, ${room}) AS i`,
      ),
    );
    const attempt = (...saved: Parameters<typeof plane>) =>
      codeOf(keep(processes.first, [save(plane(...saved))]));
    expect(await attempt('last')).toBe('none');
    expect(await attempt('more')).toBe('CONFLICT');
    expect(await attempt('last', { revision: 2, revokedMs: 1 })).toBe('none');
    expect(await attempt('more')).toBe('none');
    expect(await attempt('most')).toBe('CONFLICT');
    const back = { revision: 3, enrolled: enrolled('last') };
    expect(await attempt('last', back)).toBe('CONFLICT');
    expect(await attempt('more', { revision: 2, revokedMs: 1 })).toBe('none');
    expect(await attempt('last', back)).toBe('none');
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('the lookup of a report', () => {
  it('a report is looked up by its key, also when the planner has no statistics', async ({ skip }) => {
    const processes = await Processes.on(server);
    await keep(processes.first, [save(plane('1'))]);
    const far = Array.from({ length: 200 }, (_, at) => saveReport(report('1', 2 * at + 2)));
    await keep(processes.first, far);
    expect(await processes.first.unlinked('prj_a', 'dpl_1', 0, 8)).toEqual([]);
    const wanted = namedStatements()
      .map(({ text }) => text)
      .filter((text) => text.includes("link = 'unknown' ORDER BY r.sequence"));
    expect(wanted.length).toBe(1);
    await asked(processes.database.serving, async (client) => {
      const { rows: versions } = await client.query("SELECT current_setting('server_version_num')::int AS v");
      skip(versions[0].v < 160_000, 'PostgreSQL 16 makes generic plans');
      await client.query("SET search_path = gov; SET gov.project = '1'");
      const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN) ${wanted[0]}`);
      const plan = rows.map((row: { 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n');
      expect(plan.match(/telemetry_report_pkey/g)?.length, plan).toBe(2);
      expect(plan.match(/Index Cond: .*sequence = /g)?.length, plan).toBe(2);
    });
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('several processes', () => {
  it('several processes store and count each report once', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start()];
    await keep(processes.first, [save(plane('1'))]);
    const sequences = Array.from({ length: 20 }, (_, at) => at + 1);
    const outcomes = await Promise.all(
      [...sequences, ...sequences.toReversed()].map((sequence, at) =>
        codeOf(keep(stores[at % 2]!, [saveReport(report('1', sequence))])),
      ),
    );
    expect(outcomes.filter((each) => each === 'none')).toHaveLength(20);
    expect(outcomes.filter((each) => each === 'REPORT_CONFLICT')).toHaveLength(20);
    for (const store of stores) {
      expect(await store.planeUsage('prj_a', '2026-01')).toEqual(totals(100));
      expect(await store.planeEpoch('prj_a', 'dpl_1', 0)).toMatchObject({ held: 20, nextSequence: 21 });
    }
    await processes.drop();
  });

  it('two processes accept one change of a plane at a given revision', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start()];
    await keep(processes.first, [save(plane('1'))]);
    const outcomes = await Promise.all(
      stores.map((store, at) => codeOf(keep(store, [save(plane('1', { name: `n${at}`, revision: 2 }))]))),
    );
    expect(outcomes.toSorted()).toEqual(['CONFLICT', 'none']);
    await processes.drop();
  });
});
