/** The services that handlers use; `src/host/process/assemble.ts` creates them. */
import type { ReceiverId } from '../contract/otlp.ts';
import type { ProblemCode } from '../contract/problems.ts';
import type { OperationId } from '../contract/table.ts';
import type { DsseEnvelope } from '../core/note/dsse.ts';
import type { ExportHolding, Store } from '../store/port/store.ts';
import type { PlaneConfig } from './planes/applied-config.ts';
import type { Artifacts } from './exports/artifacts.ts';
import type { Caller } from './call/caller.ts';
import type { Checkpoints } from './log/checkpoints.ts';
import type { Credentials } from './access/credentials.ts';
import type { Cursors } from './call/cursors.ts';
import type { Forwards } from './forwards/status.ts';
import type { Hosting } from './hosting.ts';
import type { Indexer } from './completeness/indexer.ts';
import type { Log } from './call/log.ts';
import type { PolicySets } from './policies/in-force.ts';
import type { Runs } from './events/runs.ts';
import type { StoredSettings } from './call/settings.ts';
import type { Fingerprinting } from './call/secrets.ts';
import type { SearchIndexer } from './search/indexer.ts';
import type { Slices } from './call/slices.ts';
import type { Tail } from './events/tail.ts';
import type { Witnesses } from './log/witnesses.ts';
import type { TaskRunner } from './call/work.ts';

export interface Services {
  readonly store: Store;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  /** A fresh salt of 16 bytes, base64url. */
  readonly salt: () => string;
  readonly fingerprint: (text: string) => string;
  readonly fingerprinting: () => Fingerprinting;
  readonly cursors: Cursors;
  readonly tail: Tail;
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
    readonly most: ExportHolding;
  };
  /** Tells the worker that a job is pending, so that the job starts at once. */
  readonly wakeJobs: () => void;
  /** Verifier keys (texts) of the log with this origin. */
  readonly verifierKeys: (origin: string) => readonly string[];
  /** Signs an in-toto Statement for export (DSSE, ECDSA P-256). */
  readonly attest: (statement: Uint8Array) => DsseEnvelope;
  /** Reasons why a write now would not be durable; empty where it would be. */
  readonly probe: () => Promise<readonly string[]>;
  /** Reasons that health shows but that keep the process ready, such as an unreachable service. */
  readonly degraded?: () => readonly string[];
  /** Counts since the start, for the metrics. */
  readonly counts: Counts;
  /** Settings that a plane's configuration and service decide; absent on a hosted service. */
  readonly planeSettings?: () => Partial<StoredSettings>;
  /** The project of a plane; absent on a hosted service. */
  readonly planeProject?: string;
  /** Null on a plane. */
  readonly hosting: Hosting | null;
  readonly credentials: Credentials;
  /** Absent on a service, which signs configurations and applies none. */
  readonly planeConfig?: PlaneConfig;
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
