/**
 * `gov service serve`: the configuration, store and keys of a hosted service, put together and served. On PostgreSQL
 * any number of such processes serve one database, on SQLite one its directory. Nothing is done per project at the
 * start. Proven by `test/host/service/serve.test.ts`.
 */
import { join, resolve } from 'node:path';
import { table, type OperationId } from '../../contract/table.ts';
import type { ServerOptions } from '../../http/server.ts';
import { basePaths } from '../../http/route.ts';
import { GovError } from '../../contract/problems.ts';
import type { Log } from '../../service/call/log.ts';
import { assemble, type Assembled, type Engine } from '../process/assemble.ts';
import { now, randomBytes } from '../process/clock.ts';
import type { DevIssuer } from '../identity/dev-issuer.ts';
import { createHosting, refuseOtherKeys } from '../process/hosting.ts';
import { readKeys } from '../data/keys.ts';
import { parseAddress, type Variables } from '../process/layers.ts';
import { createLog } from '../process/log.ts';
import { run, type Running, type RunOptions } from '../process/run.ts';
import { openTls } from '../process/tls.ts';
import { openWitnesses } from '../witness/config.ts';
import { readServiceConfig, type ServiceConfig, type ServiceFlags } from './config.ts';

export interface ServiceOptions extends ServiceFlags {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Take the database as the truth: where `heads.db` was lost or is older (SQLite), whatever it says (PostgreSQL). */
  readonly rebuildHeads?: boolean | undefined;
  /** Serve an identity provider that believes everybody on this machine, at `host:port` where it is a text. */
  readonly devIssuer?: boolean | string | undefined;
  /** Where logs go; stderr where absent. */
  readonly log?: Log;
  /** Lag of the event loop from which load is shed; tests share their loop with the server. */
  readonly overloadDelayMs?: number;
  readonly timeouts?: NonNullable<ServerOptions['timeouts']>;
}

const operations = Object.keys(table) as OperationId[];

/** As `openService`, and CONFLICT where an address is taken. */
export async function serviceServe(options: ServiceOptions): Promise<Running> {
  const { assembled, serving } = await openService(options);
  return run(assembled, serving);
}

/**
 * Everything of a service but its listener. VALIDATION_ERROR for a bad configuration, CONFLICT where another process
 * serves the directory or the database has other tables than this release, STORAGE_FAULT where the store cannot be
 * opened or belongs to other keys.
 */
export async function openService(
  options: ServiceOptions,
): Promise<{ readonly assembled: Assembled; readonly serving: RunOptions }> {
  const startedAt = performance.now();
  const config = readServiceConfig(resolve(options.dataDir), options, options.env ?? process.env);
  const log = options.log ?? createLog(config.logLevel);
  const keys = readKeys(config.dataDir);
  const devIssuer = await startDevIssuer(config, options.devIssuer, log);
  const issuer = devIssuer?.issuer ?? config.issuer;
  let engine: Engine | null = null;
  try {
    const hosting = await createHosting({ ...config, issuer }, keys, log);
    engine = await openEngine(config, {
      log,
      rebuildHeads: options.rebuildHeads ?? false,
      env: options.env ?? process.env,
    });
    await refuseOtherKeys(engine.store, keys);
    const tls = config.tls === null ? null : openTls(config.tls, { log, now });
    const debugging = config.logLevel === 'debug';
    const env = options.env ?? process.env;
    const witnesses = await openWitnesses(config.witnessing, { store: engine.store, now, log, env });
    // tenants read it: no paths
    const degraded = (): readonly string[] =>
      [...(tls?.reasons() ?? []), ...(witnesses?.reasons() ?? [])].map((reason) =>
        reason.replace(/:.*$/s, ''),
      );
    const assembled = assemble({
      engine,
      keys,
      hosting,
      log,
      witnesses,
      debugging,
      degraded,
      exportHours: config.exportHours,
      exportsMost: config.exportsMost,
    });
    const beside = devIssuer === null ? {} : { beside: devIssuer };
    const background = witnesses === undefined ? {} : { background: witnesses };
    const serving = { ...servingOf(config, options), ...beside, ...background, tls, env, startedAt };
    return { assembled, serving };
  } catch (error) {
    await devIssuer?.close();
    await engine?.store.close();
    throw error;
  }
}

/** Null where none is asked for; CONFLICT where people sign in elsewhere already. */
async function startDevIssuer(
  { issuer, listen }: ServiceConfig,
  wanted: ServiceOptions['devIssuer'],
  log: Log,
): Promise<DevIssuer | null> {
  if (wanted === undefined || wanted === false) return null;
  if (issuer !== null) {
    const detail = `expected no issuer in service.json beside --dev-issuer, got ${issuer.url}; leave one of them out`;
    throw new GovError('CONFLICT', detail);
  }
  const { startDevIssuer: start } = await import('../identity/dev-issuer.ts');
  const at = wanted === true ? {} : { listen: parseAddress({ value: wanted, from: '--dev-issuer' }) };
  return start({ ...at, serviceListen: listen, now, randomBytes, log });
}

function servingOf(config: ServiceConfig, options: ServiceOptions): Omit<RunOptions, 'startedAt'> {
  const { dataDir, listen, metricsListen, problemBase, publicUrl, memoryMiB, database } = config;
  return {
    listen,
    metricsListen,
    http: {
      operations,
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
    // several processes may share one directory where the database is elsewhere
    runFile: database === null ? join(dataDir, 'run.json') : null,
    projectId: null,
  };
}

/** Loads the engine that is configured, and no other. */
export async function openEngine(
  config: Pick<ServiceConfig, 'dataDir' | 'database' | 'connections'> & {
    readonly exportDir?: string | null;
  },
  options: { readonly log: Log; readonly rebuildHeads: boolean; readonly env?: Variables },
): Promise<Engine> {
  const { dataDir, database, connections, exportDir = null } = config;
  if (database === null) {
    const { sqliteEngine } = await import('../process/sqlite-engine.ts');
    return sqliteEngine(dataDir, { ...options, hosted: true });
  }
  const { postgresEngine } = await import('../process/postgres-engine.ts');
  return postgresEngine({ url: database, connections, dataDir, exportDir }, options);
}
