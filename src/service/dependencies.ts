/** What handlers work with; `src/host/process/assemble.ts` puts it together. */
import type { ProblemCode } from '../contract/problems.ts';
import type { OperationId } from '../contract/table.ts';
import type { DsseEnvelope } from '../core/note/dsse.ts';
import type { ExportHolding, Store } from '../store/port/store.ts';
import type { PlaneConfig } from './planes/config.ts';
import type { Artifacts } from './exports/artifacts.ts';
import type { Caller } from './call/handler.ts';
import type { Checkpoints } from './log/checkpoints.ts';
import type { Credentials } from './access/credentials.ts';
import type { Cursors } from './call/cursors.ts';
import type { Hosting } from './hosting.ts';
import type { Log } from './call/log.ts';
import type { PolicySets } from './policies/in-force.ts';
import type { Runs } from './events/runs.ts';
import type { StoredSettings } from './call/settings.ts';
import type { Slices } from './call/slices.ts';
import type { Tail } from './events/tail.ts';
import type { Witnesses } from './log/witnesses.ts';
import type { Work } from './call/work.ts';

export interface Services {
  readonly store: Store;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  /** A fresh salt of 16 bytes, base64url. */
  readonly salt: () => string;
  readonly fingerprint: (text: string) => string;
  readonly cursors: Cursors;
  readonly tail: Tail;
  readonly checkpoints: Checkpoints;
  /** Absent where none are configured. */
  readonly witnesses?: Witnesses;
  readonly runs: Runs;
  readonly slices: Slices;
  readonly policySets: PolicySets;
  readonly work: Work;
  readonly exports: {
    /** Where artifacts lie. */
    readonly artifacts: Artifacts;
    /** What builds them. */
    readonly work: Work;
    readonly keptMs: number;
    /** Of one project. */
    readonly most: ExportHolding;
  };
  /** Says that a job is pending, so that the worker need not wait for its next look. */
  readonly wakeJobs: () => void;
  /** Verifier keys of the log with this origin, as texts. */
  readonly verifierKeys: (origin: string) => readonly string[];
  /** Signs an in-toto Statement for export (DSSE, ECDSA P-256). */
  readonly attest: (statement: Uint8Array) => DsseEnvelope;
  /** Reasons why a write now would not be durable; empty when it would. */
  readonly probe: () => Promise<readonly string[]>;
  /** Reasons that health shows and that never make the process unready, such as a service that is not reached. */
  readonly degraded?: () => readonly string[];
  /** Counted since the start, for the metrics. */
  readonly counts: Counts;
  /** What the configuration of a plane and its service decide; absent on a hosted service. */
  readonly planeSettings?: () => Partial<StoredSettings>;
  /** Null on a plane. */
  readonly hosting: Hosting | null;
  readonly credentials: Credentials;
  /** Absent at a service, which gives configurations and takes none. */
  readonly planeConfig?: PlaneConfig;
  /**
   * Drops at once what is remembered of a credential, or of all credentials of a project: the key, user or project
   * with this id was changed here. Other processes forget within `limits.credentialCacheSeconds`. O(n) of what is
   * remembered.
   */
  readonly forgetCredential: (id: string) => void;
  /**
   * Says that a known key or person was refused: without the scope (403), or with a credential that has ended (401).
   * Returns at once and never throws. Absent on a plane.
   */
  readonly denied?: (who: Pick<Caller, 'id' | 'type' | 'project'>, refused: Refused) => void;
  readonly version: string;
  readonly log: Log;
  /** Whether `log.debug` is written anywhere. */
  readonly debugging: boolean;
}

/** What was refused, and why. */
export interface Refused {
  readonly operation: OperationId | 'streamEvents';
  readonly code: ProblemCode;
}

export interface Counts {
  /** Events whose own time is more than `limits.recordedSkewSeconds` from the server's (contract E6). */
  skewedEvents: number;
}
