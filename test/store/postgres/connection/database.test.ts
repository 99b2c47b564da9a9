/** Tables, roles and settings: what holds below the statements. */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { migrate, openPostgres } from '../../../../src/store/postgres/store.ts';
import { newestVersion } from '../../../../src/store/postgres/schema/tables.ts';
import { tables, timeCountRules } from '../../../../src/store/postgres/schema/rules.ts';
import { openStore } from '../../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { connectReader } from '../../../../src/store/file/reader.ts';
import {
  codeOf,
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
  startMs,
  stored,
} from '../../support/fixture.ts';
import { createPolicy, decideApproval, openApproval } from '../../support/governance.ts';
import { missing, Processes, server } from '../support/described.ts';
import { makeOlder } from '../support/older.ts';
import type { TestDatabase } from '../support/server.ts';

const tableNames = Object.keys({ ...tables, ...timeCountRules });
const options = { clock: new HandClock(), randomBytes: seededBytes('database') };

async function asked<Value>(url: string, body: (client: Client) => Promise<Value>): Promise<Value> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

const refused = async (url: string, setting: string): Promise<unknown> =>
  openPostgres({ ...options, url: `${url}?options=${encodeURIComponent(setting)}` }).then(
    (store) => store.close(),
    (error: unknown) => error,
  );

describe.skipIf(missing !== null)('migrations', () => {
  it('migrations run once when several processes start together, and a repeat has no effect', async () => {
    const database = await server.database();
    await asked(database.owner, (client) => client.query('DROP SCHEMA gov CASCADE'));
    const role = 'gov_test_serving';
    const runs = await Promise.all([1, 2, 3].map(() => migrate({ url: database.owner, role })));
    expect(runs.map(({ from }) => from).toSorted()).toEqual([0, newestVersion, newestVersion]);
    expect(await migrate({ url: database.owner, role })).toEqual({
      from: newestVersion,
      to: newestVersion,
      madeRole: false,
      roleMayLogIn: true,
    });
    await (await openPostgres({ ...options, url: database.serving })).close();
    await database.drop();
  });

  it('the migration counts the events in tables of the second version, of all tenants', async () => {
    const database = await server.database();
    const role = 'gov_test_serving';
    const clock = new HandClock();
    const open = () => openPostgres({ ...options, clock, url: database.serving });
    const before = await open();
    for (const name of ['a', 'b']) await before.createProject(projectOf(name), genesis(name));
    const at = [0, 1, 65_536, 20_000_000].map((ms) => new Date(startMs + ms).toISOString());
    const events = () => at.map((timestamp) => event({ timestamp }));
    for (const projectId of ['prj_a', 'prj_b']) await stored(before, request(events(), { projectId }));
    await before.close();
    const counts = () =>
      asked(database.superuser, async (client) => {
        const { rows } = await client.query('SELECT * FROM gov.event_count ORDER BY 1, 2, 3, 4');
        return rows as unknown[];
      });
    const kept = await counts();
    expect(kept.length).toBeGreaterThan(8);
    await makeOlder(database, 2);
    expect(await migrate({ url: database.owner, role })).toMatchObject({ from: 2, to: newestVersion });
    expect(await counts()).toEqual(kept);
    const store = await open();
    await stored(store, request(events(), { projectId: 'prj_b' }));
    const window = { startMs: startMs + 1, endMs: startMs + 65_536 };
    expect(await store.countEvents('prj_a', window)).toBe(2);
    expect(await store.countEvents('prj_b', window)).toBe(4);
    await store.close();
    await database.drop();
  });

  it('the migration and the start refuse tables of a newer release', async () => {
    const database = await server.database();
    await asked(database.owner, (client) => client.query('UPDATE gov.version SET version = version + 1'));
    const newer = { code: 'CONFLICT', message: expect.stringContaining('newer release') };
    await expect(migrate({ url: database.owner, role: 'gov_test_serving' })).rejects.toMatchObject(newer);
    await expect(openPostgres({ ...options, url: database.serving })).rejects.toMatchObject(newer);
    await database.drop();
  });

  it('the migration grants the needed rights to another role and creates the role if it is missing', async () => {
    const database = await server.database();
    const role = `gov_test_other_${process.pid}`;
    const made = { from: newestVersion, to: newestVersion, madeRole: true, roleMayLogIn: false };
    expect(await migrate({ url: database.superuser, role })).toEqual(made);
    await asked(server.url, (client) => client.query(`ALTER ROLE ${role} LOGIN PASSWORD 'test'`));
    const url = new URL(database.serving);
    url.username = role;
    await (await openPostgres({ ...options, url: url.href })).close();
    await database.drop();
    await asked(server.url, (client) => client.query(`DROP ROLE ${role}`));
  });

  it('the migration says what is missing: a reachable database or an owner with the rights', async () => {
    const unreachable = migrate({ url: 'postgres://owner:hush@127.0.0.1:1/gov', role: 'gov_test_serving' });
    await expect(unreachable).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringMatching(/expected a connection, got: .*ECONNREFUSED/),
    });
    const database = await server.database();
    const bare = new URL(database.owner);
    bare.password = '';
    await expect(migrate({ url: bare.href, role: 'gov_test_serving' })).rejects.toMatchObject({
      message: expect.stringMatching(
        /expected a password for gov_test_owner, got none; give it in GOV_DATABASE/,
      ),
    });
    const wrong = new URL(database.serving);
    wrong.password = 'wrong';
    await expect(openPostgres({ ...options, url: wrong.href })).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringMatching(/got: password authentication failed/),
    });
    for (const [url, role] of [
      [database.serving, 'gov_test_serving'],
      [database.owner, 'gov_test_absent'],
    ] as const) {
      await expect(migrate({ url, role })).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: expect.stringMatching(
          /^expected a role that owns the tables.*(does not own|permission denied)/,
        ),
      });
    }
    await database.drop();
  });

  it('the migration refuses an invalid role name', async () => {
    expect(await codeOf(migrate({ url: server.url, role: 'a"; DROP ROLE b; --' }))).toBe('VALIDATION_ERROR');
  });

  it('the migration creates the same tables and columns as the SQLite engine', async () => {
    const database = await server.database();
    const folder = newFolder();
    await openStore({ dataDir: folder, ...options, reserveBytes: 0 }).close();
    const db = connectReader(storeFiles(folder).main);
    const theirs = await asked(database.owner, (client) =>
      client.query<{ name: string }>(
        `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'gov'`,
      ),
    );
    const own = db
      .prepare<[], { name: string }>(
        `SELECT m.name || '.' || c.name AS name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'`,
      )
      .all();
    const found = new Set(theirs.rows.map(({ name }) => name));
    const onlyThere = own
      .map(({ name }) => name)
      .filter((name) => !found.has(name) && !name.startsWith('sqlite_'));
    // here answers are swept by their age, keys of subjects lie in a table, and lists of runs need no spans
    const spans = ['block', 'first_ms', 'last_ms', 'project'].map((column) => `run_span.${column}`);
    expect(onlyThere.toSorted()).toEqual(['idempotency.seq', 'key_file.file_id', 'key_file.one', ...spans]);
    db.close();
    dropFolder(folder);
    await database.drop();
  });
});

describe.skipIf(missing !== null)('the start of a store', () => {
  it('the start refuses a database without tables and one that it cannot reach', async () => {
    const nowhere = { ...options, url: 'postgres://nobody:x@127.0.0.1:1/none' };
    await expect(openPostgres(nowhere)).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
    const database = await server.database();
    await asked(database.owner, (client) => client.query('DROP SCHEMA gov CASCADE'));
    const without = { code: 'STORAGE_FAULT', message: expect.stringContaining('migrate') };
    await expect(openPostgres({ ...options, url: database.serving })).rejects.toMatchObject(without);
    await database.drop();
  });

  it('the start refuses roles that bypass row-level security: superusers and owners', async () => {
    const database = await server.database();
    for (const url of [database.superuser, database.owner]) {
      await expect(openPostgres({ ...options, url })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('ordinary role'),
      });
    }
    await database.drop();
  });

  it('the start sets the durability settings itself, whatever role and URL say', async () => {
    const database = await server.database();
    await asked(server.url, (client) =>
      client.query('ALTER ROLE gov_test_serving SET synchronous_commit = off'),
    );
    await (await openPostgres({ ...options, url: database.serving })).close();
    await asked(server.url, (client) => client.query('ALTER ROLE gov_test_serving RESET ALL'));
    expect(await refused(database.serving, '-c synchronous_commit=off')).toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringContaining('synchronous_commit'),
    });
    await database.drop();
  });
});

describe.skipIf(missing !== null)('row-level security', () => {
  /** A project of each tenant, with a row of every kind that appends make. */
  async function twoTenants(): Promise<Processes> {
    const processes = await Processes.on(server);
    const store = processes.first;
    await store.createProject(projectOf('b'), genesis('b'));
    for (const projectId of ['prj_a', 'prj_b']) {
      const key = { key: 'k', fingerprint: 'f', response: { status: 201, body: '{}', headers: {} } };
      await stored(store, request([event({ clientEventId: 'c' })], { projectId, idempotency: key }));
      await stored(store, { ...createPolicy('1'), projectId });
      await stored(store, { ...openApproval('1'), projectId });
      const job = { jobId: 'job_1', type: 'proof', runId: 'r1', request: '{}', createdMs: 0 } as const;
      await stored(store, request([], { projectId, effects: [{ kind: 'enqueueJob', job }] }));
    }
    return processes;
  }

  const counts = async (client: Client): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    for (const table of tableNames) {
      const { rows } = await client.query<{ n: string }>(`SELECT count(*) AS n FROM gov.${table}`);
      found[table] = Number(rows[0]?.n);
    }
    return found;
  };

  it('row-level security shows no row without a tenant, and only own rows without a WHERE', async () => {
    const processes = await twoTenants();
    const { serving, superuser, owner } = processes.database;
    const whole = await asked(superuser, counts);
    const [none, one, after] = await asked(serving, async (client) => {
      const unset = await counts(client);
      await client.query("BEGIN; SET LOCAL gov.project = '1'");
      const own = await counts(client);
      await client.query('COMMIT');
      return [unset, own, await counts(client)];
    });
    for (const table of tableNames) {
      expect([table, none![table], after![table]]).toEqual([table, 0, 0]);
      expect([table, 2 * one![table]!]).toEqual([table, whole[table]]);
    }
    expect(Object.values(whole).filter((count) => count > 0).length).toBeGreaterThan(14);
    expect(Object.values(await asked(owner, counts)).every((count) => count === 0)).toBe(true);
    await processes.drop();
  });

  it('row-level security refuses a row for another tenant', async () => {
    const processes = await twoTenants();
    await asked(processes.database.serving, async (client) => {
      const attempt = async (statement: string): Promise<unknown> => {
        await client.query("BEGIN; SET LOCAL gov.project = '1'");
        const error = await client.query(statement).catch((thrown: unknown) => thrown);
        await client.query('ROLLBACK');
        return error;
      };
      const rows = [
        "INSERT INTO gov.run_snapshot VALUES (2, 'r1')",
        `INSERT INTO gov.leaf VALUES ((2::int8 << 36) + 9, '{}')`,
        "INSERT INTO gov.api_key VALUES (2, 'k', '\\x00', '', '', '', '[]', 0)",
      ];
      for (const row of rows) expect(await attempt(row)).toMatchObject({ code: '42501' });
      const { rowCount } = (await attempt('UPDATE gov.job SET lease = NULL WHERE project = 2')) as {
        rowCount: number;
      };
      expect(rowCount).toBe(0);
    });
    await processes.drop();
  });

  it('row-level security is forced on each table that has rows', async () => {
    const database: TestDatabase = await server.database();
    const { rows } = await asked(database.owner, (client) =>
      client.query<{ name: string; forced: boolean }>(
        `SELECT relname AS name, relrowsecurity AND relforcerowsecurity AS forced FROM pg_class
           WHERE relnamespace = 'gov'::regnamespace AND relkind = 'r'`,
      ),
    );
    expect(rows.filter(({ forced }) => !forced).map(({ name }) => name)).toEqual(['version']);
    await database.drop();
  });
});

describe.skipIf(missing !== null)('append-only tables', () => {
  it('neither the serving role nor a superuser can change or delete append-only rows', async () => {
    const processes = await Processes.on(server);
    const store = processes.first;
    await stored(store, request([event({ clientEventId: 'c' })]));
    await stored(store, createPolicy('1'));
    await stored(store, openApproval('1'));
    await stored(store, decideApproval('1', 'approved'));
    const changes = {
      leaf: "record = '{}'",
      body: "disclosures = '[]'",
      meter: "record = '{}'",
      run_event: 'at_ms = 0',
      client_event: "fingerprint = ''",
      event_type: "name = 'x'",
      decided: "run_id = 'x'",
      project: "organization_id = 'x'",
      head: 'size = size - 1',
      tile: "hashes = '\\x00'",
      policy: "name = 'x'",
      policy_version: "action = 'allow'",
      approval: "outcome = 'denied'",
    };
    for (const [table, change] of Object.entries(changes)) {
      const statements = [
        `UPDATE gov.${table} SET ${change}`,
        `DELETE FROM gov.${table}`,
        `TRUNCATE gov.${table} CASCADE`,
      ];
      for (const statement of statements) {
        for (const url of [processes.database.serving, processes.database.superuser]) {
          const error = await asked(url, async (client) => {
            await client.query("BEGIN; SET LOCAL gov.project = '1'");
            return client.query(statement).catch((thrown: unknown) => thrown);
          });
          expect([statement, (error as { code?: string }).code]).toEqual([
            statement,
            expect.stringMatching(/^(?:23514|42501)$/),
          ]);
        }
      }
    }
    expect((await store.head('prj_a', 'audit')).size).toBe(5);
    await processes.drop();
  });
});
