/**
 * The types of the facts of a commit. `facts.ts` looks them up in one round trip; effects read and change
 * them.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import type { SubjectKey } from '../../erasure/subject-keys.ts';
import type { MonthTotals } from '../../rules/plane-usage.ts';
import type { ChallengeState, PlaneOwner, PlaneState } from '../../rules/planes.ts';
import type { StoredReport } from '../../port/planes.ts';
import type { LivingProject, Membership } from '../../rules/homes.ts';
import type { ApiKeyRow } from '../../port/store.ts';
import type { ProjectProfile } from '../../rules/tenants.ts';
import type { CallerFacts } from '../effects/caller.ts';
import type { ApprovalState } from '../../append/approvals.ts';
import type { ExportHoldings, StoredPolicy } from '../../port/store.ts';
import type { KeptAnswer, StoredEventId } from '../../append/repeats.ts';
import type { StoredRow } from '../../erasure/erasable-body.ts';
import type { RunState } from '../../append/ledger.ts';
import type { Step } from '../../read/queries.ts';

export interface SubjectFacts {
  /** Keys that are not destroyed, by subject. */
  readonly subjectKeys: Map<string, readonly SubjectKey[]>;
  /** Subjects with sealed bodies other than those that an erasure of this commit takes. */
  readonly sealedBeside: Set<string>;
  /** Like `SubjectKeyRows.owedOf`. */
  readonly owed: Map<string, readonly (readonly string[])[]>;
  /** Subjects about whom this commit sealed bodies. */
  readonly sealedNow: Set<string>;
  /** Secrets of the keys of bodies with erased fields, by key id. */
  readonly secrets: Map<string, Uint8Array>;
}

export interface TelemetryFacts {
  readonly planes: Map<string, PlaneState>;
  unrevokedPlanes: number;
  /** By `ownerKey`: the planes that own the origins and keys of the planes to be saved. */
  readonly planeOwners: Map<string, PlaneOwner>;
  /** By `placeKey`. */
  readonly links: Map<string, StoredReport['link']>;
  /** By `nameKey`. */
  readonly challenges: Map<string, ChallengeState>;
  /** By `epochKey`. */
  readonly months: Map<string, readonly MonthTotals[]>;
}

export interface TenantFacts extends TelemetryFacts {
  /** Number of keys that are not revoked. */
  unrevoked: number;
  readonly keys: Map<string, Pick<ApiKeyRow, 'revokedMs' | 'updatedMs'>>;
  readonly callers: CallerFacts;
  profile: ProjectProfile | null;
  /** The requested names that other projects of the same organization and environment have. */
  readonly names: Set<string>;
  /** Hex digests of the open sessions among those to be ended. */
  readonly sessions: Set<string>;
  /** Null on a plane. */
  membership: Membership | null;
  /** Other projects of the organization that are not deleted, oldest first. */
  readonly others: LivingProject[];
}

interface ClientEvent {
  readonly index: number;
  readonly fingerprint: string;
  /** Null for an event of this commit. */
  readonly event: StoredEventId | null;
}

type PolicyState = Pick<StoredPolicy, 'revision' | 'status' | 'latestVersion'>;

/** What a commit knows of the documents that it names. */
export interface DocumentFacts {
  /** By kind and id. */
  readonly documents: Map<string, number>;
  /** Ids by kind and key. */
  readonly documentKeys: Map<string, string>;
  readonly documentCounts: Map<string, number>;
}

export interface Facts extends TenantFacts, SubjectFacts, DocumentFacts {
  readonly kept: Map<string, KeptAnswer>;
  readonly clients: Map<string, ClientEvent>;
  readonly runs: Map<string, RunState>;
  readonly sealed: Set<string>;
  /** Hashes of the declarations of runs. */
  readonly declarations: Map<string, string>;
  readonly snapshots: Set<string>;
  /** Facts of telemetry, by name. */
  readonly intake: Map<string, string>;
  /** Leases of running jobs; the commit locks their rows. */
  readonly leases: Map<string, string>;
  /** `openJobKey` of the named jobs that have not ended. */
  readonly openJobs: Map<string, string>;
  /** `stoppedJobKey` of the named jobs that failed or were cancelled, and have a request. */
  readonly stoppedJobs: Map<string, string>;
  /** Exports that are not complete. */
  readonly unfinished: Set<string>;
  /** Exports of the project, if the commit creates or finishes one. */
  heldExports: ExportHoldings;
  readonly policies: Map<string, PolicyState>;
  /** Whether a version was published, by `versionKey`. */
  readonly versions: Map<string, boolean>;
  active: number;
  readonly approvals: Map<string, ApprovalState>;
  /** Ids of the newest approvals of tool calls, by call key. */
  readonly newestOfCalls: Map<string, string>;
  /** Stored bodies of leaves with erased fields, by index. */
  readonly bodies: Map<number, StoredRow>;
  /** Like `StoreReader.prunedBelow`, if the commit prunes. */
  prunedBelow: number;
}

/** A look-up, and a function that turns its rows into facts. */
export interface Lookup {
  readonly step: Step;
  readonly take: (rows: readonly unknown[], facts: Facts) => void;
}

/** A new key of a subject. */
export interface NewSubjectKey {
  readonly project: number;
  readonly keyId: string;
  readonly subject: string;
  readonly secret: Uint8Array;
}
