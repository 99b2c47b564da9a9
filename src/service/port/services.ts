/** The services that handlers use; `src/host/process/assemble.ts` creates them. */
import type { CronSummary } from '../../contract/cron.ts';
import type { ReceiverId } from '../../contract/otlp.ts';
import type { ProblemCode } from '../../contract/problems.ts';
import type { OperationId } from '../../contract/table.ts';
import type { DsseEnvelope } from '../../core/note/dsse.ts';
import type { NoteSigner } from '../../core/note/signed.ts';
import type { ExportHoldings, Store } from '../../store/port/store.ts';
import type { PlaneConfigService } from '../hosting/plane-config.ts';
import type { Upkeep } from '../hosting/upkeep.ts';
import type { Artifacts } from '../hosting/artifacts.ts';
import type { Caller } from '../call/caller.ts';
import type { Checkpoints } from '../log/checkpoints.ts';
import type { Credentials } from '../credentials/callers.ts';
import type { CronSecret } from '../hosting/cron-secret.ts';
import type { Cursors } from '../call/cursors.ts';
import type { HostParts } from '../hosting/parts.ts';
import type { KeySessions } from '../credentials/key-sessions.ts';
import type { Forwards } from '../hosting/forwards.ts';
import type { Indexer } from '../indexes/lists.ts';
import type { Log } from '../call/log.ts';
import type { Outbound } from '../hosting/outbound.ts';
import type { PolicySets } from '../in-force/policies.ts';
import type { ReceiptChoice } from '../log/receipts.ts';
import type { Runs } from '../log/runs.ts';
import type { StoredSettings } from '../call/settings.ts';
import type { FingerprintHasher, Seal } from '../call/secrets.ts';
import type { SearchIndexer } from '../indexes/search.ts';
import type { Slices } from '../call/slices.ts';
import type { Holds } from '../log/holds.ts';
import type { Tail } from '../log/tail.ts';
import type { Witnesses } from '../hosting/witnesses.ts';
import type { TaskRunner } from '../call/work.ts';
import type { WebhookWork } from './webhooks.ts';

/**
 * Where a person has to sign. `enrolled`: once an approver was enrolled, as on planes of older releases.
 */
export type PresenceRule = 'signed' | 'enrolled' | 'none';

export interface Services {
  readonly store: Store;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  /** A fresh salt of 16 bytes, base64url. */
  readonly salt: () => string;
  readonly fingerprint: (text: string) => string;
  readonly fingerprinting: () => FingerprintHasher;
  readonly cursors: Cursors;
  readonly tail: Tail;
  readonly holds: Holds;
  readonly checkpoints: Checkpoints;
  readonly indexer: Indexer;
  /** The key of the terms of the search index. */
  readonly searchKey: Uint8Array;
  readonly searchIndexer: SearchIndexer;
  /** Absent where the installation configures none. */
  readonly witnesses?: Witnesses;
  /** The operator's forward targets. Absent where the installation configures none. */
  readonly forwards?: Forwards;
  readonly runs: Runs;
  readonly slices: Slices;
  readonly policySets: PolicySets;
  readonly work: TaskRunner;
  readonly exports: {
    /** Storage of artifacts. */
    readonly artifacts: Artifacts;
    /** Runs the tasks that build them. */
    readonly work: TaskRunner;
    readonly keptMs: number;
    /** The limit of one project. */
    readonly most: ExportHoldings;
  };
  /** Seals answers and documents that contain secrets, with a key of the installation. */
  readonly seal: Seal;
  /** The work of webhooks in this process. */
  readonly webhooks: WebhookWork;
  /** Sends out of the process. */
  readonly outbound: Outbound;
  /** Authenticates the calls of a scheduler. */
  readonly cronSecret: CronSecret;
  /** Does one kind of scheduled work, at most `limits.cronSeconds`. */
  readonly runScheduled: (name: ScheduledWork) => Promise<CronSummary>;
  /** Tells the timer that a schedule or a delivery may be due. */
  readonly wakeScheduler: () => void;
  /** Tells the worker that a job is pending, so that the job starts at once. */
  readonly wakeJobs: () => void;
  /** Tells the worker that a job was cancelled, so that it stops if it runs here. */
  readonly stopJob: (jobId: string) => void;
  /** Tells the worker that a report is queued, so that it starts at once. */
  readonly wakeReports: () => void;
  /** Verifier keys (texts) of the log with this origin. */
  readonly verifierKeys: (origin: string) => readonly string[];
  /** Signers of the log with this origin, which also sign its reports. */
  readonly logSigners: (origin: string) => readonly NoteSigner[];
  /** When the log gives receipts of its leaves. */
  readonly receipts: ReceiptChoice;
  /** Signs an in-toto Statement for export (DSSE, ECDSA P-256). */
  readonly attest: (statement: Uint8Array) => DsseEnvelope;
  /** Reasons why a write now would not be durable; empty where it would be. */
  readonly probe: () => Promise<readonly string[]>;
  /** Reasons that health shows but that keep the process ready, such as an unreachable service. */
  readonly degraded?: () => readonly string[];
  /** Checks and backups of the data directory, and its disk. Absent on a hosted service: they are the operator's. */
  readonly upkeep?: () => Upkeep;
  /** Counts since the start, for the metrics. */
  readonly counts: Counts;
  /** Settings that a plane's configuration and service decide; absent on a hosted service. */
  readonly planeSettings?: () => Partial<StoredSettings>;
  /** The project of a plane; absent on a hosted service. */
  readonly planeProject?: string;
  /** Where a person has to be present. Absent on a hosted service. */
  readonly presence?: PresenceRule;
  /** How long a gate waits for the decision of a person. Absent: it does not wait. */
  readonly holdSeconds?: number;
  /** Null on a plane. */
  readonly hosting: HostParts | null;
  readonly credentials: Credentials;
  /** Sessions of keys in the console. Null on a service, where people sign in. */
  readonly keySessions: KeySessions | null;
  /** Absent on a service, which signs configurations and applies none. */
  readonly planeConfig?: PlaneConfigService;
  /**
   * Drops cached credentials at once after a change of the key, user or project with this id. Other processes
   * drop theirs within `limits.credentialCacheSeconds`. O(n) of cached credentials.
   */
  readonly forgetCredential: (id: string) => void;
  /**
   * Reports a refusal of a known key or person: a missing scope (403) or an ended credential (401). Returns
   * at once and never throws. Absent on a plane.
   */
  readonly denied?: (who: Pick<Caller, 'id' | 'type' | 'project'>, refused: RefusedCall) => void;
  readonly version: string;
  readonly log: Log;
  /** Whether the log level includes `log.debug`. */
  readonly debugging: boolean;
}

export type ScheduledWork = 'schedules' | 'executions' | 'deliveries' | 'cleanup';

/** The refused operation, and the code of the refusal. */
interface RefusedCall {
  readonly operation: OperationId | ReceiverId | 'streamEvents';
  readonly code: ProblemCode;
}

export interface Counts {
  /**
   * Events whose own time differs by more than `limits.recordedSkewSeconds` from the server's (contract E6).
   */
  skewedEvents: number;
}
