/**
 * Benchmark of lists of a project with millions of events, four in five of them in one run, on both engines.
 * Reads the first page and page 10,000 of 100 events, by run, by run and type, and by run and time range. Reads
 * through the store port, which checks every event and its body against the tree. `node bench/lists.ts [events]
 * [sqlite|postgres]`; 5,000,000 take some minutes.
 */
import { randomBytes } from 'node:crypto';
import { saltPool } from '../src/core/events/disclosure.ts';
import { draftEvent, draftLeaf, type EventDraft } from '../src/core/events/record.ts';
import type { EventFilter, Store } from '../src/store/port/store.ts';
import type { Leaf } from '../src/store/port/store.ts';
import { openPostgres } from '../src/store/postgres/store.ts';
import { openStore } from '../src/store/sqlite/store.ts';
import { startServer } from '../test/store/postgres/support/server.ts';
import { alternate, discard, milliseconds, report, scratch } from './support/harness.ts';

const total = Number(process.argv[2] ?? 5_000_000);
const engines = process.argv[3] === undefined ? ['sqlite', 'postgres'] : [process.argv[3]];
const projectId = 'prj_bench';
const size = 100;
const rounds = 15;
const startMs = Date.UTC(2026, 0, 1);
const salt = saltPool(randomBytes);

/** Leaf 0 is the genesis leaf, so event `no` is leaf `no + 1`. */
const isLong = (no: number): boolean => no % 5 !== 0;
const typeOf = (no: number): string =>
  no % 100_003 === 77 ? 'approval.asked' : no % 2 === 0 ? 'tool.call' : 'model.invoked';
const msOf = (no: number): number => startMs + no * 50;

function draft(no: number): EventDraft {
  const runId = isLong(no) ? 'long' : `run-${no % 5000}`;
  const event = {
    runId,
    eventType: typeOf(no),
    actor: { name: 'agent', role: 'agent' },
    action: 'do',
    timestamp: new Date(msOf(no)).toISOString(),
    metadata: { step: no },
  };
  const drafted = draftEvent(event, msOf(no), salt);
  if ('code' in drafted) throw new Error(drafted.detail);
  return drafted;
}

async function fill(store: Store): Promise<number> {
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
  return milliseconds(async () => {
    let writing: Promise<unknown> = Promise.resolve();
    for (let from = 0; from < total; from += 2000) {
      const leaves = Array.from({ length: Math.min(2000, total - from) }, (_, at) => draft(from + at));
      await writing; // drafts of the next batch are created while this one is stored
      writing = store.append({ projectId, leaves, meter: { op: 'audit_event', units: 'accepted' } });
    }
    await writing;
  });
}

interface Wanted {
  readonly what: string;
  readonly filter: EventFilter;
  /** Reads page 10,000 too, where it exists. */
  readonly far: boolean;
}

const lateMs = msOf(Math.floor(total * 0.6));
const wanted: readonly Wanted[] = [
  { what: 'runId', filter: {}, far: true },
  { what: 'runId + eventType, every second event', filter: { eventType: 'tool.call' }, far: true },
  { what: 'runId + eventType, one event in 100,000', filter: { eventType: 'approval.asked' }, far: false },
  { what: 'runId + time range, the last 40 %', filter: { startMs: lateMs }, far: true },
  {
    what: 'runId + time range, 10 s near the end',
    filter: { startMs: msOf(total - 5000), endMs: msOf(total - 4800) },
    far: false,
  },
];

const fits = (no: number, { eventType, startMs: from = 0, endMs: to = Infinity }: EventFilter): boolean =>
  isLong(no) && (eventType === undefined || typeOf(no) === eventType) && msOf(no) >= from && msOf(no) <= to;

/** The leaf index before a page: page 10,000, or the last whole one where there are fewer. */
function farPlace(filter: EventFilter): { after: number; page: number } {
  const places: number[] = [0];
  let seen = 0;
  for (let no = 0; no < total && places.length < 10_001; no += 1) {
    if (fits(no, filter) && (seen += 1) % size === 0) places.push(no + 1);
  }
  const page = places.length - 1;
  return { after: places[page - 1] ?? 0, page };
}

async function measure(store: Store): Promise<{ ratio: string; figure: string; what: string }[]> {
  const pages: Record<string, () => Promise<number>> = {};
  const firsts = new Map<string, string>();
  for (const { what, filter, far } of wanted) {
    const read = (after?: number): Promise<Leaf[]> =>
      store.events(
        projectId,
        { runId: 'long', ...filter },
        { limit: size, order: 'asc', ...(after === undefined ? {} : { after }) },
      );
    const found = (await read()).length;
    const first = `${what}: page 1 of ${found} events`;
    pages[first] = () => milliseconds(() => read());
    if (!far) continue;
    const place = farPlace(filter);
    const name = `${what}: page ${place.page.toLocaleString('en')}`;
    firsts.set(name, first);
    pages[name] = () => milliseconds(() => read(place.after));
  }
  await alternate(pages, 2);
  const times = await alternate(pages, rounds);
  return Object.entries(times).map(([what, ms]) => {
    const first = firsts.get(what);
    const ratio = first === undefined ? '' : `${(ms / (times[first] ?? NaN)).toFixed(2)} × page 1`;
    return { ratio, figure: `${ms.toFixed(1)} ms`, what };
  });
}

async function sqlite(): Promise<[Store, () => Promise<void>]> {
  const dataDir = scratch();
  const store = openStore({ dataDir, clock: Date, randomBytes, reserveBytes: 0, thread: true });
  return [store, async () => (await store.close(), discard(dataDir))];
}

async function postgres(): Promise<[Store, () => Promise<void>]> {
  const server = await startServer({
    folder: scratch(),
    settings: { shared_buffers: '512MB', max_wal_size: '4GB', autovacuum: 'on' },
  });
  if ('missing' in server) throw new Error(server.missing);
  const database = await server.database();
  const store = await openPostgres({ url: database.serving, clock: Date, randomBytes });
  return [store, async () => (await store.close(), await database.drop(), server.stop())];
}

for (const engine of engines) {
  const [store, end] = await (engine === 'sqlite' ? sqlite() : postgres());
  const filledMs = await fill(store);
  const rate = ((total / filledMs) * 1000).toFixed(0);
  report(
    `lists on ${engine}: ${total.toLocaleString('en')} events (made at ${rate}/s), medians of ${rounds}; reach: 20 ms, 1 ×`,
    await measure(store),
  );
  await end();
}
