/** Tenants of several processes on one database, and who sees their rows. */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { fsckPostgres } from '../../../src/store/postgres/write/fsck.ts';
import type { AppendRequest, NewTenant, RequiredCaller, Store } from '../../../src/store/port/store.ts';
import { codeOf, event, request, startMs, stored } from '../support/fixture.ts';
import {
  apiKey,
  apply,
  change,
  digestOf,
  moreProjects,
  newProject,
  session,
  storedProject,
  tenant,
  toldCustomer,
  toldDeletion,
  toldProject,
  toldTenant,
  toldUpdate,
  used,
} from '../support/tenants.ts';
import { missing, Processes, server } from './support/described.ts';

async function asSuperuser(processes: Processes, statement: string): Promise<void> {
  const client = new Client({ connectionString: processes.database.superuser });
  await client.connect();
  await client.query(`SET search_path = gov; ${statement}`);
  await client.end();
}

/** Transactions that waited for each other until one of them was ended. A server process tells it as it ends. */
async function deadlocks({ database }: Processes, stores: readonly Store[]): Promise<number> {
  await Promise.all(stores.map((store) => store.close()));
  const client = new Client({ connectionString: database.superuser });
  await client.connect();
  const { rows } = await client.query<{ n: number }>(
    'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  await client.end();
  return rows[0]!.n;
}

const two = async (): Promise<{ processes: Processes; stores: readonly [Store, Store] }> => {
  const processes = await Processes.on(server);
  return { processes, stores: [processes.first, await processes.start()] };
};

const rename = (name: string) => ({ kind: 'changeProject', name, atMs: startMs + 1 }) as const;

describe.skipIf(missing !== null)('two processes', () => {
  it('two processes together accept the rest of a quota and nothing more', async () => {
    const { processes, stores } = await two();
    await stored(stores[0], request(Array.from({ length: 90 }, () => event())));
    const meter = { op: 'audit_event', units: 'accepted', limit: 100 } as const;
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, at) => stores[at % 2]!.append(request([event()], { meter }))),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'stored')).toHaveLength(10);
    expect(outcomes.filter(({ outcome }) => outcome === 'over_quota')).toHaveLength(190);
    expect(await stores[1].usage('prj_a', '2026-01')).toEqual(used({ audit_event: 100 }));
    await processes.drop();
  });

  it('two processes begin a month once, no matter which comes first', async () => {
    const { processes, stores } = await two();
    for (const store of [...stores, ...stores]) await stored(store, request([event()]));
    processes.clock.ms = Date.UTC(2026, 1, 1);
    const counts = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => (await stored(stores[at % 2]!, request([event()]))).used),
    );
    expect(counts.toSorted((a, b) => a - b)).toEqual(counts.map((_, at) => at + 1));
    expect(await stores[0].usage('prj_a', '2026-01')).toEqual(used({ audit_event: 4 }));
    expect(await stores[1].usage('prj_a', '2026-02')).toEqual(used({ audit_event: 20 }));
    await processes.drop();
  });

  it('two processes sign one person up once', async () => {
    const { processes, stores } = await two();
    for (let round = 0; round < 10; round += 1) {
      const codes = await Promise.all(
        stores.map((store, at) => {
          const made = tenant(`x${round}${at}`);
          return codeOf(store.createTenant({ ...made, user: { ...made.user!, subject: `same ${round}` } }));
        }),
      );
      expect(codes.toSorted()).toEqual(['USER_EXISTS', 'none']);
    }
    await processes.drop();
  });

  it('two processes give a name to one project, be it new, renamed or restored', async () => {
    const { processes, stores } = await two();
    const [one, other] = stores;
    await one.createTenant(tenant('x'));
    await one.createTenant(moreProjects(storedProject('x', 'second'), storedProject('x', 'third')));
    const { updatedMs } = (await one.storedProject('org_x', 'prj_x_live'))!;
    for (let round = 0; round < 8; round += 1) {
      const codes = await Promise.all([
        codeOf(apply(one, 'prj_x_live', rename(`Wanted ${round}`))),
        codeOf(apply(other, 'prj_x_second', rename(`WANTED ${round}`))),
        codeOf(other.createTenant(moreProjects(storedProject('x', `wanted ${round}`)))),
      ]);
      expect(codes.toSorted()).toEqual(['NAME_TAKEN', 'NAME_TAKEN', 'none']);
    }
    expect(updatedMs).toBe(startMs);
    await processes.drop();
  });

  it('two processes together create at most as many projects as an organization may have', async () => {
    const { processes, stores } = await two();
    await stores[0].createTenant(tenant('x'));
    const more = limits.projectsPerOrganization - 2 - 2;
    await asSuperuser(
      processes,
      `INSERT INTO project SELECT 1000 + i, 'prj_more_' || i, 'org_x', 'production', 'a' || i, 'm' || i
         FROM generate_series(1, ${more}) AS i;
       INSERT INTO project_profile SELECT 1000 + i, 'org_x', 'production', 'n', 'n' || i, '{}', '{}', 0, 0, NULL
         FROM generate_series(1, ${more}) AS i`,
    );
    const codes = await Promise.all(
      Array.from({ length: 5 }, (_, at) =>
        codeOf(stores[at % 2]!.createTenant(moreProjects(storedProject('x', `p${at}`)))),
      ),
    );
    expect(codes.toSorted()).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT', 'none', 'none']);
    expect(await stores[1].projects('org_x')).toHaveLength(limits.projectsPerOrganization);
    const { projects: usages } = await stores[0].usageOf('org_x', '2026-01');
    expect(usages).toHaveLength(limits.projectsPerOrganization);
    expect(usages.every(({ used: units }) => units.audit_event === 0)).toBe(true);
    await processes.drop();
  });

  it('two processes report to one home, move it, and never deadlock', async () => {
    const { processes, stores } = await two();
    const [one, other] = stores;
    await one.createTenant(toldTenant('x'));
    const names = ['a', 'b', 'c', 'd'];
    const more = (...made: readonly string[]): NewTenant => ({
      ...moreProjects(),
      projects: made.map((name) => toldProject(newProject(storedProject('x', name)))),
    });
    await one.createTenant(more(...names));
    const told = event({ runId: 'gov.system', eventType: 'told' });
    const tell = (store: Store, change: AppendRequest) => store.append({ ...change, toHome: [told] });
    const set = (name: string, settings: string) => toldUpdate(['x', name], { settings });
    const rounds = Array.from({ length: 12 }, (_, at) => at);
    for (const at of rounds) {
      const settings = `{"at":${at}}`;
      await Promise.all([
        ...names.map((name, no) => tell(stores[no % 2]!, set(name, settings))),
        tell(one, set('live', settings)),
        tell(other, set('live', `{"other":${at}}`)),
        other.append(toldCustomer('x', `${at}`)),
        one.append(request([event()], { projectId: 'prj_x_live' })),
        other.createTenant({ ...more(`new ${at}`), toHome: [told] }),
      ]);
    }
    expect((await one.head('prj_x_live', 'audit')).size).toBe(4 + rounds.length * (names.length + 5));
    await Promise.all(['live', ...names].map((name, no) => tell(stores[no % 2]!, toldDeletion(['x', name]))));
    const { production } = (await other.organization('org_x'))!.home;
    expect(await one.projects('org_x')).toContainEqual(
      expect.objectContaining({ project: expect.objectContaining({ projectId: production }) }),
    );
    const { problems } = await fsckPostgres({ url: processes.database.serving, deep: true });
    // rows of tenants are made here without the events that tell of them
    expect(problems.filter(({ kind }) => !/^(?:key|project|organization)_mismatch$/.test(kind))).toEqual([]);
    expect(await deadlocks(processes, stores)).toBe(0);
    await processes.drop();
  });

  it('two processes never deadlock when a credential of the home is used, changed or ended', async () => {
    const { processes, stores } = await two();
    const [one, other] = stores;
    await one.createTenant(tenant('x'));
    await one.createTenant(moreProjects(storedProject('x', 'more')));
    const toHome = [event({ runId: 'gov.system', eventType: 'told' })];
    const key = apiKey('asks', { projectId: 'prj_x_live', scopes: ['*'] });
    await apply(one, 'prj_x_live', { kind: 'saveApiKey', key });
    const { name, description, scopes, expiresMs } = key;
    const sessions = Array.from({ length: 30 }, (_, at) =>
      session('x', { digest: digestOf(`session ${at}`) }),
    );
    for (const opened of sessions) {
      await apply(one, 'prj_x_live', { kind: 'openSession', session: opened });
    }
    const inTurn = async (times: number, work: (at: number) => Promise<unknown>): Promise<void> => {
      for (let at = 0; at < times; at += 1) await work(at);
    };
    const by = (kind: 'key' | 'session', digest: Uint8Array): RequiredCaller => ({
      kind: 'requireCaller',
      credential: { kind, digest },
      scopes: ['projects:write'],
      atMs: startMs,
    });
    const rename = (asking: RequiredCaller, at: number) => ({
      ...change('prj_x_more', asking, { kind: 'changeProject', name: `n ${at}`, atMs: startMs }),
      toHome,
    });
    await Promise.all([
      inTurn(30, async (at) => one.append(rename(by('key', key.digest), at))),
      inTurn(30, async (at) => codeOf(one.append(rename(by('session', sessions[at]!.digest), at)))),
      inTurn(15, async (at) =>
        one.createTenant({
          ...moreProjects(storedProject('x', `p${at}`)),
          by: by('key', key.digest),
          toHome,
        }),
      ),
      inTurn(30, async (at) =>
        apply(other, 'prj_x_live', {
          kind: 'changeApiKey',
          keyId: key.keyId,
          name,
          description,
          scopes,
          expiresMs,
          atMs: startMs + at,
        }),
      ),
      inTurn(30, async (at) =>
        apply(other, 'prj_x_live', { kind: 'endSession', digest: sessions[at]!.digest, atMs: startMs + at }),
      ),
    ]);
    expect(await deadlocks(processes, stores)).toBe(0);
    await processes.drop();
  });

  it('a missing home refuses only the requests that report to it', async () => {
    const { processes, stores } = await two();
    await stores[0].createTenant(tenant('x'));
    await asSuperuser(processes, "UPDATE organization SET home_production = 'prj_none'");
    const results = await Promise.allSettled([
      stores[0].append(request([event()], { projectId: 'prj_x_live' })),
      stores[0].append({ ...change('prj_x_live', rename('n')), toHome: [event()] }),
      stores[0].append(request([event()], { projectId: 'prj_x_live' })),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await stores[1].storedProject('org_x', 'prj_x_live'))?.name).toBe('live');
    expect((await stores[1].head('prj_x_live', 'audit')).size).toBe(4);
    await processes.drop();
  });

  it('two processes use the signing keys that the first of them claimed', async () => {
    const { processes, stores } = await two();
    const claims = await Promise.all(stores.map((store, at) => store.claimInstallation(`keys ${at}`)));
    expect(new Set(claims).size).toBe(1);
    expect(await stores[0].installation()).toBe(claims[0]);
    await processes.drop();
  });

  it('two processes use the master key that the first of them claimed', async () => {
    const { processes } = await two();
    const [one, other] = [await processes.start(), await processes.start()];
    expect(await one.claimMasterKey(null)).toBeNull();
    const claims = await Promise.all([one, other].map((store, at) => store.claimMasterKey(`key ${at}`)));
    expect(new Set(claims).size).toBe(1);
    expect(await one.claimMasterKey('key 7')).toBe(claims[0]);
    expect(await other.claimMasterKey(null)).toBe(claims[0]);
    await processes.drop();
  });

  it('a process knows a session that another process opened or ended', async () => {
    const { processes, stores } = await two();
    const [one, other] = stores;
    await one.createTenant(tenant('x'));
    const { digest } = session('x');
    await apply(one, 'prj_x_live', { kind: 'openSession', session: session('x') });
    expect((await other.session(digest))?.user.userId).toBe('usr_x');
    await apply(other, 'prj_x_live', { kind: 'endSession', digest, atMs: startMs + 5 });
    expect((await one.session(digest))?.session.endedMs).toBe(startMs + 5);
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('row-level security of tenants', () => {
  const tables = ['organization', 'person', 'session', 'project_profile', 'project'] as const;

  /** What the serving role counts, or is told, after these settings. */
  async function asked<Value>(
    processes: Processes,
    settings: Readonly<Record<string, string>>,
    body: (client: Client) => Promise<Value>,
  ): Promise<Value> {
    const client = new Client({ connectionString: processes.database.serving });
    await client.connect();
    try {
      await client.query('BEGIN; SET LOCAL search_path = gov');
      for (const [name, value] of Object.entries(settings)) {
        await client.query('SELECT set_config($1, $2, true)', [`gov.${name}`, value]);
      }
      return await body(client);
    } finally {
      await client.end();
    }
  }

  const counts = async (client: Client): Promise<number[]> => {
    const found: number[] = [];
    for (const table of tables) {
      const { rows } = await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`);
      found.push(Number(rows[0]!.n));
    }
    return found;
  };

  const errorOf = (statement: string) => async (client: Client) =>
    client.query(statement).then(
      ({ rowCount }) => rowCount,
      (error: unknown) => (error as { code: string }).code,
    );

  const three = async (): Promise<Processes> => {
    const processes = await Processes.on(server);
    for (const name of ['x', 'y', 'z']) {
      await processes.first.createTenant(tenant(name));
      await apply(processes.first, `prj_${name}_live`, { kind: 'openSession', session: session(name) });
    }
    return processes;
  };

  it.each([
    ['nothing', {}, [0, 0, 0, 0, 0]],
    ['no organization', { organization: '' }, [0, 0, 0, 0, 0]],
    ['an organization', { organization: 'org_x' }, [1, 1, 1, 2, 2]],
    ['a person', { issuer: 'https://issuer.test', subject: 'y' }, [0, 1, 0, 0, 0]],
    ['a subject of no issuer', { subject: 'y' }, [0, 0, 0, 0, 0]],
    ['a session', { digest: Buffer.from(session('z').digest).toString('hex') }, [0, 0, 1, 0, 0]],
    ['a project', { project: '3' }, [0, 0, 0, 1, 1]],
    ['jobs', { duty: 'jobs' }, [0, 0, 0, 0, 7]],
  ])(
    'row-level security where %s is set shows only the rows that belong to it',
    async (_, settings, expected) => {
      const processes = await three();
      expect(await asked(processes, settings, counts)).toEqual(expected);
      await processes.drop();
    },
  );

  it('row-level security refuses to insert rows for another organization or move rows there', async () => {
    const processes = await three();
    const own = { organization: 'org_x', project: '2' };
    const refused = [
      "INSERT INTO organization VALUES ('org_new', 'n', NULL, 'a', 'b', 0)",
      "INSERT INTO person VALUES ('usr_new', 'org_y', 'i', 's', NULL, 'n', 0)",
      "INSERT INTO session VALUES ('\\x01', 'cli', 'usr_y', 'org_y', 0, 0, 0, NULL)",
      "INSERT INTO project_profile VALUES (4, 'org_x', 'production', 'n', 'k', '{}', '{}', 0, 0, NULL)",
      // of its own organization, but not the project that is written to
      "UPDATE project_profile SET name = 'n' WHERE project = 3",
      "INSERT INTO period VALUES (3, '2026-01', '{}')",
      "INSERT INTO installation (text) VALUES ('mine')",
      "INSERT INTO master_key (text) VALUES ('mine')",
    ];
    for (const statement of refused) {
      expect([statement, await asked(processes, own, errorOf(statement))]).toEqual([statement, '42501']);
    }
    const unseen = [
      "UPDATE organization SET customer_id = 'c' WHERE organization_id = 'org_y'",
      "UPDATE organization SET home_production = 'prj_x_live' WHERE organization_id = 'org_y'",
      'UPDATE session SET ended_ms = 1 WHERE ended_ms IS NULL AND organization_id <> $$org_x$$',
      "UPDATE project_profile SET name = 'n' WHERE project > 3",
    ];
    for (const statement of unseen) {
      expect([statement, await asked(processes, own, errorOf(statement))]).toEqual([statement, 0]);
    }
    await processes.drop();
  });

  it('triggers refuse changes of fixed columns that row-level security allows', async () => {
    const processes = await three();
    const own = { organization: 'org_x', project: '2' };
    const changes = [
      'UPDATE organization SET created_ms = 1',
      "UPDATE project_profile SET environment = 'sandbox' WHERE project = 2",
      'UPDATE session SET expires_ms = expires_ms + 1',
      'UPDATE session SET last_used_ms = last_used_ms - 1',
    ];
    for (const change of changes) {
      expect([change, await asked(processes, own, errorOf(change))]).toEqual([change, '23514']);
    }
    for (const change of [
      "UPDATE person SET email = 'x'",
      "UPDATE period SET base = '{}'",
      'DELETE FROM organization',
    ]) {
      expect([change, await asked(processes, own, errorOf(change))]).toEqual([change, '42501']);
    }
    await processes.drop();
  });
});
