/**
 * Benchmark of the index of a log (`src/core/completeness/`): processor time a leaf, with an index leaf every
 * `limits.indexLeaves` and a save every `limits.indexSaveLeaves` leaves, and the longest stretch without a pause. 85 % of
 * the leaves are events. The floor hashes what a leaf adds: a node in two lists, and an item of one.
 * `node bench/completeness.ts [leaves] [runs]`
 *
 * On two shared cores, 1,000,000 leaves and 20,000 runs: 9.0 µs a leaf, of which the list of the client day is 2.2 µs (6.3 µs
 * in all without it). The largest single cost is SHA-256 of short texts: four to five calls of node's `hash` a leaf, 0.37 µs
 * each; then the regular expression that reads the record, and garbage collection. Flags in place of sets and a kept key of
 * the day gained 0.1 µs, less than the noise. Before the list of the day, a save took 15 ms in the median and 72 ms at most
 * on an idle machine; with a load of 13 it waits for the processor and the disk, up to 600 ms. Under load, saves of a half
 * and a quarter as many leaves took as long each (26 and 29 ms in the median), and cost 0.7 and 1.8 µs a leaf more. A save is
 * one transaction, because a list without its part of the map would be taken for an altered one.
 */
import { hash } from 'node:crypto';
import { limits } from '../src/contract/limits.ts';
import { LogMap } from '../src/core/completeness/log-map.ts';
import { readMapped } from '../src/core/completeness/map-function.ts';
import { draftLeaf } from '../src/core/events/record.ts';
import { openStore } from '../src/store/sqlite/store.ts';
import { discard, percentile, report, scratch } from './support/harness.ts';

const leaves = Number(process.argv[2] ?? 1_000_000);
const runs = Number(process.argv[3] ?? 20_000);
const projectId = 'prj_a';
const startMs = Date.UTC(2026, 0, 1);
/** Leaves between two pauses of the task. */
const atOnce = 500;

let seed = 1;
const random = (below: number): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
};
const events = new Map<number, number>();

/** About 50 runs are open at a time. */
function recordAt(index: number): string {
  const run = Math.min(runs - 1, Math.floor((index / leaves) * runs) + random(50));
  const time = new Date(startMs + Math.floor(index / 20) * 7).toISOString();
  if (random(100) >= 85)
    return `{"_sd":[],"_sd_alg":"sha-256","evaluationId":"pev_${index}","runId":"run-${run}","type":"gov.evaluation/1"}`;
  const runSeq = events.get(run) ?? 0;
  events.set(run, runSeq + 1);
  const digests = Array.from({ length: 6 }, (_, at) => `"${String(index * 6 + at).padStart(43, 'x')}"`);
  return `{"_sd":[${digests.join(',')}],"_sd_alg":"sha-256","eventId":"evt_${index}","eventType":"type.${random(40)}","runId":"run-${run}","runSeq":${runSeq},"serverTimestamp":"${time}","timestamp":"${time}","type":"gov.event/1"}`;
}

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const folder = scratch();
const store = openStore({
  dataDir: folder,
  clock: { now: () => Date.now() },
  randomBytes: (size) => Buffer.alloc(size, 7),
  reserveBytes: 0,
});
await store.createProject(
  { projectId, organizationId: 'org_a', environment: 'production', auditOrigin: 'a', meteringOrigin: 'm' },
  draftLeaf('gov.genesis/1', { origin: 'a' }),
);

const map = new LogMap();
const stretches = {
  add: [] as number[],
  root: [] as number[],
  unsaved: [] as number[],
  table: [] as number[],
};
const spent = { floor: 0, add: 0, root: 0, unsaved: 0, table: 0 };
/** Processor time of the thread that makes the index, so that a busy machine does not count. */
const ownMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
async function timed(part: keyof typeof stretches, work: () => unknown): Promise<void> {
  const [all, own, start] = [cpuMs(), ownMs(), performance.now()];
  await work();
  spent[part] += cpuMs() - all;
  stretches[part].push(part === 'table' ? performance.now() - start : ownMs() - own);
}

let savedSize = 0;
const floorNode = 'x'.repeat(65);
for (let from = 0; from < leaves; from += atOnce) {
  const records = Array.from({ length: Math.min(atOnce, leaves - from) }, (_, at) => recordAt(from + at));
  const hashes = records.map((record) => hash('sha256', `\0${record}`, 'binary'));
  const cpu = cpuMs();
  for (const _record of records) {
    hash('sha256', floorNode, 'binary');
    hash('sha256', floorNode, 'binary');
    hash('sha256', `\0${from} ${startMs}`, 'binary');
  }
  spent.floor += cpuMs() - cpu;
  await timed('add', () => {
    for (const [at, record] of records.entries()) {
      if (!map.add(hashes[at] ?? '', readMapped(record)))
        throw new Error(`leaf ${from + at} is out of order`);
    }
  });
  const size = from + records.length;
  if (Math.floor(size / limits.indexLeaves) > Math.floor(from / limits.indexLeaves) || size === leaves)
    await timed('root', () => map.root());
  if (size - savedSize < limits.indexSaveLeaves && size < leaves) continue;
  let unsaved: ReturnType<LogMap['unsaved']> | undefined;
  await timed('unsaved', () => (unsaved = map.unsaved()));
  const { parts, lists } = unsaved ?? map.unsaved();
  await timed('table', () =>
    store.saveMap(projectId, { map: { size, ms: map.ms, leafIndex: size, parts }, since: savedSize, lists }),
  );
  savedSize = size;
  map.saved(Infinity);
}
await store.close();
discard(folder);

const micros = (ms: number): string => `${((1000 * ms) / leaves).toFixed(1)} µs`;
const row = (part: keyof typeof stretches, what: string) => ({
  ratio: `${(spent[part] / spent.floor).toFixed(1)} x`,
  figure: `${micros(spent[part])}, longest ${Math.max(...stretches[part]).toFixed(0)} ms, median ${percentile(stretches[part], 0.5).toFixed(1)} ms`,
  what,
});
const ours = spent.add + spent.root + spent.unsaved + spent.table;
const mib = (process.memoryUsage().rss / 2 ** 20).toFixed(0);
report(`index of a log: ${leaves} leaves, ${runs} runs, ${map.keys} keys, ${mib} MiB (aim: 12 µs, 100 ms)`, [
  { ratio: '', figure: micros(spent.floor), what: 'floor: three hashes a leaf' },
  row('add', `read records and add them to their lists, ${atOnce} at a time`),
  row('root', 'the root, for an index leaf'),
  row('unsaved', 'what a save writes'),
  row('table', 'the save, in a transaction of the writing thread (by the clock)'),
  { ratio: `${(ours / spent.floor).toFixed(1)} x`, figure: micros(ours), what: 'all' },
]);
