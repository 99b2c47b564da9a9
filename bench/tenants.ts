/**
 * Benchmark of one tenant in a store with a thousand tenants of a thousand projects each, compared with a store
 * of this tenant alone. Measures main reads and an append on either engine, in alternation. On PostgreSQL it
 * also checks that every plan uses the tenant. `node bench/tenants.ts [organizations] [projects each]
 * [sqlite|postgres]`; a million projects take minutes and 5 GB.
 */
import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import type { Store } from '../src/store/port/store.ts';
import { openPostgres } from '../src/store/postgres/store.ts';
import { openStore } from '../src/store/sqlite/store.ts';
import { storeFiles } from '../src/store/file/paths.ts';
import { positionBits } from '../src/store/file/position.ts';
import { event, request } from '../test/store/support/fixture.ts';
import { startServer, type Server } from '../test/store/postgres/support/server.ts';
import { plannedStatements, strayed } from '../test/store/postgres/support/plans.ts';
import { apply, session, storedProject, tenant, moreProjects } from '../test/store/support/tenants.ts';
import { alternate, discard, milliseconds, report, scratch } from './support/harness.ts';
import { otherTenants, postgresDialect, sqliteDialect, type OtherTenants } from './support/other-tenants.ts';

const [organizations, projectsEach] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 1000)];
const engines = process.argv[4] === undefined ? ['sqlite', 'postgres'] : [process.argv[4]];
const others: OtherTenants = { organizations, projectsEach, after: 2000 };
const rounds = 21;
const projectId = 'prj_x_live';

/** Organization `org_x` with a hundred projects, in one of them 20 runs of 100 events, a session, jobs. */
async function makeTenant(store: Store): Promise<void> {
  await store.createTenant(tenant('x'));
  await store.createTenant(
    moreProjects(...Array.from({ length: 98 }, (_, at) => storedProject('x', `more${at}`))),
  );
  await apply(store, projectId, { kind: 'openSession', session: session('x') });
  for (let run = 0; run < 20; run += 1) {
    const leaves = Array.from({ length: 100 }, (_, at) =>
      event({ runId: `run-${run}`, eventType: at % 2 === 0 ? 'tool.call' : 'model.invoked' }),
    );
    await store.append(request(leaves, { projectId }));
  }
  const [tree, { size, root }] = ['audit', await store.head(projectId, 'audit')] as const;
  const checkpoint = { origin: 'test/x/live/audit', size, root, extensions: [] };
  await store.saveCheckpoint(projectId, tree, checkpoint, () => 'a note');
}

type Verb = (store: Store) => Promise<unknown>;
const [{ digest }] = [session('x')];
const page = { limit: 100 };
const verbs: Readonly<Record<string, Verb>> = {
  'append of one event': (store) => store.append(request([event({ runId: 'more' })], { projectId })),
  'append of 100 events': (store) =>
    store.append(
      request(
        Array.from({ length: 100 }, () => event({ runId: 'more' })),
        { projectId },
      ),
    ),
  'key by its digest': (store) => store.apiKey(tenant('x').projects[0]?.keys[0]?.digest ?? Buffer.alloc(0)),
  'session by its digest': (store) => store.session(digest),
  'person by issuer and subject': (store) => store.user('https://issuer.test', 'x'),
  'projects of the organization': (store) => store.projects('org_x'),
  'one project': (store) => store.storedProject('org_x', projectId),
  'usage of a project': (store) => store.usage(projectId, '2026-01'),
  'usage of the organization': (store) => store.usageOf('org_x', '2026-01'),
  'keys of a project': (store) => store.apiKeys(projectId, {}, page),
  runs: (store) => store.runs(projectId, {}, page),
  'runs by type': (store) => store.runs(projectId, { eventType: 'tool.call' }, page),
  'events of a run': (store) => store.events(projectId, { runId: 'run-7' }, { ...page, order: 'asc' }),
  'events of a run by type': (store) =>
    store.events(projectId, { runId: 'run-7', eventType: 'tool.call' }, { ...page, order: 'desc' }),
  'count of events': (store) => store.countEvents(projectId, { eventType: 'tool.call' }),
  'events after an index': (store) => store.eventsAfter(projectId, {}, { after: 1000, limit: 100 }),
  'one leaf': (store) => store.leaf(projectId, 1000),
  'newest checkpoint': (store) => store.newestCheckpoint(projectId, 'audit'),
  jobs: (store) => store.jobs(projectId, {}, page),
  proofs: (store) => store.proofs(projectId, {}, page),
  policies: (store) => store.policies(projectId, {}, page),
  'a kept answer': (store) => store.keptResponse(projectId, 'none'),
  'a job to claim, of all tenants': (store) => store.claimJob(Date.now(), 1000),
};

interface Pair {
  readonly alone: Store;
  readonly many: Store;
}

/** Every verb on both stores in each round, so that a quiet moment helps both. */
async function measure(pair: Pair): Promise<{ ratio: string; figure: string; what: string }[]> {
  const calls = 10;
  const variants: Record<string, () => Promise<number>> = {};
  for (const [what, verb] of Object.entries(verbs)) {
    for (const [name, store] of Object.entries(pair) as [keyof Pair, Store][]) {
      variants[`${name} ${what}`] = async () => {
        const ms = await milliseconds(async () => {
          for (let call = 0; call < calls; call += 1) await verb(store);
        });
        return (ms * 1000) / calls;
      };
    }
  }
  await alternate(variants, 2);
  const times = await alternate(variants, rounds);
  return Object.keys(verbs).map((what) => {
    const [alone = NaN, many = NaN] = [times[`alone ${what}`], times[`many ${what}`]];
    return { ratio: `${(many / alone).toFixed(2)} ×`, figure: `${many.toFixed(0)} µs`, what };
  });
}

const print = (rows: { ratio: string; figure: string; what: string }[], engine: string): void =>
  report(
    `a tenant beside ${organizations * projectsEach} projects of ${organizations} others, on ${engine}: ` +
      `medians of ${rounds}; × is beside a store with this tenant alone; reach: 2 ×`,
    rows,
  );

/** Runs while both stores are open, because a start would find that the other rows are not valid logs. */
async function onSqlite(): Promise<void> {
  const folders = [scratch(), scratch()] as const;
  const open = (dataDir: string): Store =>
    openStore({ dataDir, clock: Date, randomBytes, reserveBytes: 0, thread: true });
  const [alone, many] = [open(folders[0]), open(folders[1])];
  for (const store of [alone, many]) await makeTenant(store);
  const db = new Database(storeFiles(folders[1]).main);
  for (const { statement } of otherTenants(sqliteDialect(positionBits), others)) db.exec(statement);
  db.close();
  print(await measure({ alone, many }), 'sqlite');
  for (const store of [alone, many]) await store.close();
  for (const folder of folders) discard(folder);
}

async function fillPostgres(superuser: string): Promise<void> {
  const client = new Client({ connectionString: superuser });
  await client.connect();
  await client.query(
    "SET search_path = gov; SET synchronous_commit = off; SET session_replication_role = 'replica'",
  );
  for (const { table, statement } of otherTenants(postgresDialect, others)) {
    await client.query(statement);
    await client.query(`VACUUM ANALYZE ${table}`);
  }
  await client.query('CHECKPOINT');
  await client.end();
}

async function onPostgres(server: Server): Promise<void> {
  const databases = [await server.database(), await server.database()] as const;
  const open = ({ serving: url }: { serving: string }) =>
    openPostgres({ url, clock: Date, randomBytes, connections: 2 });
  const [alone, many] = [await open(databases[0]), await open(databases[1])];
  for (const store of [alone, many]) await makeTenant(store);
  await fillPostgres(databases[1].superuser);
  print(await measure({ alone, many }), 'postgres');
  // the bound for a scan of one tenant's rows: a scan of a whole table costs a hundred times more
  const found = await strayed(databases[1].serving, 100_000);
  const all = plannedStatements().length;
  console.log(`  plans: ${all - (found?.length ?? 0)} of ${all} statements go by an index of the tenant`);
  for (const text of found ?? []) console.log(`  not by the tenant: ${text}`);
  for (const store of [alone, many]) await store.close();
  for (const database of databases) await database.drop();
}

if (engines.includes('sqlite')) await onSqlite();
if (engines.includes('postgres')) {
  const settings = { shared_buffers: '512MB', max_wal_size: '8GB', autovacuum: 'on' };
  const server = await startServer({ folder: scratch(), settings });
  if ('missing' in server) throw new Error(server.missing);
  await onPostgres(server);
  await server.stop();
}
