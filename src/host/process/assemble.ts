/**
 * The assembly of a serving process around a store: keys, caches, jobs, checkpoints. A plane and the hosted
 * service use the same assembly, and `run.ts` serves it. Proven by `test/plane/lifecycle.test.ts`.
 */
import { build, version } from '../../client/version.ts';
import { saltPool } from '../../core/events/disclosure.ts';
import type { PlaneConfigService } from '../../service/hosting/plane-config.ts';
import { Checkpoints } from '../../service/log/checkpoints.ts';
import { Credentials } from '../../service/credentials/callers.ts';
import { KeySessions } from '../../service/credentials/key-sessions.ts';
import { Cursors } from '../../service/call/cursors.ts';
import type { HostParts } from '../../service/hosting/parts.ts';
import { Indexer } from '../../service/indexes/lists.ts';
import { JobWorker } from '../../service/job-worker.ts';
import { ReportWorker } from '../../service/reports/worker.ts';
import type { Log } from '../../service/call/log.ts';
import { PolicySets } from '../../service/in-force/policies.ts';
import { refusalRecorder } from '../../service/access/refusals.ts';
import type { ReceiptChoice } from '../../service/log/receipts.ts';
import { Runs } from '../../service/log/runs.ts';
import { deriveSecrets, type Seal } from '../../service/call/secrets.ts';
import { SearchIndexer } from '../../service/indexes/search.ts';
import type { Services } from '../../service/port/services.ts';
import type { StoredSettings } from '../../service/call/settings.ts';
import { Slices } from '../../service/call/slices.ts';
import { Holds } from '../../service/log/holds.ts';
import { Tail } from '../../service/log/tail.ts';
import { Webhooks } from '../../service/webhooks/work.ts';
import type { Forwards } from '../../service/hosting/forwards.ts';
import type { Witnesses } from '../../service/hosting/witnesses.ts';
import type { TaskRunner } from '../../service/call/work.ts';
import type { ExportHoldings, Store } from '../../store/port/store.ts';
import { lostLeaves, type NotedLoss } from '../../store/acked/losses.ts';
import { clockJumpMs, now, randomBytes } from './clock.ts';
import { createClockWatch, type ClockWatch } from './clock-watch.ts';
import { createSeal } from '../keys/seal.ts';
import { defaultExportsMost } from '../exports/config.ts';
import type { HostKeys } from '../keys/disk.ts';
import { limits } from '../../contract/limits.ts';
import type { Artifacts } from '../../service/hosting/artifacts.ts';
import { noOutbound, type OutboundConfig } from '../outbound/config.ts';
import { openOutbound } from '../outbound/open.ts';
import type { Senders } from '../outbound/senders.ts';
import { schedulingOf, type SchedulingOptions } from './scheduling.ts';
import { Scheduler } from '../../service/reports/scheduler.ts';

/** An open store with the worker threads that read it. */
export interface Engine {
  readonly store: Store;
  readonly work: TaskRunner;
  /** Where export artifacts are stored, and which thread builds them. */
  readonly exports: { readonly artifacts: Artifacts; readonly work: TaskRunner };
  /** See `Services.probe`. */
  readonly probe: () => Promise<readonly string[]>;
  /** Why writing stopped permanently, or null. The process then drains and ends. */
  readonly faulted: () => string | null;
  /** The losses of acknowledged leaves that nobody has acknowledged. */
  readonly losses: () => readonly NotedLoss[];
  /** Finds a dead disk while nothing is written; `faulted` then says so. Returns a function that stops it. */
  readonly watch?: () => () => void;
}

export interface Parts {
  readonly engine: Engine;
  readonly keys: HostKeys;
  /** Null on a plane. */
  readonly hosting: HostParts | null;
  readonly log: Log;
  /** Whether any output receives `log.debug`. */
  readonly debugging: boolean;
  /** On a plane: the project settings from its configuration file. */
  readonly localSettings?: Partial<StoredSettings>;
  /** Hours that export artifacts are kept. Absent: `limits.exportHours`. */
  readonly exportHours?: number | undefined;
  /** Number of artifacts kept per project. Absent: `defaultExportsMost`. */
  readonly exportsMost?: ExportHoldings | undefined;
  /** Receivers inside our networks. Absent: none. */
  readonly outbound?: OutboundConfig | undefined;
  /** Mail server and folder of deliveries. Absent: none. */
  readonly senders?: Senders | undefined;
  /** Absent: the timer, and no calls of a scheduler. */
  readonly scheduling?: SchedulingOptions | undefined;
  /** See `Services.witnesses`. */
  readonly witnesses?: Witnesses | undefined;
  /** See `Services.forwards`. */
  readonly forwards?: Forwards | undefined;
  /** See `Services.degraded`. */
  readonly degraded?: () => readonly string[];
  /** See `Services.receipts`. Absent: `commit`. */
  readonly receipts?: ReceiptChoice | undefined;
  /** See `Services.upkeep`. */
  readonly upkeep?: Services['upkeep'];
  /** See `Services.planeProject`. */
  readonly planeProject?: string;
  /** See `Services.presence`. */
  readonly presence?: Services['presence'];
  readonly holdSeconds?: Services['holdSeconds'];
  /** Creates `Services.planeConfig`. */
  readonly planeConfig?: (services: () => Services) => PlaneConfigService;
}

export interface ServerParts {
  readonly engine: Engine;
  readonly services: Services;
  readonly jobs: JobWorker;
  readonly reports: ReportWorker;
  readonly scheduler: Scheduler;
  /** Whether the process itself starts scheduled work. */
  readonly hasTimer: boolean;
  readonly webhooks: Webhooks;
  readonly clock: ClockWatch;
}

const byTimer = schedulingOf({}, { dataDir: '', path: '', env: {} });

/** What the configuration decides. */
function configured(
  parts: Parts,
): Pick<Services, 'exports' | 'outbound' | 'cronSecret' | 'receipts'> &
  Pick<Partial<Services>, 'witnesses' | 'forwards' | 'upkeep' | 'planeProject' | 'presence' | 'holdSeconds'> {
  const {
    engine,
    witnesses,
    forwards,
    upkeep,
    planeProject,
    presence,
    holdSeconds,
    scheduling = byTimer,
  } = parts;
  return {
    exports: {
      ...engine.exports,
      keptMs: (parts.exportHours ?? limits.exportHours) * 3_600_000,
      most: parts.exportsMost ?? defaultExportsMost,
    },
    outbound: { ...openOutbound({ ...(parts.outbound ?? noOutbound), now, version }), ...parts.senders },
    cronSecret: scheduling.cronSecret,
    receipts: parts.receipts ?? 'commit',
    ...(witnesses === undefined ? {} : { witnesses }),
    ...(forwards === undefined ? {} : { forwards }),
    ...(upkeep === undefined ? {} : { upkeep }),
    ...(planeProject === undefined ? {} : { planeProject }),
    ...(presence === undefined ? {} : { presence }),
    ...(holdSeconds === undefined ? {} : { holdSeconds }),
  };
}

/** The indexes of each log: that of its lists, and that of a search. */
const indexersOf = (
  { engine: { store, work }, log }: Parts,
  { searchKey, grew }: { searchKey: Uint8Array; grew: (projectId: string) => void },
): Pick<Services, 'indexer' | 'searchKey' | 'searchIndexer'> => ({
  indexer: new Indexer({ store, work, log, grew }),
  searchKey,
  searchIndexer: new SearchIndexer({ store, work, log, key: searchKey }),
});

/** Who may call: keys and people, and on a plane sessions of keys. */
function accessOf(
  { engine: { store }, hosting }: Parts,
  { settings, seal }: { readonly settings: () => Partial<StoredSettings>; readonly seal: Seal },
): Pick<Services, 'credentials' | 'keySessions'> {
  const keySessions = hosting === null ? new KeySessions({ now, randomBytes }) : null;
  return { keySessions, credentials: new Credentials({ store, now, hosting, settings, seal, keySessions }) };
}

/** Also tenants read it, so it has the number only. */
const lossReasons = (losses: readonly NotedLoss[]): string[] =>
  losses.length === 0 ? [] : [`acknowledged_lost: ${lostLeaves(losses)}`];

function tailOf(store: Parts['engine']['store']): Pick<Services, 'tail' | 'holds'> {
  const tail = new Tail(store);
  return { tail, holds: new Holds(tail) };
}

/** Without the timer, only calls of a scheduler start scheduled work; then `wakeReports` does nothing. */
export function assemble(parts: Parts): ServerParts {
  const { engine, keys, hosting, log, debugging, degraded, witnesses, scheduling = byTimer } = parts;
  const { store, work, probe } = engine;
  const { signers, verifierKeys, attest, storeKey } = keys;
  const { searchKey, ...secrets } = deriveSecrets(storeKey);
  const planeConfig = parts.planeConfig?.(() => services);
  const settings = (): Partial<StoredSettings> => ({ ...parts.localSettings, ...planeConfig?.settings() });
  const seal = createSeal(storeKey, randomBytes);
  const access = accessOf(parts, { settings, seal });
  const indexed = indexersOf(parts, { searchKey, grew: (id) => services.checkpoints.grew(id) });
  const services: Services = {
    store,
    now,
    randomBytes,
    salt: saltPool(randomBytes),
    fingerprint: secrets.fingerprint,
    fingerprinting: secrets.fingerprinting,
    cursors: new Cursors(secrets.cursorKey, randomBytes),
    ...tailOf(store),
    checkpoints: new Checkpoints({
      store,
      now,
      log,
      signers,
      signed: (id, signed) => {
        witnesses?.signed(id, signed);
        indexed.indexer.signed(id, signed);
        indexed.searchIndexer.grown(id, signed.checkpoint.size);
      },
    }),
    ...indexed,
    runs: new Runs(),
    slices: new Slices(),
    policySets: new PolicySets(store),
    work,
    ...configured(parts),
    runScheduled: (name) => scheduler.run(name),
    wakeScheduler: () => scheduler.wake(),
    webhooks: {
      follow: (projectId) => webhooks.follow(projectId),
      wake: () => webhooks.wake(),
    },
    wakeJobs: () => jobs.wake(),
    stopJob: (jobId) => jobs.cancelled(jobId),
    wakeReports: () => void (scheduling.hasTimer && reports.wake()),
    seal,
    logSigners: signers,
    attest,
    verifierKeys,
    probe,
    degraded: () => [...clock.reasons(), ...lossReasons(engine.losses()), ...(degraded?.() ?? [])],
    ...(planeConfig === undefined ? {} : { planeConfig }),
    counts: { skewedEvents: 0 },
    ...(hosting === null ? { planeSettings: settings } : {}),
    hosting,
    ...access,
    forgetCredential: (id) => access.credentials.forget(id),
    ...(hosting === null ? {} : { denied: (who, what) => recordRefusal(who, what) }),
    version: build,
    log,
    debugging,
  };
  const jobs = new JobWorker(services);
  const reports = new ReportWorker(services);
  const scheduler = new Scheduler(services, scheduling);
  const webhooks = new Webhooks(services);
  const recordRefusal = refusalRecorder(services);
  const clock = createClockWatch(() => services, clockJumpMs);
  return { engine, services, jobs, reports, scheduler, hasTimer: scheduling.hasTimer, webhooks, clock };
}
