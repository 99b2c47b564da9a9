/**
 * Benchmark of the cost of subject keys. Appends batches of 500 recorded events to a store that writes in this
 * thread: in clear, sealed, and sealed with the key of a subject. The subject is one of a thousand known ones,
 * or new with each event. Measures CPU time of appends and of leaf reads. `node bench/subjects.ts [rounds]`
 */
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { saltPool } from '../src/core/events/disclosure.ts';
import { draftEvent, draftLeaf, type EventDraft } from '../src/core/events/record.ts';
import { openStore } from '../src/store/sqlite/store.ts';
import { discard, median, report, scratch } from './support/harness.ts';
import { recordedEvents } from './support/recorded.ts';

const rounds = Number(process.argv[2] ?? 3);
const batchSize = 500;
const projectId = 'prj_bench';
const masterKey = randomBytes(32);
const salt = saltPool(randomBytes);
const events = recordedEvents('subjects', { keyed: false });
const subjectOf = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 32);

const kinds = {
  'in clear': { masterKey: undefined, subject: () => null },
  sealed: { masterKey, subject: () => null },
  'with keys of 1000 subjects': { masterKey, subject: (at: number) => `known ${at % 1000}` },
  'with a new subject each': { masterKey, subject: (at: number) => `new ${at}` },
} as const;

const drafts = (subject: (at: number) => string | null): EventDraft[] =>
  events.map((event, at) => {
    const drafted = draftEvent(event, Date.parse(event.timestamp), salt);
    if ('code' in drafted) throw new Error(drafted.detail);
    const name = subject(at);
    return name === null ? drafted : { ...drafted, subjects: [subjectOf(name)] };
  });

const cpu = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** CPU microseconds per event. */
async function measured(kind: keyof typeof kinds): Promise<{ append: number; read: number }> {
  const { masterKey: key, subject } = kinds[kind];
  const folder = scratch();
  const store = openStore({
    dataDir: join(folder, 'store'),
    clock: Date,
    randomBytes,
    reserveBytes: 0,
    masterKey: key,
  });
  const names = { organizationId: 'org_bench', auditOrigin: 'bench/audit', meteringOrigin: 'bench/metering' };
  const genesis = draftLeaf('gov.genesis/1', { origin: names.auditOrigin });
  await store.createProject({ projectId, environment: 'production', ...names }, genesis);
  const all = drafts(subject);
  const begun = cpu();
  for (let from = 0; from < all.length; from += batchSize) {
    const leaves = all.slice(from, from + batchSize);
    await store.append({ projectId, leaves, meter: { op: 'audit_event', units: 'accepted' } });
  }
  const appended = cpu();
  for (let from = 0; from < all.length; from += batchSize) {
    await store.leaves(projectId, 'audit', { from, to: from + batchSize });
  }
  const read = cpu();
  await store.close();
  discard(folder);
  const each = (seconds: number): number => (seconds / all.length) * 1e6;
  return { append: each(appended - begun), read: each(read - appended) };
}

const found = new Map<string, { append: number; read: number }[]>();
for (let round = 0; round < rounds; round++) {
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
    found.set(kind, [...(found.get(kind) ?? []), await measured(kind)]);
  }
}
report(
  `${events.length} events in batches of ${batchSize}, processor time an event`,
  [...found].map(([kind, all]) => {
    const [append, read] = [median(all.map((each) => each.append)), median(all.map((each) => each.read))];
    return { ratio: `${append.toFixed(1)} µs`, figure: `${read.toFixed(1)} µs to read`, what: kind };
  }),
);
