/**
 * Benchmark of the cost of usage reporting for a plane. First measures the append path with and without
 * metering. Both variants are the same store, but the second omits the step that adds the metering leaf
 * (reference, record, hash, tile, row). They alternate, so that a noisy minute affects both. Then measures an
 * outbox of ninety days of hourly reports, created with a manual clock. The plane drains it to a service in
 * another process, durably at both ends, and answers challenges. `node bench/outbox.ts [rounds] [days]`
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { enrolPlane } from '../plane/enrolment/exchange.ts';
import { planeInit } from '../plane/data/init.ts';
import { ServiceLink, type LinkMessage } from '../plane/service/link.ts';
import { openOutbox, type Outbox } from '../plane/telemetry/outbox.ts';
import { makeReports, type Maker } from '../plane/telemetry/report.ts';
import { Sender } from '../plane/telemetry/sender.ts';
import { typeId } from '../src/core/id.ts';
import { projectOf as planeProject, readPlaneFile } from '../src/host/data/config.ts';
import { genesisLeaf } from '../src/host/keys/genesis.ts';
import { readKeys } from '../src/host/keys/disk.ts';
import { openEngine } from '../src/host/service/serve.ts';
import { serviceInit } from '../src/host/service/init.ts';
import { createToken, keyDigest } from '../src/service/credentials/token-format.ts';
import { silentLog } from '../src/service/call/log.ts';
import { Sequencer } from '../src/store/append/sequencer.ts';
import { openStore, type SqliteStore } from '../src/store/sqlite/store.ts';
import { event, genesis, projectOf as testProject, request } from '../test/store/support/fixture.ts';
import { storedProject, tenant } from '../test/store/support/tenants.ts';
import {
  alternate,
  discard,
  freePort,
  median,
  milliseconds,
  percentile,
  report,
  residentMb,
  scratch,
  share,
} from './support/harness.ts';

const rounds = Number(process.argv[2] ?? 7);
const days = Number(process.argv[3] ?? 90);
const hourMs = 3_600_000;

/** The step that the second store omits. */
const steps = Sequencer.prototype as unknown as { meter: (...values: never[]) => void };
const { meter } = steps;
const none = (): void => {};

const openBench = async (folder: string): Promise<SqliteStore> => {
  const store = openStore({ dataDir: folder, clock: Date, randomBytes, reserveBytes: 0 });
  await store.createProject(testProject('a'), genesis('a'));
  return store;
};

/** Events a second of `requests` requests of `size` events, `callers` at a time. */
async function rate(store: SqliteStore, { size, callers, requests }: Shape): Promise<number> {
  const made = Array.from({ length: requests }, () => request(Array.from({ length: size }, () => event())));
  const work = async (): Promise<void> => {
    for (let next = made.pop(); next !== undefined; next = made.pop()) await store.append(next);
  };
  const ms = await milliseconds(() => Promise.all(Array.from({ length: callers }, work)));
  return ((requests * size) / ms) * 1000;
}

interface Shape {
  readonly what: string;
  readonly size: number;
  readonly callers: number;
  readonly requests: number;
}
const shapes: readonly Shape[] = [
  { what: 'batches of 500 events, 4 callers', size: 500, callers: 4, requests: 16 },
  { what: 'batches of 20 events, 16 callers', size: 20, callers: 16, requests: 300 },
  { what: 'single events, 64 callers', size: 1, callers: 64, requests: 3000 },
  { what: 'single events, one caller', size: 1, callers: 1, requests: 300 },
];

/** CPU time of the whole process, which separates a loaded machine from an expensive step. */
async function measured(work: () => Promise<number>): Promise<{ rate: number; cpuMs: number }> {
  const before = process.cpuUsage();
  const rate = await work();
  const { user, system } = process.cpuUsage(before);
  return { rate, cpuMs: (user + system) / 1000 };
}

async function measureMetering(): Promise<void> {
  const folders = [scratch(), scratch()] as const;
  const [on, off] = [await openBench(folders[0]), await openBench(folders[1])];
  const rows: { ratio: string; figure: string; what: string }[] = [];
  for (const shape of shapes) {
    const variants = {
      on: () => ((steps.meter = meter), rate(on, shape)),
      off: () => ((steps.meter = none), rate(off, shape)),
    };
    await alternate(variants, 2); // warm-up
    const costs: Record<'wall' | 'cpu' | 'us', number[]> = { wall: [], cpu: [], us: [] };
    const rates: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const [metered, bare] = [await measured(variants.on), await measured(variants.off)];
      costs.wall.push(100 * (1 - metered.rate / bare.rate));
      costs.cpu.push(100 * (1 - bare.cpuMs / metered.cpuMs));
      costs.us.push(((metered.cpuMs - bare.cpuMs) / shape.requests) * 1000);
      rates.push(metered.rate);
    }
    const cost = `${median(costs.cpu).toFixed(1)} %`;
    const wall = `${median(costs.wall).toFixed(1)} %`;
    rows.push({
      ratio: cost,
      figure: `${median(rates).toFixed(0)}/s`,
      what: `${shape.what}; ${median(costs.us).toFixed(0)} us of CPU a request; of the time on the clock ${wall}`,
    });
  }
  steps.meter = meter;
  for (const store of [on, off]) await store.close();
  for (const folder of folders) discard(folder);
  report('metering: share of the CPU time of an append (reach: at most 10 % of throughput)', rows);
}

/** A service with a plane that waits for its enrolment, in another process. */
async function startService(folder: string) {
  const dataDir = join(folder, 'service');
  await serviceInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', env: {} });
  const at = { dataDir, database: null, connections: 4 };
  const { store } = await openEngine(at, { log: silentLog, rebuildHeads: false });
  const nowMs = Date.now();
  const made = storedProject('bench', 'live', { createdMs: nowMs, updatedMs: nowMs });
  const projectId = typeId('prj', nowMs, randomBytes(10));
  const project = { ...made.project, projectId };
  const { organization } = tenant('bench');
  if (organization === null) throw new Error('expected an organization');
  const home = { production: projectId, sandbox: projectId };
  const projects = [
    { stored: { ...made, project }, leaves: [genesisLeaf(project, readKeys(dataDir), nowMs)], keys: [] },
  ];
  await store.createTenant(tenant('bench', { organization: { ...organization, home }, projects }));
  const token = createToken('enr', randomBytes);
  const plane = {
    planeId: typeId('dpl', nowMs, randomBytes(10)),
    projectId,
    name: 'bench',
    createdMs: nowMs,
    createdBy: 'bench',
    tokenDigest: keyDigest(token),
    tokenExpiresMs: nowMs + hourMs,
    tokenUsedMs: null,
    enrolled: null,
    revokedMs: null,
    revision: 1,
  };
  await store.append({ projectId, leaves: [], effects: [{ kind: 'savePlane', plane }] });
  await store.close();
  const port = await freePort();
  const words = [
    'test/cli/runner.ts',
    'service',
    'serve',
    '--data',
    dataDir,
    '--listen',
    `127.0.0.1:${port}`,
  ];
  const env = { ...process.env, GOV_LOG_LEVEL: 'warn' };
  const child = spawn(process.execPath, words, { env, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  const service = `http://127.0.0.1:${port}`;
  const isUp = (): Promise<boolean> =>
    fetch(`${service}/api/v1/health/live`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`the service stopped with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  };
  return { service, token, stop };
}

/** A plane whose log began `days` ago, with a report for each hour since. */
async function fillOutbox(dataDir: string, at: { service: string; token: string }) {
  let ms = Date.now() - days * 24 * hourMs;
  const { now } = Date;
  Date.now = () => ms;
  await planeInit({ dataDir });
  Date.now = now;
  const { enrolment } = await enrolPlane({ dataDir, ...at, env: {}, now });
  const store = openStore({ dataDir, clock: { now: () => ms }, randomBytes, reserveBytes: 0 });
  const project = planeProject(readPlaneFile(join(dataDir, 'plane.json')));
  const { projectId } = project;
  const outbox = openOutbox(dataDir);
  const maker: Maker = {
    enrolment,
    outbox,
    project,
    reader: store,
    signers: readKeys(dataDir).telemetrySigners,
    signedSize: async (tree) => (await store.head(projectId, tree)).size,
    now: () => ms,
    randomBytes,
  };
  const made: number[] = [];
  for (let hour = 0; hour < days * 24; hour++) {
    ms += hourMs;
    const leaves = Array.from({ length: 5 }, () => event());
    await store.append({ projectId, leaves, meter: { op: 'audit_event', units: 'accepted' } });
    made.push(await milliseconds(() => makeReports(maker)));
  }
  return { store, outbox, made, maker: { ...maker, now } };
}

interface Drained {
  readonly ms: number;
  readonly messages: readonly number[];
  /** Why it waited: a service has a default limit of 100 requests a second and key. */
  readonly waits: readonly string[];
  readonly moreMb: number;
}

async function drain({ enrolment, outbox, ...maker }: Maker): Promise<Drained> {
  const link = new ServiceLink({ enrolment, env: {}, now: Date.now });
  const send = (message: LinkMessage) => link.send(message);
  const sender = new Sender({
    maker: { enrolment, outbox, ...maker },
    send,
    random: Math.random,
    log: silentLog,
  });
  const messages: number[] = [];
  const waits: string[] = [];
  const before = residentMb(process.pid);
  let most = before;
  const ms = await milliseconds(async () => {
    while (left(outbox, enrolment.dataPlaneId) > 0) {
      const began = performance.now();
      const isSettled = await sender.step();
      if (!isSettled) {
        waits.push(outbox.contact().failure ?? 'none');
        await new Promise((resolve) => setTimeout(resolve, Math.max(1, sender.nextMs - Date.now())));
        continue;
      }
      messages.push(performance.now() - began);
      if (messages.length % 100 === 0) most = Math.max(most, residentMb(process.pid));
    }
  });
  link.close();
  return { ms, messages, waits, moreMb: most - before };
}

function left(outbox: Outbox, planeId: string): number {
  const { waiting, refused, challenges } = outbox.summary(planeId, 0);
  if (refused.reports + challenges.refused > 0) throw new Error('expected nothing refused');
  return waiting.reports + challenges.open;
}

async function measureOutbox(): Promise<void> {
  const folder = scratch();
  const { stop, ...at } = await startService(folder);
  const dataDir = join(folder, 'plane');
  const { store, outbox, made, maker } = await fillOutbox(dataDir, at);
  const reports = left(outbox, maker.enrolment.dataPlaneId);
  const { ms, messages, waits, moreMb } = await drain(maker);
  outbox.close();
  await store.close();
  const mib = statSync(join(dataDir, 'telemetry.db')).size / 2 ** 20;
  await stop();
  discard(folder);
  report(`outbox: ${reports} reports of ${days} days (reach: drained in 60 s, bounded memory)`, [
    {
      ratio: share(ms, 60_000),
      figure: `${(ms / 1000).toFixed(1)} s`,
      what: `drained, with ${messages.length - reports} answers to challenges; ${waits.length} waits for the rate limit`,
    },
    {
      ratio: '',
      figure: `${median(messages).toFixed(1)} ms`,
      what: `a message; p99 ${percentile(messages, 0.99).toFixed(0)} ms`,
    },
    { ratio: '', figure: `${median(made).toFixed(1)} ms`, what: 'to make a report' },
    { ratio: '', figure: `${moreMb.toFixed(0)} MB`, what: 'more memory while draining' },
    { ratio: '', figure: `${mib.toFixed(1)} MiB`, what: 'telemetry.db' },
  ]);
}

if (rounds > 0) await measureMetering();
if (days > 0) await measureOutbox();
