/**
 * Benchmark of the append path on PostgreSQL, compared with multi-row INSERT of the same rows (the floor) and
 * COPY. All use the same tables, indexes and server, in alternation. Server and client share the machine. `node
 * bench/postgres.ts [rounds]`
 */
import { randomBytes } from 'node:crypto';
import { saltPool } from '../src/core/events/disclosure.ts';
import { draftEvent, draftLeaf, type EventDraft } from '../src/core/events/record.ts';
import type { EventInput } from '../src/contract/events.ts';
import type { AppendRequest, Store } from '../src/store/port/store.ts';
import { openPostgres } from '../src/store/postgres/store.ts';
import { startServer } from '../test/store/postgres/support/server.ts';
import { BarePostgres } from './support/bare-postgres.ts';
import { alternate, milliseconds, report, scratch, share } from './support/harness.ts';
import { recordedEvents } from './support/recorded.ts';

const rounds = Number(process.argv[2] ?? 7);
const size = 500;
const server = await startServer({
  folder: scratch(),
  settings: { shared_buffers: '512MB', max_wal_size: '4GB' },
});
if ('missing' in server) throw new Error(server.missing);
const database = await server.database();
const salt = saltPool(randomBytes);
const projectId = 'prj_bench';

const draft = (event: EventInput): EventDraft => {
  const drafted = draftEvent(event, Date.parse(event.timestamp), salt);
  if ('code' in drafted) throw new Error(drafted.detail);
  return drafted;
};
const request = (events: readonly EventInput[]): AppendRequest => ({
  projectId,
  leaves: events.map(draft),
  meter: { op: 'audit_event', units: 'accepted' },
  fingerprints: new Map(events.map((_, at) => [at, 'f'.repeat(43)])),
});

let round = 0;
const batches = (): EventInput[][] => {
  const events = recordedEvents(`pg${(round += 1)}`, { keyed: true });
  return Array.from({ length: Math.ceil(events.length / size) }, (_, at) =>
    events.slice(at * size, (at + 1) * size),
  );
};

const open = async (): Promise<Store> => openPostgres({ url: database.serving, clock: Date, randomBytes });
const store = await open();
await store.createProject(
  {
    projectId,
    organizationId: 'org_bench',
    environment: 'production',
    auditOrigin: 'bench/audit',
    meteringOrigin: 'bench/metering/0',
  },
  draftLeaf('gov.genesis/1', {}),
);
for (const batch of batches()) await store.append(request(batch));
const bare = new BarePostgres(database.superuser);
await bare.open();

/** Events a second of several callers, each one batch after the other. */
async function ingest({ callers, drafted = false }: { callers: number; drafted?: boolean }): Promise<number> {
  const waiting = batches();
  const events = waiting.flat().length;
  const works: (EventInput[] | AppendRequest)[] = drafted ? waiting.map(request) : waiting;
  const ms = await milliseconds(() =>
    Promise.all(
      Array.from({ length: callers }, async () => {
        for (let work = works.shift(); work !== undefined; work = works.shift()) {
          await store.append(Array.isArray(work) ? request(work) : work);
        }
      }),
    ),
  );
  return (events / ms) * 1000;
}

const variants = {
  'floor: multi-row INSERT of the same rows, 500 a transaction': () => bare.insert(size),
  'COPY of the same rows, 500 a transaction': () => bare.copy(size),
  'draft + append, batches of 500, 4 callers (reach: 50 %)': () => ingest({ callers: 4 }),
  'draft + append, batches of 500, one caller': () => ingest({ callers: 1 }),
  'append alone (drafted before), one caller': () => ingest({ callers: 1, drafted: true }),
};
await alternate(variants, 2); // warms code and files
const rates = await alternate(variants, rounds);
const floor = rates['floor: multi-row INSERT of the same rows, 500 a transaction'];
report(
  `append on PostgreSQL: ${bare.events} events, medians of ${rounds}`,
  Object.entries(rates).map(([what, rate]) => ({
    ratio: share(rate, floor),
    figure: `${rate.toFixed(0)}/s`,
    what,
  })),
);
await bare.close();
await store.close();
await database.drop();
await server.stop();
