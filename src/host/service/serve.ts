/**
 * `gov service serve`: loads the configuration, store and keys of a hosted service and serves it. On PostgreSQL
 * any number of processes serve one database. On SQLite one process serves its directory. Startup does no work
 * per project. Proven by `test/host/service/serve.test.ts`.
 */
import { resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { table, type OperationId } from '../../contract/table.ts';
import type { ServerOptions } from '../../http/server.ts';
import { basePaths } from '../../http/call/route.ts';
import { GovError } from '../../contract/problems.ts';
import type { Log } from '../../service/call/log.ts';
import { assemble, type ServerParts, type Engine } from '../process/assemble.ts';
import { now, randomBytes } from '../process/clock.ts';
import type { DevIssuer } from '../identity/dev-issuer.ts';
import { createHosting, refuseOtherKeys } from './hosting.ts';
import { readKeys } from '../keys/disk.ts';
import { parseAddress, type Variables } from '../config/layers.ts';
import { createLog } from '../process/log.ts';
import { connectionsThatFit } from '../process/open-files.ts';
import { run, type RunningServer, type RunOptions } from '../process/run.ts';
import { runFileOf } from '../files/run.ts';
import { openTls } from '../process/tls.ts';
import { together } from '../process/together.ts';
import { livingProjects, openForwarding } from '../forwards/open.ts';
import { openWitnesses } from '../witness/config.ts';
import { readServiceConfig, type ServiceConfig, type ServiceFlags } from './config.ts';

export interface ServiceOptions extends ServiceFlags {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Trusts the database: on SQLite where `heads.db` was lost or is older, on PostgreSQL in any case. */
  readonly rebuildHeads?: boolean | undefined;
  /** Serves an identity provider that believes everybody on this machine, at `host:port` if given as text. */
  readonly devIssuer?: boolean | string | undefined;
  /** Target of logs. Absent: stderr. */
  readonly log?: Log;
  /** Event loop lag above which the server refuses load. Tests share their event loop with the server. */
  readonly overloadDelayMs?: number;
  readonly timeouts?: NonNullable<ServerOptions['timeouts']>;
}

const operations = Object.keys(table) as OperationId[];

/** Serves. Throws as `openService` does, and CONFLICT where an address is taken. */
export async function serviceServe(options: ServiceOptions): Promise<RunningServer> {
  const { assembled, serving } = await openService(options);
  return run(assembled, serving);
}

/**
 * Opens everything of a service except its listener. VALIDATION_ERROR for an invalid configuration. CONFLICT
 * where another process serves the directory, or the database has tables of another release. STORAGE_FAULT
 * where the store cannot be opened or belongs to other keys.
 */
export async function openService(
  options: ServiceOptions,
): Promise<{ readonly assembled: ServerParts; readonly serving: RunOptions }> {
  const startedAt = performance.now();
  const env = options.env ?? process.env;
  const config = readServiceConfig(resolve(options.dataDir), options, env);
  const log = options.log ?? createLog(config.logLevel);
  const mostOpen = connectionsThatFit(limits.connections, {
    own: limits.ownOpenFiles + config.connections,
  });
  const keys = readKeys(config.dataDir);
  const devIssuer = await startDevIssuer(config, options.devIssuer, log);
  const issuer = devIssuer?.issuer ?? config.issuer;
  let engine: Engine | null = null;
  try {
    const hosting = await createHosting({ ...config, issuer }, keys, log);
    engine = await openEngine(config, { log, rebuildHeads: options.rebuildHeads ?? false, env });
    await refuseOtherKeys(engine.store, keys);
    const tls = config.tls === null ? null : openTls(config.tls, { log, now });
    const debugging = config.logLevel === 'debug';
    const witnesses = await openWitnesses(config.witnessing, { store: engine.store, now, log, env });
    const forwards = await openForwarding(config.targets, {
      store: engine.store,
      projects: livingProjects(engine.store),
      now,
      randomBytes,
      log,
      env,
    });
    // tenants read these reasons, so they contain no paths
    const degraded = (): readonly string[] =>
      [tls, witnesses, forwards]
        .flatMap((each) => each?.reasons() ?? [])
        .map((reason) => reason.replace(/:.*$/s, ''));
    const assembled = assemble({
      engine,
      keys,
      hosting,
      log,
      witnesses,
      forwards,
      debugging,
      degraded,
      exportHours: config.exportHours,
      exportsMost: config.exportsMost,
      receipts: config.receipts,
      outbound: config.outbound,
      senders: config.senders,
      scheduling: config.scheduling,
    });
    const work = [witnesses, forwards].filter((each) => each !== undefined);
    const background = work.length === 0 ? {} : { background: together(...work) };
    const serving = {
      ...servingOf(config, { ...options, mostOpen }),
      ...(devIssuer === null ? {} : { beside: devIssuer }),
      ...background,
      tls,
      env,
      startedAt,
    };
    return { assembled, serving };
  } catch (error) {
    await devIssuer?.close();
    await engine?.store.close();
    throw error;
  }
}

/** Null without the flag. CONFLICT where service.json already names an issuer. */
async function startDevIssuer(
  { issuer, listen }: ServiceConfig,
  wanted: ServiceOptions['devIssuer'],
  log: Log,
): Promise<DevIssuer | null> {
  if (wanted === undefined || wanted === false) return null;
  if (issuer !== null) {
    const detail = `expected no issuer in service.json with --dev-issuer, got ${issuer.url}; leave one of them out`;
    throw new GovError('CONFLICT', detail);
  }
  const { startDevIssuer: start } = await import('../identity/dev-issuer.ts');
  const at = wanted === true ? {} : { listen: parseAddress({ value: wanted, from: '--dev-issuer' }) };
  return start({ ...at, serviceListen: listen, now, randomBytes, log });
}

function servingOf(
  config: ServiceConfig,
  options: ServiceOptions & { readonly mostOpen: number },
): Omit<RunOptions, 'startedAt'> {
  const { dataDir, listen, metricsListen, problemBase, publicUrl, memoryMiB, database } = config;
  return {
    listen,
    metricsListen,
    http: {
      operations,
      connections: options.mostOpen,
      ...(problemBase === null ? {} : { problemBase }),
      ...(publicUrl === null ? {} : { publicOrigin: publicUrl }),
      rates: config.rates,
      cors: config.corsOrigins,
      trustedProxies: config.trustedProxies,
      overload: {
        ...(memoryMiB === null ? {} : { memoryBytes: memoryMiB * 1024 * 1024 }),
        ...(options.overloadDelayMs === undefined ? {} : { delayMs: options.overloadDelayMs }),
      },
      ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
    },
    basePath: basePaths.production,
    // processes of a remote database may share one directory
    runFile: database === null ? runFileOf(dataDir) : null,
    projectId: null,
  };
}

/** Loads only the configured engine. */
export async function openEngine(
  config: Pick<ServiceConfig, 'dataDir' | 'database' | 'connections'> &
    Partial<Pick<ServiceConfig, 'exportDir' | 'reportFonts' | 'onLoss'>>,
  options: { readonly log: Log; readonly rebuildHeads: boolean; readonly env?: Variables },
): Promise<Engine> {
  const { dataDir, database, connections, exportDir = null, reportFonts = null, onLoss = 'record' } = config;
  if (database === null) {
    const { sqliteEngine } = await import('../process/sqlite-engine.ts');
    return sqliteEngine(dataDir, { ...options, hosted: true, reportFonts, onLoss });
  }
  const { postgresEngine } = await import('../process/postgres-engine.ts');
  const place = { url: database, connections, dataDir, exportDir, onLoss };
  return postgresEngine(place, { ...options, reportFonts });
}
