/**
 * Benchmark of many data planes that each report once a minute to one service process: first at their own rate, then as
 * fast as the service accepts. Each plane has its own keys and sends valid reports, signed by Ed25519 and by HMAC. The
 * service links, stores and cosigns them. The floor takes the same bytes, verifies one HMAC and one signature, and
 * stores nothing. Senders share the machine, so the table also shows the CPU of the service for one report.
 *
 *   node bench/planes.ts [planes 10000] [seconds at their rate 60] [sqlite | postgres]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newSigningSecret, parseSigningSecret } from '../src/core/planes/signature.ts';
import { typeId } from '../src/core/id.ts';
import { genesisLeaf } from '../src/host/keys/genesis.ts';
import { createSeal } from '../src/host/keys/seal.ts';
import { readKeys } from '../src/host/keys/disk.ts';
import { openEngine } from '../src/host/service/serve.ts';
import { serviceInit } from '../src/host/service/init.ts';
import { createToken, keyDigest } from '../src/service/credentials/token-format.ts';
import { silentLog } from '../src/service/call/log.ts';
import type { Store, StoredPlane } from '../src/store/port/store.ts';
import { startServer } from '../test/store/postgres/support/server.ts';
import { storedProject, tenant } from '../test/store/support/tenants.ts';
import { canonical, ReportingPlane } from '../test/support/telemetry-plane.ts';
import {
  cpuSeconds,
  discard,
  entry,
  freePort,
  servingFlags,
  report,
  residentMb,
  scratch,
  share,
} from './support/harness.ts';
import type { PlaneReport, PlanesLoad, PlanesLoaded } from './support/planes-load.ts';

const planes = Number(process.argv[2] ?? 10_000);
const seconds = Number(process.argv[3] ?? 60);
const engine = process.argv[4] ?? 'sqlite';
/** Number of customers that own the planes. */
const projects = Math.min(20, planes);
/** Planes registered in one append. */
const batch = 100;
const perSecond = planes / 60;

const folder = scratch();
const dataDir = join(folder, 'service');
const server = engine === 'postgres' ? await startServer({ folder: scratch() }) : null;
if (server !== null && 'missing' in server) throw new Error(server.missing);
const database = server === null ? null : await server.database();
await serviceInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', env: {} });
const configFile = join(dataDir, 'service.json');
const rates = { keyPerSecond: 0, keyBurst: 0, eventsPerSecond: 0, anonymousPerSecond: 0, authPerMinute: 0 };
writeFileSync(configFile, JSON.stringify({ ...JSON.parse(readFileSync(configFile, 'utf8')), rates }));

interface Sender {
  readonly plane: ReportingPlane;
  readonly key: string;
  /** Hex. */
  readonly secret: string;
}

/** Registers planes, as an enrolment does. */
async function register(store: Store): Promise<Sender[]> {
  const keys = readKeys(dataDir);
  const seal = createSeal(keys.storeKey, randomBytes);
  const senders: Sender[] = [];
  for (let at = 0; at < projects; at++) {
    const nowMs = Date.now();
    const made = storedProject(`bench${at}`, 'live', { createdMs: nowMs, updatedMs: nowMs });
    const project = { ...made.project, projectId: typeId('prj', nowMs, randomBytes(10)) };
    const { projectId } = project;
    const organization = tenant(`bench${at}`).organization;
    if (organization === null) throw new Error('expected an organization');
    const home = { production: projectId, sandbox: projectId };
    const projectsOf = [
      { stored: { ...made, project }, leaves: [genesisLeaf(project, keys, nowMs)], keys: [] },
    ];
    await store.createTenant(
      tenant(`bench${at}`, { organization: { ...organization, home }, projects: projectsOf }),
    );
    const own = Array.from({ length: Math.ceil((planes - at) / projects) }, (_, n) =>
      enrolled(`b${at}-${n}`, { projectId, seal, nowMs }),
    );
    for (let from = 0; from < own.length; from += batch) {
      const effects = own
        .slice(from, from + batch)
        .map(({ stored: plane }) => ({ kind: 'savePlane', plane }) as const);
      await store.append({ projectId, leaves: [], effects });
    }
    senders.push(...own.map(({ sender }) => sender));
  }
  return senders;
}

function enrolled(
  name: string,
  { projectId, seal, nowMs }: { projectId: string; seal: ReturnType<typeof createSeal>; nowMs: number },
): { sender: Sender; stored: StoredPlane } {
  const planeId = typeId('dpl', nowMs, randomBytes(10));
  const plane = new ReportingPlane({ name }, { dataPlaneId: planeId, projectId, environment: 'production' });
  const key = createToken('hyb', randomBytes);
  const signingSecret = newSigningSecret(randomBytes(32));
  const secrets = { keyDigest: keyDigest(key), sealedSecret: seal.seal(signingSecret) };
  const shown = { keyPrefix: key.slice(0, 13), keyLast4: key.slice(-4) };
  const stored: StoredPlane = {
    planeId,
    projectId,
    name,
    createdMs: nowMs,
    createdBy: 'bench',
    tokenDigest: keyDigest(createToken('enr', randomBytes)),
    tokenExpiresMs: nowMs,
    tokenUsedMs: null,
    enrolled: { atMs: nowMs, ...plane.identity, formerKeys: [], ...shown, current: secrets, previous: null },
    revokedMs: null,
    revision: 1,
  };
  return { sender: { plane, key, secret: parseSigningSecret(signingSecret).toString('hex') }, stored };
}

/** The next report of `count` planes, one each, in turn. */
function reportsOf(senders: readonly Sender[], name: string, count = senders.length): string {
  const reports: PlaneReport[] = [];
  for (let at = 0; at < count; at++) {
    const sender = senders[at % senders.length];
    if (sender === undefined) break;
    const { plane, key, secret } = sender;
    reports.push({ key, secret, body: canonical(plane.work(3).report()) });
  }
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(reports));
  return file;
}

function load(options: PlanesLoad): Promise<PlanesLoaded> {
  const script = fileURLToPath(new URL('./support/planes-load.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('exit', (code) =>
      code === 0
        ? resolve(JSON.parse(text) as PlanesLoaded)
        : reject(new Error(`the senders stopped with ${code}`)),
    );
  });
}

interface Running {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

async function started(
  words: (port: number) => readonly string[],
  isUp: (port: number) => Promise<boolean>,
): Promise<Running> {
  const port = await freePort();
  const env = {
    ...process.env,
    GOV_LOG_LEVEL: 'warn',
    ...(database === null ? {} : { GOV_DATABASE: database.serving }),
  };
  const child: ChildProcess = spawn(process.execPath, [...words(port)], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  while (!(await isUp(port).catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`it stopped with ${child.exitCode}`);
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

interface Measured extends PlanesLoaded {
  /** The process that received them. */
  readonly cpuUs: number;
  readonly busy: number;
}

async function measure({ pid, port }: Running, options: Omit<PlanesLoad, 'port'>): Promise<Measured> {
  const before = cpuSeconds(pid);
  const loaded = await load({ port, ...options });
  const spent = cpuSeconds(pid) - before;
  return { ...loaded, cpuUs: (spent / loaded.requests) * 1e6, busy: spent / loaded.seconds };
}

const { store } = await openEngine(
  { dataDir, database: database?.serving ?? null, connections: 4 },
  { log: silentLog, rebuildHeads: false },
);
const senders = await register(store);
await store.close();

const connections = 64;
const service = await started(
  (port) => [...servingFlags, entry, 'service', 'serve', '--data', dataDir, '--listen', `127.0.0.1:${port}`],
  async (port) => (await fetch(`http://127.0.0.1:${port}/api/v1/health/live`)).ok,
);
const first = await measure(service, { file: reportsOf(senders, 'first'), connections });
const paced = await measure(service, {
  file: reportsOf(senders, 'paced', Math.ceil(perSecond * seconds)),
  connections,
  perSecond,
});
const saturated = await measure(service, { file: reportsOf(senders, 'saturated'), connections });
const memory = residentMb(service.pid);
await service.stop();
const floor = await started(
  (port) => [fileURLToPath(new URL('./support/bare-planes.ts', import.meta.url)), String(port)],
  async (port) => (await fetch(`http://127.0.0.1:${port}/`)).status === 404,
);
const bare = await measure(floor, { file: join(folder, 'saturated.json'), connections });
await floor.stop();

const rate = ({ requests, seconds: took }: Measured): number => requests / took;
const what = (name: string, each: Measured): string =>
  `${name}; CPU ${each.cpuUs.toFixed(0)} µs a report, ${(100 * each.busy).toFixed(0)} % of a core; ` +
  `p50 ${each.p50.toFixed(1)} ms, p99 ${each.p99.toFixed(1)} ms, max ${each.max.toFixed(0)} ms` +
  (each.failed === 0 ? '' : `; ${each.failed} FAILED`);
const row = (name: string, each: Measured) => ({
  ratio: share(rate(each), rate(bare)),
  figure: `${rate(each).toFixed(0)}/s`,
  what: what(name, each),
});
report(`usage reports of ${planes} data planes in ${projects} projects, one service process on ${engine}`, [
  row('floor: bare Fastify, JSON, HMAC, one Ed25519 verify, nothing stored', bare),
  row('first reports, as fast as they are taken; each is asked about', first),
  row(`one a minute from each for ${seconds} s; the last one left ${paced.late.toFixed(0)} ms late`, paced),
  row(`as fast as they are taken, ${connections} connections; ${memory.toFixed(0)} MB afterwards`, saturated),
]);
await database?.drop();
if (server !== null && !('missing' in server)) await server.stop();
discard(folder);
