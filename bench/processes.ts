/**
 * Benchmark of one and of two service processes on one PostgreSQL. The same clients send batches of recorded
 * events over HTTP into two projects of different organizations. Server, clients and database share the
 * machine, so the table also shows the CPU of each for one event. `node bench/processes.ts [rounds]
 * [connections per project]`
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuSeconds, discard, median, report, scratch, share } from './support/harness.ts';
import { openHosted, type HostedProcess } from './support/hosted.ts';
import { load, recordedEvents } from './support/recorded.ts';

const rounds = Number(process.argv[2] ?? 7);
const connections = Number(process.argv[3] ?? 4);
const batchSize = 500;
const folder = scratch();
const hosted = await openHosted();

/** CPU of the database server with all its processes, also ended ones. */
function databaseSeconds(): number {
  const [parent = ''] = readFileSync(join(hosted.databaseFolder, 'data/postmaster.pid'), 'utf8').split('\n');
  let seconds = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      if (pid !== parent && fields[1] !== parent) continue;
      const [own, ended] = [Number(fields[11]) + Number(fields[12]), Number(fields[13]) + Number(fields[14])];
      seconds += (own + ended) / 100;
    } catch {
      // the process ended meanwhile
    }
  }
  return seconds;
}

/** Bodies of one round and project, with new ids in each. */
function bodiesOf(name: string): { file: string; count: number; events: number } {
  const events = [0, 1].flatMap((part) => recordedEvents(`${name}-${part}`, { keyed: true }));
  const bodies: string[] = [];
  for (let from = 0; from < events.length; from += batchSize) {
    bodies.push(JSON.stringify({ events: events.slice(from, from + batchSize) }));
  }
  const file = join(folder, `bodies-${name}.json`);
  writeFileSync(file, JSON.stringify(bodies));
  return { file, count: bodies.length, events: events.length };
}

interface Measured {
  readonly rate: number;
  readonly serviceUs: number;
  readonly databaseUs: number;
  readonly clientUs: number;
  readonly p99: number;
}

let round = 0;

/** Both projects at the same time, each through its own process where there are two. */
async function ingest(keys: readonly string[], services: readonly HostedProcess[]): Promise<Measured> {
  round += 1;
  const works = keys.map((key, at) => ({ key, ...bodiesOf(`r${round}-${at}`) }));
  const before = [services.map(({ pid }) => cpuSeconds(pid)), databaseSeconds()] as const;
  const start = performance.now();
  const results = await Promise.all(
    works.map(({ key, file, count }, at) =>
      load({
        port: services[at % services.length]?.port ?? 0,
        path: '/api/v1/events/batch',
        key,
        connections,
        seconds: 60,
        requests: count,
        bodies: file,
      }),
    ),
  );
  const seconds = (performance.now() - start) / 1000;
  if (results.some(({ failed }) => failed > 0)) throw new Error('batches failed');
  const events = works.reduce((sum, each) => sum + each.events, 0);
  const perEvent = 1e6 / events;
  const spent = services.reduce((sum, { pid }, at) => sum + cpuSeconds(pid) - (before[0][at] ?? 0), 0);
  return {
    rate: events / seconds,
    serviceUs: spent * perEvent,
    databaseUs: (databaseSeconds() - before[1]) * perEvent,
    clientUs: results.reduce((sum, { cpuSeconds: each }) => sum + each, 0) * perEvent,
    p99: Math.max(...results.map(({ p99 }) => p99)),
  };
}

const keys = [await hosted.makeProject('a'), await hosted.makeProject('b')];
const [one, two] = [await hosted.start(), await hosted.start()];
const variants = { one: [one], two: [one, two] } as const;
const measured: Record<keyof typeof variants, Measured[]> = { one: [], two: [] };
for (let time = 0; time < rounds + 2; time += 1) {
  for (const name of ['one', 'two'] as const) {
    const found = await ingest(keys, variants[name]);
    if (time >= 2) measured[name].push(found); // the first rounds warm code and files
  }
}
const of = (name: keyof typeof variants, key: keyof Measured): number =>
  median(measured[name].map((each) => each[key]));
const row = (name: keyof typeof variants, what: string) => {
  const us = (key: 'serviceUs' | 'databaseUs' | 'clientUs'): string => `${of(name, key).toFixed(0)} µs`;
  return {
    ratio: share(of(name, 'rate'), of('one', 'rate')),
    figure: `${of(name, 'rate').toFixed(0)}/s`,
    what:
      `${what}; CPU per event: service ${us('serviceUs')}, database ${us('databaseUs')}, clients ` +
      `${us('clientUs')}; p99 ${of(name, 'p99').toFixed(0)} ms a batch`,
  };
};
report(
  `batch ingest over HTTP into two projects, ${batchSize} a batch, 2 × ${connections} connections, median of ${rounds}`,
  [row('one', 'one process'), row('two', 'two processes on the same database (reach: not lower)')],
);
for (const each of [one, two]) await each.stop();
await hosted.close();
discard(folder);
