/** What a commit knows before it is planned. `facts.ts` looks it up in one round trip; effects read and change it. */
import type { SubjectKey } from '../../erasure/subject-keys.ts';
import type { MonthTotals } from '../../rules/plane-usage.ts';
import type { ChallengeState, PlaneOwner, PlaneState } from '../../rules/planes.ts';
import type { StoredReport } from '../../port/planes.ts';
import type { LivingProject, Membership } from '../../rules/homes.ts';
import type { ApiKeyRow } from '../../port/store.ts';
import type { Profile } from '../../rules/tenants.ts';
import type { CallerFacts } from '../effects/caller.ts';
import type { ExportHolding, StoredApproval, StoredPolicy } from '../../port/store.ts';
import type { Kept } from '../../append/repeats.ts';
import type { StoredRow } from '../../erasure/erasable-body.ts';
import type { RunState } from '../../append/ledger.ts';
import type { Step } from '../connection/wire.ts';

export interface SubjectFacts {
  /** Keys that are not destroyed, by subject. */
  readonly subjectKeys: Map<string, readonly SubjectKey[]>;
  /** Subjects with sealed bodies beside those that an erasure of this commit takes. */
  readonly sealedBeside: Set<string>;
  /** As `SubjectKeyRows.owedOf`. */
  readonly owed: Map<string, readonly (readonly string[])[]>;
  /** Subjects that requests of this commit sealed bodies about. */
  readonly sealedNow: Set<string>;
  /** Keys that bodies name whose fields are erased. */
  readonly secrets: Map<string, Uint8Array>;
}

export interface TelemetryFacts {
  readonly planes: Map<string, PlaneState>;
  unrevokedPlanes: number;
  /** By `ownerKey`: which planes have what those that are to be saved have. */
  readonly planeOwners: Map<string, PlaneOwner>;
  /** By `placeKey`. */
  readonly links: Map<string, StoredReport['link']>;
  /** By `nameKey`. */
  readonly challenges: Map<string, ChallengeState>;
  /** By `epochKey`. */
  readonly months: Map<string, readonly MonthTotals[]>;
}

export interface TenantFacts extends TelemetryFacts {
  /** Keys that are not revoked. */
  unrevoked: number;
  readonly keys: Map<string, Pick<ApiKeyRow, 'revokedMs' | 'updatedMs'>>;
  readonly callers: CallerFacts;
  profile: Profile | null;
  /** Those of other projects of its organization and environment, among the ones that may be taken. */
  readonly names: Set<string>;
  /** Digests, in hex, of those to be ended that have not ended. */
  readonly sessions: Set<string>;
  /** Null on a plane. */
  membership: Membership | null;
  /** Other projects of its organization that are not deleted, oldest first. */
  readonly others: LivingProject[];
}

interface ClientEvent {
  readonly index: number;
  readonly fingerprint: string;
  /** Null for one of this commit. */
  readonly eventId: string | null;
}

type PolicyState = Pick<StoredPolicy, 'revision' | 'status' | 'latestVersion'>;

type ApprovalState = Pick<StoredApproval, 'expiresMs' | 'decision'>;

export interface Facts extends TenantFacts, SubjectFacts {
  readonly kept: Map<string, Kept>;
  readonly clients: Map<string, ClientEvent>;
  readonly runs: Map<string, RunState>;
  readonly sealed: Set<string>;
  readonly snapshots: Set<string>;
  /** Leases of jobs in work; their rows are locked. */
  readonly leases: Map<string, string>;
  /** Exports that are not complete. */
  readonly unfinished: Set<string>;
  /** Of the project, where the commit makes or finishes one. */
  heldExports: ExportHolding;
  readonly policies: Map<string, PolicyState>;
  /** Whether a version was published, by `versionKey`. */
  readonly versions: Map<string, boolean>;
  active: number;
  readonly approvals: Map<string, ApprovalState>;
  /** As they are stored, of leaves whose fields are erased, by index. */
  readonly bodies: Map<number, StoredRow>;
  /** As `StoreReader.prunedBelow`, where something is pruned. */
  prunedBelow: number;
}

/** A look-up, and what its rows say. */
export interface Lookup {
  readonly step: Step;
  readonly take: (rows: readonly unknown[], facts: Facts) => void;
}
