/**
 * Benchmark of exports from PostgreSQL, built in the thread of the service and stored as chunks in the
 * database. The floor is a bare read of the same rows by one client. All share the machine. `node
 * bench/export-postgres.ts [events]`
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { saltPool } from '../src/core/events/disclosure.ts';
import { draftEvent, draftLeaf, type EventDraft } from '../src/core/events/record.ts';
import type { EventInput } from '../src/contract/events.ts';
import { chunkArtifacts } from '../src/host/exports/chunked.ts';
import { ThreadWork } from '../src/host/process/thread-work.ts';
import type { Log } from '../src/service/call/log.ts';
import { openPostgres } from '../src/store/postgres/store.ts';
import { startServer } from '../test/store/postgres/support/server.ts';
import { median, milliseconds, report, scratch, share } from './support/harness.ts';
import { recordedEvents } from './support/recorded.ts';

const total = Number(process.argv[2] ?? 1_000_000);
const projectId = 'prj_bench';
const server = await startServer({
  folder: scratch(),
  settings: { shared_buffers: '512MB', max_wal_size: '4GB', autovacuum: 'on' },
});
if ('missing' in server) throw new Error(server.missing);
const database = await server.database();
const store = await openPostgres({ url: database.serving, clock: Date, randomBytes });
const salt = saltPool(randomBytes);

const draft = (event: EventInput): EventDraft => {
  const drafted = draftEvent(event, Date.parse(event.timestamp), salt);
  if ('code' in drafted) throw new Error(drafted.detail);
  return drafted;
};

async function fill(): Promise<void> {
  const genesis = draftLeaf('gov.genesis/1', {});
  const [auditOrigin, meteringOrigin] = ['bench/audit', 'bench/metering/0'];
  const environment = 'production';
  await store.createProject(
    { projectId, organizationId: 'org_bench', environment, auditOrigin, meteringOrigin },
    genesis,
  );
  for (let made = 0, round = 0; made < total; round += 1) {
    const events = recordedEvents(String(round)).slice(0, total - made);
    for (let at = 0; at < events.length; at += 1000) {
      const leaves = events.slice(at, at + 1000).map(draft);
      await store.append({ projectId, leaves, meter: { op: 'audit_event', units: 'accepted' } });
    }
    made += events.length;
  }
}

const client = new Client({ connectionString: database.superuser });
await client.connect();

/** Milliseconds of a bare read of all rows, 10,000 at a time. */
const bareRead = (): Promise<number> =>
  milliseconds(async () => {
    for (let after = '-1', rows = 1; rows > 0;) {
      const found = await client.query<{ position: string }>({
        name: 'bare',
        text: `SELECT position, record, disclosures FROM gov.leaf LEFT JOIN gov.body USING (position)
               WHERE position > $1 ORDER BY position LIMIT 10000`,
        values: [after],
      });
      rows = found.rows.length;
      after = found.rows.at(-1)?.position ?? after;
    }
  });

const silent = (): void => {};
const log: Log = { debug: silent, info: silent, warn: silent, error: console.error };
const work = new ThreadWork({ engine: 'postgres', url: database.serving, connections: 2 }, log);
const artifacts = chunkArtifacts(store.chunks, randomBytes);

async function build(format: 'json' | 'csv'): Promise<number> {
  const { size: treeSize, root } = await store.head(projectId, 'audit');
  const asked = { resource: 'audit_events', filters: '{}', createdMs: Date.now(), isProved: false } as const;
  const writer = await artifacts.create({ projectId, exportId: `exp_${format}` });
  const write = async (bytes: Uint8Array): Promise<Uint8Array> => {
    await writer.write(bytes);
    return bytes;
  };
  const input = {
    projectId,
    exportId: `exp_${format}`,
    ...asked,
    format,
    treeSize,
    root,
    prunedBelow: 0,
    jobsUntilMs: 0,
  };
  return milliseconds(async () => {
    await work.run('export', input, { events: total, host: { write } });
    await writer.finish();
  });
}

await fill();
await bareRead();
await build('json');
const times = { bare: [] as number[], json: [] as number[], csv: [] as number[] };
for (let round = 0; round < 3; round += 1) {
  times.bare.push(await bareRead());
  times.json.push(await build('json'));
  times.csv.push(await build('csv'));
}
const [bare, json, csv] = [median(times.bare), median(times.json), median(times.csv)];
const rate = (ms: number): string => `${Math.round((1000 * total) / ms)}/s`;
report(`exports of ${total} events out of PostgreSQL, medians of 3; reach: 30 %`, [
  { ratio: '100 %', figure: rate(bare), what: 'bare read of the rows' },
  { ratio: share(bare, json), figure: rate(json), what: 'JSON, kept as chunks' },
  { ratio: share(bare, csv), figure: rate(csv), what: 'CSV, kept as chunks' },
]);
await work.close();
await client.end();
await store.close();
await database.drop();
await server.stop();
