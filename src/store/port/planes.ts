/**
 * The data planes of a service: identities, usage reports and challenges.
 * Reports are not leaves of the service's log. Each report carries the signed head of the plane's own
 * metering log. Changes are effects (`TelemetryEffect`) of an append to the plane's project, together with
 * their events.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import type { MeteredType } from '../../contract/operation.ts';
import type { TelemetryFault } from '../../contract/telemetry.ts';
import type { FormerKeys } from '../../core/planes/identity.ts';
import type { ByAge } from './rows.ts';
import type { Page, Project, StoredProject } from './log.ts';

export interface PlaneSecrets {
  /** SHA-256 of the hybrid key, 32 bytes. */
  readonly keyDigest: Buffer;
  /** The signing secret, sealed (`Hosting.seal`). */
  readonly sealedSecret: string;
}

export interface StoredPlane {
  readonly planeId: string;
  readonly projectId: string;
  readonly name: string;
  readonly createdMs: number;
  readonly createdBy: string;
  /**
   * SHA-256 of the enrolment token, 32 bytes. Kept after use, so that a plane can ask again for a lost
   * answer.
   */
  readonly tokenDigest: Buffer;
  readonly tokenExpiresMs: number;
  /** Time of the last token exchange; null before the first one. */
  readonly tokenUsedMs: number | null;
  /** Null until the plane is enrolled. */
  readonly enrolled: {
    readonly atMs: number;
    /** Origin of the metering log, without the epoch. */
    readonly origin: string;
    readonly auditOrigin: string;
    /** C2SP vkey texts, Ed25519. */
    readonly verifierKey: string;
    readonly auditVerifierKey: string;
    /** Earlier keys, oldest first; at most `limits.planeFormerKeys`. */
    readonly formerKeys: readonly FormerKeys[];
    readonly keyPrefix: string;
    readonly keyLast4: string;
    readonly current: PlaneSecrets;
    readonly previous: (PlaneSecrets & { readonly untilMs: number }) | null;
  } | null;
  readonly revokedMs: number | null;
  /** 1, 2, 3 …; each change raises it. */
  readonly revision: number;
}

export type MeteredCounts = Readonly<Record<MeteredType, number>>;
/** `pending` until the plane answers, or until the service notes that the time is over. */
type AttestationState = 'not_sampled' | 'pending' | 'verified' | 'failed' | 'expired';

export interface StoredReport {
  readonly planeId: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly reportId: string;
  /** JCS of the report: the signed bytes. */
  readonly body: string;
  /** SHA-256 of the body, 32 bytes. */
  readonly digest: Buffer;
  readonly receivedMs: number;
  /** `2026-11`, UTC: `reportMonth` of the report (`src/core/planes/usage-report.ts`). */
  readonly month: string;
  readonly treeSize: number;
  /** Totals at `treeSize` since the start of the epoch. */
  readonly totals: MeteredCounts;
  /**
   * Whether the report follows from its predecessor. `unknown` until the store has that one; a fault names
   * the broken rule.
   */
  readonly link: 'unknown' | 'linked' | TelemetryFault;
  /** The receipt: the service's signature line for the plane's checkpoint. */
  readonly cosignature: string;
  readonly attestation: AttestationState;
  /** JSON of the challenge, and its id. Null if the report was not sampled. */
  readonly challenge: {
    readonly challengeId: string;
    readonly text: string;
    readonly expiresMs: number;
  } | null;
  /**
   * The first answer to the challenge, which never changes: SHA-256 of the proof, and JSON of the response.
   */
  readonly answer: {
    readonly digest: Buffer;
    readonly status: number;
    readonly result: string;
    readonly atMs: number;
  } | null;
}

/** Counters of an epoch of a plane, stored with its reports. */
export interface PlaneEpoch {
  readonly epoch: number;
  /** Number of stored reports. */
  readonly held: number;
  /** The first missing sequence; 1 if there are no reports. */
  readonly nextSequence: number;
  /** The largest stored sequence, and the largest tree size. */
  readonly newestSequence: number;
  readonly treeSize: number;
  /** The smallest stored sequence whose link is not `linked`, or null. */
  readonly firstUnlinked: number | null;
}

export type TelemetryEffect =
  /**
   * Inserts (`revision` 1) or replaces. Refused with CONFLICT in these cases:
   * - the stored revision is not `revision` - 1;
   * - the project already has `limits.planesPerProject` planes that are not revoked;
   * - the stored plane is revoked, and `revokedMs` is another time, or is null without a new enrolment;
   * - another plane has this origin, audit origin or verifier key, in any project and even if it is revoked.
   *   A log permanently belongs to one plane.
   */
  | { readonly kind: 'savePlane'; readonly plane: StoredPlane }
  /**
   * Raises the counters of the epoch, and the totals of (epoch, month), type by type. Refused in these cases:
   * - REPORT_CONFLICT: the plane has a report with this id or this (epoch, sequence). The service then reads
   *   it, because it may be the same report.
   * - NOT_FOUND: the plane is unknown or revoked.
   * - REPORT_INVALID: the epoch would have reports of more than `limits.epochMonths` months, or the units of
   *   the project's planes in a month would exceed 2^53-1.
   */
  | { readonly kind: 'saveReport'; readonly report: StoredReport }
  /**
   * Refused with CONFLICT if the link is no longer `unknown`, and with NOT_FOUND if there is no such report.
   */
  | {
      readonly kind: 'linkReport';
      readonly planeId: string;
      readonly epoch: number;
      readonly sequence: number;
      readonly link: 'linked' | TelemetryFault;
    }
  /**
   * Refused with CONFLICT if the challenge is answered or expired, and with NOT_FOUND if the report has no
   * challenge.
   */
  | {
      readonly kind: 'answerChallenge';
      readonly planeId: string;
      readonly reportId: string;
      readonly attestation: 'verified' | 'failed';
      readonly answer: NonNullable<StoredReport['answer']>;
    }
  /** Refused like `answerChallenge`, so that only one of several processes notes the expiry. */
  | { readonly kind: 'expireChallenge'; readonly planeId: string; readonly reportId: string };

export interface OverdueChallenge {
  readonly projectId: string;
  readonly planeId: string;
  readonly reportId: string;
  readonly challengeId: string;
  readonly expiresMs: number;
}

export interface TelemetryReader {
  plane(projectId: string, planeId: string): Promise<StoredPlane | null>;
  /** Newest first. */
  planes(projectId: string, page: Page<ByAge>): Promise<StoredPlane[]>;
  /** Searches all projects: the digest of the current or previous hybrid key decides the tenant. */
  planeOfKey(digest: Uint8Array): Promise<{
    readonly plane: StoredPlane;
    readonly project: Project;
    readonly stored: StoredProject;
  } | null>;
  /** Searches all projects by the digest of an enrolment token. */
  planeOfToken(digest: Uint8Array): Promise<{
    readonly plane: StoredPlane;
    readonly project: Project;
    readonly stored: StoredProject;
  } | null>;
  report(projectId: string, planeId: string, reportId: string): Promise<StoredReport | null>;
  reportAt(
    projectId: string,
    planeId: string,
    place: { readonly epoch: number; readonly sequence: number },
  ): Promise<StoredReport | null>;
  /** Newest first by (epoch, sequence). */
  reports(
    projectId: string,
    planeId: string,
    page: Page<{ readonly epoch: number; readonly sequence: number }>,
  ): Promise<StoredReport[]>;
  /**
   * Reports of an epoch with an `unknown` link and a stored predecessor, lowest first. Searches the newest
   * `limits.reportsUnlinkedSeen` reports that are not linked.
   */
  unlinked(projectId: string, planeId: string, epoch: number, limit: number): Promise<StoredReport[]>;
  /**
   * The largest distinct reported sizes of an epoch below a size, descending. A challenge asks for
   * consistency with them.
   */
  reportedSizes(
    projectId: string,
    planeId: string,
    below: { readonly epoch: number; readonly treeSize: number; readonly limit: number },
  ): Promise<number[]>;
  /** Null if the epoch has no report. */
  planeEpoch(projectId: string, planeId: string, epoch: number): Promise<PlaneEpoch | null>;
  newestEpoch(projectId: string, planeId: string): Promise<PlaneEpoch | null>;
  /**
   * Finds the report with this challenge among all planes of the organization. Null for another
   * organization's challenge.
   */
  challenged(
    organizationId: string,
    challengeId: string,
  ): Promise<{ readonly projectId: string; readonly report: StoredReport } | null>;
  /** Counts the challenges of a plane that are noted as expired. Cost: as many index entries. */
  expiredChallenges(projectId: string, planeId: string): Promise<number>;
  /**
   * The work of the timer, over all projects: `pending` challenges that expired before `atMs`, oldest first.
   */
  overdueChallenges(atMs: number, limit: number): Promise<readonly OverdueChallenge[]>;
  /**
   * Units that the project's planes reported for a month. For each plane and epoch it is the difference
   * between the largest totals up to the end of the month and the largest totals before the month. The order
   * and repetition of reports do not change it. Cost: one row.
   */
  planeUsage(projectId: string, month: string): Promise<MeteredCounts>;
}
