/**
 * Benchmark of one and of two service processes on one PostgreSQL. The same clients send batches of recorded
 * events over HTTP into two projects of different organizations. Server, clients and database share the
 * machine, so the table also shows the CPU of each for one event. `node bench/processes.ts [rounds]
 * [connections per project]`
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { genesisLeaf } from '../src/host/keys/genesis.ts';
import { readKeys } from '../src/host/keys/disk.ts';
import { serviceInit } from '../src/host/service/init.ts';
import { createKey } from '../src/service/credentials/token-format.ts';
import { openPostgres } from '../src/store/postgres/store.ts';
import { startServer } from '../test/store/postgres/support/server.ts';
import { storedProject, tenant } from '../test/store/support/tenants.ts';
import {
  cpuSeconds,
  discard,
  entry,
  freePort,
  median,
  servingFlags,
  report,
  scratch,
  share,
} from './support/harness.ts';
import { load, recordedEvents } from './support/recorded.ts';

const rounds = Number(process.argv[2] ?? 7);
const connections = Number(process.argv[3] ?? 4);
const batchSize = 500;
const folder = scratch();
const dataDir = join(folder, 'service');
const databaseFolder = scratch();
const server = await startServer({
  folder: databaseFolder,
  settings: { shared_buffers: '512MB', max_wal_size: '4GB', autovacuum: 'on' },
});
if ('missing' in server) throw new Error(server.missing);
const database = await server.database();
await serviceInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', env: {} });
const configFile = join(dataDir, 'service.json');
const rates = { keyPerSecond: 0, keyBurst: 0, eventsPerSecond: 0, anonymousPerSecond: 0, authPerMinute: 0 };
writeFileSync(configFile, JSON.stringify({ ...JSON.parse(readFileSync(configFile, 'utf8')), rates }));

/** A project in a new organization, and an API key for it. */
async function makeProject(name: string): Promise<string> {
  const store = await openPostgres({ url: database.serving, clock: Date, randomBytes, connections: 1 });
  const stored = storedProject(name, 'live', { createdMs: Date.now(), updatedMs: Date.now() });
  const { project } = stored;
  const options = { name: 'bench', scopes: ['*'], nowMs: Date.now(), randomBytes };
  const { token, row } = createKey(project, options);
  const leaves = [genesisLeaf(project, readKeys(dataDir), Date.now())];
  await store.createTenant(tenant(name, { projects: [{ stored, leaves, keys: [row] }] }));
  await store.close();
  return token;
}

interface Service {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

async function startService(): Promise<Service> {
  const port = await freePort();
  const args = [...servingFlags, entry, 'service', 'serve', '--data', dataDir];
  const env = { ...process.env, GOV_DATABASE: database.serving, GOV_LOG_LEVEL: 'warn' };
  const child: ChildProcess = spawn(process.execPath, [...args, '--listen', `127.0.0.1:${port}`], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}/api/v1/health/live`;
  while (
    !(await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`the service stopped with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    pid: child.pid ?? 0,
    port,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** CPU of the database server with all its processes, also ended ones. */
function databaseSeconds(): number {
  const [parent = ''] = readFileSync(join(databaseFolder, 'data/postmaster.pid'), 'utf8').split('\n');
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
async function ingest(keys: readonly string[], services: readonly Service[]): Promise<Measured> {
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

const keys = [await makeProject('a'), await makeProject('b')];
const [one, two] = [await startService(), await startService()];
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
await database.drop();
await server.stop();
discard(folder);
