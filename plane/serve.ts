/**
 * `gov plane serve`: opens the store, listens, works off jobs, signs checkpoints; ends in order on a signal or
 * a storage fault. What is not needed to listen is loaded later. Proven by `test/plane/init.test.ts` and `lifecycle.test.ts`.
 */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { version } from '../src/client/version.ts';
import { GovError } from '../src/contract/problems.ts';
import type { OperationId } from '../src/contract/table.ts';
import { now, randomBytes } from '../src/host/clock.ts';
import { readPlaneConfig, type Address, type PlaneConfig, type PlaneFlags } from '../src/host/config.ts';
import { replacePrivate } from '../src/host/files.ts';
import { untilStopped } from '../src/host/lifecycle.ts';
import { createLog } from '../src/host/log.ts';
import type { MetricsServer } from '../src/host/metrics.ts';
import { createProbe } from '../src/host/probe.ts';
import { ThreadWork } from '../src/host/threadwork.ts';
import { basePaths } from '../src/http/route.ts';
import { createServer, type HttpServer, type ServerOptions } from '../src/http/server.ts';
import { saltPool } from '../src/core/disclosure.ts';
import { Checkpoints } from '../src/service/checkpoints.ts';
import { Cursors } from '../src/service/cursors.ts';
import { handlers } from '../src/service/handlers.ts';
import { JobWorker } from '../src/service/jobworker.ts';
import type { Log } from '../src/service/log.ts';
import { PolicySets } from '../src/service/policyset.ts';
import { Runs } from '../src/service/runs.ts';
import { deriveSecrets } from '../src/service/secrets.ts';
import type { Services } from '../src/service/services.ts';
import { startSweeping } from '../src/service/sweep.ts';
import { Tail } from '../src/service/tail.ts';
import { openStore, storeFiles, type SqliteStore } from '../src/store/sqlite/index.ts';
import { readKeys, refuseForeignKeys } from './keys.ts';
import { planeOperations } from './operations.ts';

export interface ServeOptions extends PlaneFlags {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Take the newest signed notes of the database as the truth where `heads.db` was lost or is older. */
  readonly rebuildHeads?: boolean | undefined;
  /** Where logs go; stderr where absent. */
  readonly log?: Log;
  /** Lag of the event loop from which load is shed; tests share their loop with the server. */
  readonly overloadDelayMs?: number;
  readonly timeouts?: NonNullable<ServerOptions['timeouts']>;
  readonly operations?: readonly OperationId[];
}

export interface RunningPlane {
  /** `http://127.0.0.1:7460/api/v1`, or the sandbox path where the plane is one. */
  readonly baseUrl: string;
  readonly metricsUrl: string | null;
  /** Milliseconds from the call to the first accepted connection. */
  readonly startedInMs: number;
  /** Stops accepting, drains for at most 30 s, closes. Safe to call twice. */
  close(): Promise<void>;
  /** Resolves with the exit code after a signal or a storage fault; installs signal handlers. */
  untilStopped(): Promise<number>;
}

/** VALIDATION_ERROR for a bad configuration, CONFLICT where another process serves it, STORAGE_FAULT. */
export async function planeServe(options: ServeOptions): Promise<RunningPlane> {
  const startedAt = performance.now();
  const config = readPlaneConfig(resolve(options.dataDir), options, options.env ?? process.env);
  const log = options.log ?? createLog(config.logLevel);
  const opened = openPlane(config, log, options.rebuildHeads ?? false);
  const { services, store, jobs } = opened;
  try {
    await refuseForeignKeys(store, config.projectId, services.verifierKeys(config.origin));
  } catch (error) {
    await store.close();
    throw error;
  }
  const server = createServer({
    services,
    handlers,
    operations: options.operations ?? planeOperations,
    ...(config.problemBase === undefined ? {} : { problemBase: config.problemBase }),
    overload: {
      ...(config.memoryMiB === undefined ? {} : { memoryBytes: config.memoryMiB * 1024 * 1024 }),
      ...(options.overloadDelayMs === undefined ? {} : { delayMs: options.overloadDelayMs }),
    },
    ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
  });
  try {
    const origin = await server
      .listen(config.listen)
      .catch((cause: unknown) =>
        refuseAddress({ flag: '--listen HOST:PORT', address: config.listen }, cause),
      );
    const startedInMs = performance.now() - startedAt;
    const baseUrl = reachable(origin) + basePaths[config.environment];
    const metrics = await startMetrics(config, { server, services });
    const runFile = announce(config, { baseUrl, metricsUrl: metrics?.url ?? null });
    services.checkpoints.grew(config.projectId);
    services.checkpoints.start();
    jobs.start();
    const stopSweeping = startSweeping(services);
    log.info({ baseUrl, metricsUrl: metrics?.url ?? null, startedInMs: Math.round(startedInMs) }, 'serving');
    const close = once(() => stop({ ...opened, server, metrics, runFile, stopSweeping, log }));
    const fault = (): string | null => opened.faulted();
    return {
      baseUrl,
      metricsUrl: metrics?.url ?? null,
      startedInMs,
      close,
      untilStopped: () => untilStopped({ close, fault, log }),
    };
  } catch (error) {
    await server.close(0);
    await opened.work.close();
    await store.close();
    throw error;
  }
}

/** An origin that a client on this machine can use: nobody connects to "any address". */
const reachable = (origin: string): string =>
  origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

interface Opened {
  readonly services: Services;
  readonly store: SqliteStore;
  readonly work: ThreadWork;
  readonly jobs: JobWorker;
  /** Why writing stopped for good, or null. */
  readonly faulted: () => string | null;
}

function openPlane(config: PlaneConfig, log: Log, rebuildHeads: boolean): Opened {
  const { dataDir } = config;
  const keys = readKeys(dataDir);
  const secrets = deriveSecrets(keys.storeKey);
  let fault: string | null = null;
  if (rebuildHeads) {
    log.warn({}, 'heads.db is rebuilt from the database: an older copy of both would not be found out');
  }
  const store = openStore({
    dataDir,
    rebuildHeads,
    thread: true,
    clock: { now },
    randomBytes,
    onFault: (error) => (fault = error.message),
    onWarning: (text) => log.warn({}, text),
  });
  const { signers } = keys;
  const source = { engine: 'sqlite', path: storeFiles(dataDir).main } as const;
  const work = new ThreadWork(source, log, (error) => store.note(error));
  const services: Services = {
    store,
    now,
    randomBytes,
    salt: saltPool(randomBytes),
    fingerprint: secrets.fingerprint,
    cursors: new Cursors(secrets.cursorKey, randomBytes),
    tail: new Tail(),
    checkpoints: new Checkpoints({ store, now, log, signers }),
    runs: new Runs(),
    policySets: new PolicySets(store),
    work,
    wakeJobs: () => jobs.wake(),
    attest: keys.attest,
    verifierKeys: (origin) => signers(origin).map(({ verifierKey }) => verifierKey),
    probe: createProbe(dataDir, now),
    counts: { skewedEvents: 0 },
    hosting: null,
    version,
    log,
    debugging: config.logLevel === 'debug',
  };
  const jobs = new JobWorker(services);
  return { services, store, work, jobs, faulted: () => fault };
}

/** CONFLICT, naming the flag that chooses another address. */
function refuseAddress({ flag, address }: { flag: string; address: Address }, cause: unknown): never {
  const why = {
    EADDRINUSE: 'another program listens there',
    EACCES: 'this user may not listen there',
    EADDRNOTAVAIL: 'this machine does not have that address',
  }[cause instanceof Error && 'code' in cause ? String(cause.code) : ''];
  if (why === undefined) throw cause;
  const detail = `expected ${address.host}:${address.port} to be free, but ${why}; give ${flag}`;
  throw new GovError('CONFLICT', detail, { cause });
}

async function startMetrics(
  config: PlaneConfig,
  { server, services }: { server: HttpServer; services: Services },
): Promise<MetricsServer | null> {
  if (config.metricsListen === null) return null;
  const { serveMetrics } = await import('../src/host/metrics.ts');
  const { projectId, metricsListen } = config;
  const source = {
    stats: server.stats,
    store: services.store,
    counts: services.counts,
    projectId,
    startedMs: now(),
  };
  return serveMetrics(metricsListen, source).catch((cause: unknown) =>
    refuseAddress({ flag: '--metrics-listen HOST:PORT or off', address: metricsListen }, cause),
  );
}

/** Writes `run.json`, by which local commands find the plane. */
function announce(config: PlaneConfig, urls: { baseUrl: string; metricsUrl: string | null }): string {
  const path = join(config.dataDir, 'run.json');
  const startedAt = new Date(now()).toISOString();
  replacePrivate(path, `${JSON.stringify({ pid: process.pid, ...urls, startedAt, version })}\n`);
  return path;
}

/** In this order, so that whatever was accepted is finished and stored. */
async function stop(
  running: Opened & {
    server: HttpServer;
    metrics: MetricsServer | null;
    runFile: string;
    stopSweeping: () => void;
    log: Log;
  },
): Promise<void> {
  const { server, metrics, runFile, services, store, work, jobs, log } = running;
  rmSync(runFile, { force: true });
  running.stopSweeping();
  const jobsStopped = jobs.stop();
  await server.close();
  await work.close();
  await jobsStopped;
  await services.checkpoints.signGrown();
  await services.checkpoints.stop();
  await metrics?.close();
  await store.close();
  log.info({}, 'stopped');
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= action());
}
