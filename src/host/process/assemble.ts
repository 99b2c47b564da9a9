/**
 * The assembly of a serving process around a store: keys, caches, jobs, checkpoints. A plane and the hosted
 * service use the same assembly, and `run.ts` serves it. Proven by `test/plane/lifecycle.test.ts`.
 */
import { version } from '../../client/version.ts';
import { saltPool } from '../../core/event/disclosure.ts';
import type { PlaneConfig } from '../../service/planes/applied-config.ts';
import { Checkpoints } from '../../service/log/checkpoints.ts';
import { Credentials } from '../../service/access/credentials.ts';
import { Cursors } from '../../service/call/cursors.ts';
import type { Hosting } from '../../service/hosting.ts';
import { Indexer } from '../../service/completeness/indexer.ts';
import { JobWorker } from '../../service/jobs/worker.ts';
import type { Log } from '../../service/call/log.ts';
import { PolicySets } from '../../service/policies/in-force.ts';
import { refusalRecorder } from '../../service/access/refusals.ts';
import { Runs } from '../../service/events/runs.ts';
import { deriveSecrets } from '../../service/call/secrets.ts';
import { SearchIndexer } from '../../service/search/indexer.ts';
import type { Services } from '../../service/dependencies.ts';
import type { StoredSettings } from '../../service/call/settings.ts';
import { Slices } from '../../service/call/slices.ts';
import { Tail } from '../../service/events/tail.ts';
import type { Forwards } from '../../service/forwards/status.ts';
import type { Witnesses } from '../../service/log/witnesses.ts';
import type { TaskRunner } from '../../service/call/work.ts';
import type { ExportHolding, Store } from '../../store/port/store.ts';
import { clockJumpMs, now, randomBytes } from './clock.ts';
import { createClockWatch, type ClockWatch } from './clock-watch.ts';
import { defaultExportsMost } from '../exports/config.ts';
import type { HostKeys } from '../data/keys.ts';
import { limits } from '../../contract/limits.ts';
import type { Artifacts } from '../../service/exports/artifacts.ts';

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
  /** Finds a dead disk while nothing is written; `faulted` then says so. Returns a function that stops it. */
  readonly watch?: () => () => void;
}

export interface Parts {
  readonly engine: Engine;
  readonly keys: HostKeys;
  /** Null on a plane. */
  readonly hosting: Hosting | null;
  readonly log: Log;
  /** Whether any output receives `log.debug`. */
  readonly debugging: boolean;
  /** On a plane: the project settings from its configuration file. */
  readonly localSettings?: Partial<StoredSettings>;
  /** Hours that export artifacts are kept. Absent: `limits.exportHours`. */
  readonly exportHours?: number | undefined;
  /** Number of artifacts kept per project. Absent: `defaultExportsMost`. */
  readonly exportsMost?: ExportHolding | undefined;
  /** See `Services.witnesses`. */
  readonly witnesses?: Witnesses | undefined;
  /** See `Services.forwards`. */
  readonly forwards?: Forwards | undefined;
  /** See `Services.degraded`. */
  readonly degraded?: () => readonly string[];
  /** See `Services.planeProject`. */
  readonly planeProject?: string;
  /** Creates `Services.planeConfig`. */
  readonly planeConfig?: (services: () => Services) => PlaneConfig;
}

export interface Assembled {
  readonly engine: Engine;
  readonly services: Services;
  readonly jobs: JobWorker;
  readonly clock: ClockWatch;
}

export function assemble(parts: Parts): Assembled {
  const { engine, keys, hosting, log, debugging, degraded, witnesses } = parts;
  const { store, work, probe } = engine;
  const { signers, verifierKeys, attest, storeKey } = keys;
  const secrets = deriveSecrets(storeKey);
  const planeConfig = parts.planeConfig?.(() => services);
  const settings = (): Partial<StoredSettings> => ({ ...parts.localSettings, ...planeConfig?.settings() });
  const credentials = new Credentials({ store, now, hosting, settings });
  const grew = (projectId: string): void => services.checkpoints.grew(projectId);
  const indexer = new Indexer({ store, work, log, grew });
  const { searchKey } = secrets;
  const searchIndexer = new SearchIndexer({ store, work, log, key: searchKey });
  const services: Services = {
    store,
    now,
    randomBytes,
    salt: saltPool(randomBytes),
    fingerprint: secrets.fingerprint,
    fingerprinting: secrets.fingerprinting,
    cursors: new Cursors(secrets.cursorKey, randomBytes),
    tail: new Tail(store),
    checkpoints: new Checkpoints({
      store,
      now,
      log,
      signers,
      signed: (id, signed) => {
        witnesses?.signed(id, signed);
        indexer.signed(id, signed);
        searchIndexer.signed(id, signed.checkpoint.size);
      },
    }),
    indexer,
    searchKey,
    searchIndexer,
    runs: new Runs(),
    slices: new Slices(),
    policySets: new PolicySets(store),
    work,
    exports: {
      ...engine.exports,
      keptMs: (parts.exportHours ?? limits.exportHours) * 3_600_000,
      most: parts.exportsMost ?? defaultExportsMost,
    },
    wakeJobs: () => jobs.wake(),
    attest,
    ...(witnesses === undefined ? {} : { witnesses }),
    ...(parts.forwards === undefined ? {} : { forwards: parts.forwards }),
    verifierKeys,
    probe,
    degraded: () => [...clock.reasons(), ...(degraded?.() ?? [])],
    ...(planeConfig === undefined ? {} : { planeConfig }),
    ...(parts.planeProject === undefined ? {} : { planeProject: parts.planeProject }),
    counts: { skewedEvents: 0 },
    ...(hosting === null ? { planeSettings: settings } : {}),
    hosting,
    credentials,
    forgetCredential: (id) => credentials.forget(id),
    ...(hosting === null ? {} : { denied: (who, what) => recordRefusal(who, what) }),
    version,
    log,
    debugging,
  };
  const jobs = new JobWorker(services);
  const recordRefusal = refusalRecorder(services);
  const clock = createClockWatch(() => services, clockJumpMs);
  return { engine, services, jobs, clock };
}
