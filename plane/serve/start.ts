/**
 * `gov plane serve`: combines a plane's configuration, store and keys, and serves them with `src/host`.
 * Proven by `test/plane/data/init.test.ts` and `test/plane/lifecycle.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OperationId } from '../../src/contract/table.ts';
import { assemble, type ServerParts, type Parts } from '../../src/host/process/assemble.ts';
import { removeDrafts } from '../../src/host/files/private.ts';
import type { HostKeys } from '../../src/host/keys/disk.ts';
import { configHash, readPlaneConfig, settingsOf, type PlaneConfig } from '../../src/host/data/config.ts';
import type { ServingFlags } from '../../src/host/serving/config.ts';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { openTls } from '../../src/host/process/tls.ts';
import type { OwnLog } from '../../src/host/witness/lacked-head.ts';
import { createLog } from '../../src/host/process/log.ts';
import { connectionsThatFit } from '../../src/host/process/open-files.ts';
import { run, type RunningServer, type RunOptions } from '../../src/host/process/run.ts';
import { runFileOf } from '../../src/host/files/run.ts';
import { sqliteEngine } from '../../src/host/process/sqlite-engine.ts';
import { outboundOf } from '../../src/host/outbound/config.ts';
import { reportFontsOf } from '../../src/host/reports/config.ts';
import { sendersOf } from '../../src/host/outbound/senders.ts';
import { schedulingOf } from '../../src/host/process/scheduling.ts';
import { onlyProject, openForwarding, sourceOf } from '../../src/host/forwards/open.ts';
import type { Variables } from '../../src/host/config/layers.ts';
import { together } from '../../src/host/process/together.ts';
import { openWitnesses, witnessesOf } from '../../src/host/witness/config.ts';
import { basePaths } from '../../src/http/call/route.ts';
import type { ServerOptions } from '../../src/http/server.ts';
import type { Log } from '../../src/service/call/log.ts';
import type { Services } from '../../src/service/port/services.ts';
import type { Store } from '../../src/store/port/store.ts';
import { rememberHeads } from '../../src/store/file/copies.ts';
import { heldConfig } from '../config/apply.ts';
import type { PresenceRule } from '../../src/service/port/services.ts';
import { recoveredMs, recoveryReason } from '../data/recover-approver.ts';
import { planeKeys, type PlaneKeys } from '../keys/own.ts';
import { keyOrders } from '../keys/rotate-serving.ts';
import { lazyBackground, type ReportingBackground } from './background.ts';
import type { SyncOptions } from '../config/sync.ts';
import type { TelemetryOptions } from '../telemetry/schedule.ts';
import { planeGauges, signedOf, type SignedSize } from './gauges.ts';
import { planeOperations } from './operations.ts';
import { planeUpkeep } from './upkeep.ts';

export interface ServeOptions extends ServingFlags {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Rebuilds a lost or older `heads.db` from the newest signed notes in the database. */
  readonly rebuildHeads?: boolean | undefined;
  /** Replaces the configured witnesses. Each is `VERIFIERKEY@URL`. */
  readonly witness?: readonly string[] | undefined;
  /** Destination of logs. Defaults to stderr. */
  readonly log?: Log;
  /** Event loop lag at which the server sheds load. Tests share their loop with the server. */
  readonly overloadDelayMs?: number;
  readonly timeouts?: NonNullable<ServerOptions['timeouts']>;
  readonly operations?: readonly OperationId[];
  /** Replaces the rule of plane.json. Tests decide approvals with a key alone; no configuration sets it. */
  readonly presence?: PresenceRule;
}

export type RunningPlane = RunningServer;

/**
 * VALIDATION_ERROR for a bad configuration, CONFLICT while another process serves the directory,
 * STORAGE_FAULT.
 */
export async function planeServe(options: ServeOptions): Promise<RunningPlane> {
  const startedAt = performance.now();
  const env = options.env ?? process.env;
  const config = readPlaneConfig(resolve(options.dataDir), options, env);
  const path = join(config.dataDir, 'plane.json');
  const asked = witnessesOf(config, { flags: options.witness, path });
  const place = { dataDir: config.dataDir, path, env };
  const sending = sendingOf(config, place);
  const connections = connectionsThatFit();
  const log = options.log ?? createLog(config.logLevel);
  const tls = config.tls === null ? null : openTls(config.tls, { log, now });
  const { rebuildHeads = false } = options;
  const reportFonts = reportFontsOf(config, place);
  const engine = sqliteEngine(config.dataDir, { log, rebuildHeads, env, reportFonts, onLoss: config.onLoss });
  const keys = await ownKeys(engine.store, config).catch(async (error: unknown) => {
    await engine.store.close();
    throw error;
  });
  const telemetry = lazyTelemetry(() => telemetryOf(config, { keys, assembled, env, log }), log);
  const own = ownLog(config, keys);
  const witnesses = await openWitnesses(asked, { store: engine.store, now, log, env, own });
  const forwards = await forwardingOf(config, { store: engine.store, env, log });
  const held = heldConfig(config, () => assembled.services);
  const { dataDir, projectId, config: configured = {} } = config;
  const sync = lazySync({ dataDir, held, sync: configured, env, now, log });
  const watches = lazyWatches(config, () => assembled.services, log);
  const reporting = [telemetry, sync, ...watches];
  const presence = await presenceHealth(engine.store, config);
  const assembled = assemble({
    engine,
    keys,
    hosting: null,
    log,
    debugging: config.logLevel === 'debug',
    localSettings: settingsOf(config),
    exportHours: config.exportHours,
    exportsMost: config.exportsMost,
    receipts: config.receipts,
    ...sending,
    degraded: () => reasonsOf([tls, ...reporting, witnesses, forwards, presence]),
    witnesses,
    forwards,
    planeProject: config.projectId,
    presence: options.presence ?? config.presence ?? 'enrolled',
    ...(config.hold === undefined ? {} : { holdSeconds: config.hold.seconds }),
    upkeep: () => planeUpkeep(config.dataDir),
    planeConfig: () => held,
  });
  await held.open().catch(async (error: unknown) => {
    await engine.store.close();
    throw error;
  });
  const orders = keyOrders(config.dataDir, () => ({ ...config, ...assembled.services, keys, log }));
  const hash = configHash(config);
  const signed = newestSigned(engine.store, config, keys);
  return run(assembled, {
    listen: config.listen,
    metricsListen: config.metricsListen,
    http: { ...httpOf(config, options), connections },
    basePath: basePaths[config.environment],
    runFile: runFileOf(config.dataDir),
    projectId,
    tls,
    background: together(...reporting, orders, ...[witnesses, forwards].filter((each) => each !== undefined)),
    gauges: planeGauges({ dataDir: config.dataDir, configHash: hash, signed, now }),
    announced: { configHash: hash },
    env,
    startedAt,
  });
}

/** The newest signed head of the log, for the metrics. */
const newestSigned =
  (store: Store, { projectId, origin }: PlaneConfig, keys: HostKeys) =>
  async (): Promise<SignedSize | null> => {
    const note = await store.newestCheckpoint(projectId, 'audit');
    return note === null ? null : signedOf(note, keys.verifierKeys(origin), origin);
  };

/** Whether no person decides here, and whether an approver was recovered. */
async function presenceHealth(store: Store, { presence, projectId }: PlaneConfig): Promise<HealthReasons> {
  const recovered = await recoveredMs(store, projectId);
  const none = 'presence: none: no person signs what agents ask for; plane.json turns it off';
  return { reasons: () => [...(presence === 'none' ? [none] : []), ...recoveryReason(recovered, now())] };
}

interface HealthReasons {
  reasons(): readonly string[];
}

const reasonsOf = (parts: readonly (HealthReasons | null | undefined)[]): readonly string[] =>
  parts.flatMap((part) => part?.reasons() ?? []);

const forwardingOf = (
  config: PlaneConfig,
  { store, env, log }: { readonly store: Store; readonly env: Variables; readonly log: Log },
): ReturnType<typeof openForwarding> => {
  const projects = onlyProject(sourceOf({ ...config, auditOrigin: config.origin }));
  return openForwarding(config.targets, { store, projects, now, randomBytes, log, env });
};
/** What leaves the plane, and who starts the scheduled work. */
const sendingOf = (
  config: PlaneConfig,
  place: { readonly dataDir: string; readonly path: string; readonly env: NonNullable<ServeOptions['env']> },
): Pick<Parts, 'outbound' | 'senders' | 'scheduling'> => ({
  outbound: outboundOf(config, place),
  senders: sendersOf(config, place),
  scheduling: schedulingOf(config, place),
});

/** Settles the key files before anything reads them. A crash may have left them between two places. */
async function ownKeys(store: Store, config: PlaneConfig): Promise<PlaneKeys> {
  const keys = await planeKeys(store, config);
  removeDrafts(join(config.dataDir, 'keys'));
  await holdToTelemetry(config.dataDir);
  return keys;
}

/** The log that witnesses can present evidence about. */
const ownLog = ({ dataDir, origin }: PlaneConfig, keys: HostKeys): OwnLog => ({
  origin,
  get verifierKeys() {
    return keys.verifierKeys(origin);
  },
  remember: (head) => rememberHeads(dataDir, [head]),
});

/** CONFLICT where the log lacks a reported head. Loads the check only where the plane has sent a report. */
async function holdToTelemetry(dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, 'telemetry.db'))) return;
  const { holdToReported } = await import('../telemetry/reported.ts');
  await holdToReported(dataDir, { remember: true });
}

/** Loads telemetry 100 ms after startup. Calls `options` then. */
const lazyTelemetry = (options: () => TelemetryOptions, log: Log): ReportingBackground =>
  lazyBackground(
    async () => {
      const { Telemetry } = await import('../telemetry/schedule.ts');
      return () => new Telemetry(options());
    },
    { afterMs: 100, log, failure: 'telemetry could not start' },
  );

/** Loads the comparison of sources and the watch over drills after startup. Calls `services` then. */
function lazyWatches(
  { projectId, drills: wanted = {} }: PlaneConfig,
  services: () => Services,
  log: Log,
): readonly ReportingBackground[] {
  const coverage = async () => {
    const { CoverageWatch } = await import('./coverage-watch.ts');
    return () => new CoverageWatch({ ...services(), projectId, log });
  };
  const drills = async () => {
    const { DrillWatch } = await import('./drill-watch.ts');
    return () => new DrillWatch({ ...services(), projectId, wanted, log });
  };
  return [
    lazyBackground(coverage, {
      afterMs: 1000,
      log,
      failure: 'could not start to compare the sources of runs',
    }),
    lazyBackground(drills, { afterMs: 1000, log, failure: 'could not start to look at drills' }),
  ];
}

/** Loads the client that fetches configurations once the plane listens: a plane that enrols meanwhile needs it at once. */
const lazySync = (options: SyncOptions): ReportingBackground =>
  lazyBackground(
    async () => {
      const { ConfigSync } = await import('../config/sync.ts');
      return () => new ConfigSync(options);
    },
    { afterMs: 0, log: options.log, failure: 'could not start to fetch configurations' },
  );

function telemetryOf(
  config: PlaneConfig,
  parts: { keys: HostKeys; assembled: ServerParts; env: TelemetryOptions['env']; log: Log },
): TelemetryOptions {
  const { keys, assembled, env, log } = parts;
  const { store, checkpoints } = assembled.services;
  return {
    dataDir: config.dataDir,
    project: { ...config, auditOrigin: config.origin },
    reader: store,
    signers: keys.telemetrySigners,
    signedSize: async (tree) => (await checkpoints.sign(config.projectId, tree)).checkpoint.size,
    env,
    log,
    now,
    randomBytes,
    random: Math.random,
  };
}

function httpOf({ memoryMiB, problemBase }: PlaneConfig, options: ServeOptions): RunOptions['http'] {
  const { operations = planeOperations, overloadDelayMs, timeouts } = options;
  return {
    operations,
    ...(problemBase === undefined ? {} : { problemBase }),
    overload: {
      ...(memoryMiB === undefined ? {} : { memoryBytes: memoryMiB * 1024 * 1024 }),
      ...(overloadDelayMs === undefined ? {} : { delayMs: overloadDelayMs }),
    },
    ...(timeouts === undefined ? {} : { timeouts }),
  };
}
