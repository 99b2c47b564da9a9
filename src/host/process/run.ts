/**
 * The serving process: listens, signs checkpoints, works off jobs, and sweeps. Ends in order after a signal or
 * a storage fault. Loads the parts that listening does not need later. Proven by
 * `test/plane/lifecycle.test.ts`.
 */
import { rmSync } from 'node:fs';
import { build } from '../../client/version.ts';
import { GovError } from '../../contract/problems.ts';
import type { RunFile } from '../../core/planes/run-file.ts';
import { createServer, type HttpServer, type ServerOptions } from '../../http/server.ts';
import { handlers } from '../../service/handlers.ts';
import { startExpiringChallenges } from '../../service/planes/expired-challenges.ts';
import { startRemovingExports } from '../../service/exports/sweep.ts';
import { startRetention } from '../../service/erasure/retention.ts';
import { startSweeping } from '../../service/operations/sweep.ts';
import { Scrubber } from '../../service/operations/scrubber.ts';
import { startReportingUses } from '../../service/access/report-uses.ts';
import type { ServerParts } from './assemble.ts';
import { now } from './clock.ts';
import type { Address, Variables } from '../config/layers.ts';
import { untilStopped } from './lifecycle.ts';
import type { MetricsServer } from './metrics.ts';
import { writeRunFile } from '../files/run.ts';
import type { Supervisor } from './supervisor.ts';
import { boundThreadsAlone } from './thread-heaps.ts';
import type { Tls } from './tls.ts';

export interface RunOptions {
  readonly listen: Address;
  readonly metricsListen: Address | null;
  readonly http: Omit<ServerOptions, 'services' | 'handlers'>;
  /** The path below the origin, part of the address for clients. */
  readonly basePath: string;
  /** The file by which local commands find the process. Null writes none. */
  readonly runFile: string | null;
  /** The one project of a plane. Null for a service with many projects, which startup does not touch. */
  readonly projectId: string | null;
  /** Closed after everything else. */
  readonly beside?: { close(): Promise<void> };
  /** Tasks on the store. They start once the server listens, and stop before the store closes. */
  readonly background?: Background;
  /** Null: HTTP without TLS. */
  readonly tls?: Tls | null;
  /** Contains the settings of a supervisor (`supervisor.ts`). Absent: no supervisor. */
  readonly env?: Variables;
  /** Additional lines of `GET /metrics`. */
  readonly gauges?: () => Promise<readonly string[]>;
  /** Additional members of the run file. */
  readonly announced?: Pick<RunFile, 'configHash'>;
  /** `performance.now()` of the start. */
  readonly startedAt: number;
}

export interface Background {
  start(): void;
  stop(): Promise<void>;
  /** Lines of `GET /metrics`. */
  metrics?(): readonly string[];
}

export interface RunningServer {
  /** `http://127.0.0.1:7460/api/v1`, or the sandbox path for a sandbox plane. */
  readonly baseUrl: string;
  readonly metricsUrl: string | null;
  /** Milliseconds from the call to the first accepted connection. */
  readonly startedInMs: number;
  /** Stops accepting, drains for at most 30 s, and closes. A second call is safe. */
  close(): Promise<void>;
  /** Resolves with the exit code after a signal or a storage fault. Installs signal handlers. */
  untilStopped(): Promise<number>;
}

/** Starts to serve. CONFLICT where an address is taken. Closes the assembled parts where it fails. */
export async function run(assembled: ServerParts, options: RunOptions): Promise<RunningServer> {
  boundThreadsAlone();
  const { services, engine, jobs, reports, scheduler, hasTimer, webhooks, clock } = assembled;
  const { log } = services;
  const tls = options.tls ?? null;
  const server = createServer({
    ...options.http,
    ...(tls === null ? {} : { tls }),
    services,
    handlers,
  });
  try {
    const origin = await server
      .listen(options.listen)
      .catch((cause: unknown) =>
        refuseAddress({ flag: '--listen HOST:PORT', address: options.listen }, cause),
      );
    const startedInMs = performance.now() - options.startedAt;
    const baseUrl = reachable(origin) + options.basePath;
    const metrics = await startMetrics(assembled, server, options);
    const metricsUrl = metrics?.url ?? null;
    const supervisor = await supervisorOf(assembled, options);
    announce(options.runFile, { baseUrl, metricsUrl, ...options.announced });
    if (options.projectId !== null) services.checkpoints.grew(options.projectId);
    services.checkpoints.start();
    jobs.start();
    if (hasTimer) reports.start();
    scheduler.start();
    webhooks.start();
    await clock.start(options.projectId);
    const stopSweeping = startSweepers(assembled, options.projectId);
    options.background?.start();
    const scrubber = new Scrubber(services, { projectId: options.projectId });
    scrubber.start();
    const stopReporting = startReportingUses(services);
    // logged after the caller handles signals, because a reader of this line may send one at once
    setImmediate(() => log.info({ baseUrl, metricsUrl, startedInMs: Math.round(startedInMs) }, 'serving'));
    const { runFile, beside, background } = options;
    const parts = { server, metrics, runFile, beside, background, scrubber, stopSweeping, stopReporting };
    supervisor?.ready(`serving at ${baseUrl}`);
    const reload = (): void => {
      supervisor?.reloading();
      const context = tls?.reload() ?? null;
      if (context !== null) server.useCertificate(context);
      supervisor?.ready(`serving at ${baseUrl}`);
    };
    const close = once(async () => {
      await supervisor?.stopping();
      await stop({ ...assembled, ...parts });
    });
    return {
      baseUrl,
      metricsUrl,
      startedInMs,
      close,
      untilStopped: () => untilStopped({ close, fault: engine.faulted, log, reload }),
    };
  } catch (error) {
    await server.close(0);
    await engine.work.close();
    await engine.exports.work.close();
    await engine.store.close();
    await options.beside?.close();
    throw error;
  }
}

async function supervisorOf(
  { services, engine }: ServerParts,
  { env, projectId }: RunOptions,
): Promise<Supervisor | null> {
  if (env?.['NOTIFY_SOCKET'] === undefined) return null;
  const { openSupervisor, progressOf } = await import('./supervisor.ts');
  const progress = progressOf(async () => {
    const { queued, reasons } = engine.store.condition();
    const size = projectId === null ? 0 : (await engine.store.head(projectId, 'audit')).size;
    // for many projects the probe checks only that the event loop turns
    const full = projectId === null || reasons.some((reason) => reason.startsWith('storage_full'));
    return { size, queued, full };
  });
  return openSupervisor({ env, log: services.log, isAlive: progress });
}

/** The origin with a loopback address, since a client cannot connect to "any address". */
const reachable = (origin: string): string =>
  origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

/** CONFLICT that names the flag for another address. */
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
  { services, engine }: ServerParts,
  { stats }: HttpServer,
  { metricsListen, projectId, background, gauges }: RunOptions,
): Promise<MetricsServer | null> {
  if (metricsListen === null) return null;
  const { serveMetrics } = await import('./metrics.ts');
  const { store, counts } = services;
  const more = async (): Promise<readonly string[]> => [
    ...(background?.metrics?.() ?? []),
    ...((await gauges?.()) ?? []),
  ];
  const { losses } = engine;
  const source = { stats, store, counts, losses, projectId, startedMs: now(), more };
  return serveMetrics(metricsListen, source).catch((cause: unknown) =>
    refuseAddress({ flag: '--metrics-listen HOST:PORT or off', address: metricsListen }, cause),
  );
}

function announce(runFile: string | null, facts: Partial<RunFile>): void {
  if (runFile === null) return;
  const startedAt = new Date(now()).toISOString();
  writeRunFile(runFile, { pid: process.pid, ...facts, startedAt, version: build });
}

/** What goes on by itself while the process serves. Returns a function that stops it. */
function startSweepers({ services, engine, clock }: ServerParts, projectId: string | null): () => void {
  const ends = [
    startSweeping(services),
    startRetention(services, projectId),
    startRemovingExports(services),
    ...(services.hosting === null ? [] : [startExpiringChallenges(services)]),
    ...(engine.watch === undefined ? [] : [engine.watch()]),
    () => clock.stop(),
  ];
  return () => ends.forEach((end) => end());
}

/** Stops in this order, so that all accepted work is finished and stored. A step that fails does not stop the later ones. */
async function stop(
  running: ServerParts & {
    server: HttpServer;
    metrics: MetricsServer | null;
    runFile: string | null;
    beside: RunOptions['beside'];
    background: RunOptions['background'];
    scrubber: Scrubber;
    stopSweeping: () => void;
    stopReporting: () => Promise<void>;
  },
): Promise<void> {
  const { server, metrics, runFile, services, engine, jobs, reports, scheduler, webhooks } = running;
  const failures: unknown[] = [];
  const step = async (work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (error) {
      failures.push(error); // on a dead disk nearly every step fails
    }
  };
  await step(() => runFile !== null && rmSync(runFile, { force: true }));
  running.stopSweeping();
  const backgroundStopped = step(() => running.background?.stop());
  const scrubStopped = step(() => running.scrubber.stop());
  const jobsStopped = step(() => Promise.all([jobs.stop(), reports.stop(), scheduler.stop()]));
  const webhooksStopped = step(() => webhooks.stop());
  await step(() => server.close());
  await step(() => services.indexer.stop());
  await step(() => services.searchIndexer.stop());
  await step(() => engine.work.close());
  await step(() => engine.exports.work.close());
  await jobsStopped;
  await scrubStopped;
  await webhooksStopped;
  await backgroundStopped;
  await step(() => services.checkpoints.signGrown());
  await step(() => services.checkpoints.stop());
  await step(() => running.stopReporting());
  await step(() => metrics?.close());
  await step(() => engine.store.close());
  await step(() => running.beside?.close());
  if (failures.length > 0) throw failures[0];
  services.log.info({}, 'stopped');
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= action());
}
