/**
 * What a service keeps of data planes: who they are, what they reported, what they were asked. Reports are no leaves of
 * a log of the service: each carries the signed head of the plane's own metering log. What changes is part of an append
 * to the project of the plane (`TelemetryEffect`), with the events that tell of it.
 */
import type { MeteredType } from '../../contract/operation.ts';
import type { TelemetryFault } from '../../contract/telemetry.ts';
import type { FormerKeys } from '../../core/plane/identity.ts';
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
  /** SHA-256 of the enrolment token, 32 bytes; kept after its use, so that a lost answer can be asked for again. */
  readonly tokenDigest: Buffer;
  readonly tokenExpiresMs: number;
  /** When the token was exchanged last; null where it was not yet. */
  readonly tokenUsedMs: number | null;
  /** Null until it is enrolled. */
  readonly enrolled: {
    readonly atMs: number;
    /** Of its metering log, without the epoch. */
    readonly origin: string;
    readonly auditOrigin: string;
    /** C2SP vkey texts, Ed25519. */
    readonly verifierKey: string;
    readonly auditVerifierKey: string;
    /** Those it had before, the oldest first; at most `limits.planeFormerKeys`. */
    readonly formerKeys: readonly FormerKeys[];
    readonly keyPrefix: string;
    readonly keyLast4: string;
    readonly current: PlaneSecrets;
    readonly previous: (PlaneSecrets & { readonly untilMs: number }) | null;
  } | null;
  readonly revokedMs: number | null;
  /** 1, 2, 3 …: raised by each change. */
  readonly revision: number;
}

export type Counts = Readonly<Record<MeteredType, number>>;
/** `pending` until it is answered, or noted that nobody did in time. */
type AttestationState = 'not_sampled' | 'pending' | 'verified' | 'failed' | 'expired';

export interface StoredReport {
  readonly planeId: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly reportId: string;
  /** JCS of the report: the bytes that were signed. */
  readonly body: string;
  /** SHA-256 of the body, 32 bytes. */
  readonly digest: Buffer;
  readonly receivedMs: number;
  /** `2026-11`, UTC: `reportMonth` of the report (`src/core/plane/usage-report.ts`). */
  readonly month: string;
  readonly treeSize: number;
  /** Totals at treeSize since the epoch began. */
  readonly totals: Counts;
  /** Whether it follows from the report before: `unknown` until that one is held, else what does not hold. */
  readonly link: 'unknown' | 'linked' | TelemetryFault;
  /** Signature line of the service for its checkpoint: the receipt. */
  readonly cosignature: string;
  readonly attestation: AttestationState;
  /** JSON of the challenge, and its id; null where it was not sampled. */
  readonly challenge: {
    readonly challengeId: string;
    readonly text: string;
    readonly expiresMs: number;
  } | null;
  /** The first answer to the challenge, which stays: SHA-256 of the proof, and JSON of what it was answered with. */
  readonly answer: {
    readonly digest: Buffer;
    readonly status: number;
    readonly result: string;
    readonly atMs: number;
  } | null;
}

/** What is known of an epoch of a plane, kept with its reports. */
export interface PlaneEpoch {
  readonly epoch: number;
  /** Reports that are held. */
  readonly held: number;
  /** The first sequence that is not held: 1 where none is. */
  readonly nextSequence: number;
  /** The largest sequence that is held, and the largest tree size. */
  readonly newestSequence: number;
  readonly treeSize: number;
  /** The smallest sequence that is held and whose link is not `linked`; null where there is none. */
  readonly firstUnlinked: number | null;
}

export type TelemetryEffect =
  /**
   * Inserts (`revision` 1) or replaces. Refused with CONFLICT where the stored revision is not one less, where the
   * project has `limits.planesPerProject` planes already that are not revoked, where it is revoked and `revokedMs` is
   * another time, or null though it is not enrolled (anew), and where another plane, of whichever project and revoked or
   * not, has this origin, audit origin or verifier key: each log is of one plane for ever.
   */
  | { readonly kind: 'savePlane'; readonly plane: StoredPlane }
  /**
   * Refused with REPORT_CONFLICT where its plane has a report with this id or this (epoch, sequence): the service looks
   * again, as it may be the same one; with NOT_FOUND where there is no such plane, or it is
   * revoked; with REPORT_INVALID for a report of one month more than `limits.epochMonths` of its epoch, and where units of
   * the project's planes in a month would be beyond 2^53-1. Raises the epoch's
   * row, and the totals of (epoch, month), type by type.
   */
  | { readonly kind: 'saveReport'; readonly report: StoredReport }
  /** Refused with CONFLICT where the link is not `unknown` any more, NOT_FOUND where there is no such report. */
  | {
      readonly kind: 'linkReport';
      readonly planeId: string;
      readonly epoch: number;
      readonly sequence: number;
      readonly link: 'linked' | TelemetryFault;
    }
  /**
   * Refused with CONFLICT where the challenge of the report has an answer or has expired, NOT_FOUND where it has no
   * challenge.
   */
  | {
      readonly kind: 'answerChallenge';
      readonly planeId: string;
      readonly reportId: string;
      readonly attestation: 'verified' | 'failed';
      readonly answer: NonNullable<StoredReport['answer']>;
    }
  /** As above: so one of several processes that note the same is refused. */
  | { readonly kind: 'expireChallenge'; readonly planeId: string; readonly reportId: string };

export interface TelemetryReader {
  plane(projectId: string, planeId: string): Promise<StoredPlane | null>;
  /** Newest first. */
  planes(projectId: string, page: Page<ByAge>): Promise<StoredPlane[]>;
  /** Across projects: the digest of a hybrid key, the current or the previous one, decides the tenant. */
  planeOfKey(digest: Uint8Array): Promise<{
    readonly plane: StoredPlane;
    readonly project: Project;
    readonly stored: StoredProject;
  } | null>;
  /** As above, by the digest of an enrolment token. */
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
   * Reports of an epoch with an `unknown` link whose predecessor is held, lowest first, among the newest
   * `limits.reportsUnlinkedSeen` that are not linked.
   */
  unlinked(projectId: string, planeId: string, epoch: number, limit: number): Promise<StoredReport[]>;
  /** The largest sizes that were reported in an epoch below a size, descending, each once: what a challenge asks consistency with. */
  reportedSizes(
    projectId: string,
    planeId: string,
    below: { readonly epoch: number; readonly treeSize: number; readonly limit: number },
  ): Promise<number[]>;
  /** Null where nothing was reported in it. */
  planeEpoch(projectId: string, planeId: string, epoch: number): Promise<PlaneEpoch | null>;
  newestEpoch(projectId: string, planeId: string): Promise<PlaneEpoch | null>;
  /** The report with this challenge, of whichever plane of the organization; null where it is another organization's. */
  challenged(
    organizationId: string,
    challengeId: string,
  ): Promise<{ readonly projectId: string; readonly report: StoredReport } | null>;
  /** Challenges of a plane that were noted as expired. Cost: as many index entries. */
  expiredChallenges(projectId: string, planeId: string): Promise<number>;
  /**
   * Of all projects, for the timer: challenges whose time was over by then and that are `pending`, the oldest first.
   */
  overdueChallenges(
    atMs: number,
    limit: number,
  ): Promise<
    readonly {
      readonly projectId: string;
      readonly planeId: string;
      readonly reportId: string;
      readonly challengeId: string;
      readonly expiresMs: number;
    }[]
  >;
  /**
   * Units that planes of the project reported for a month: for each plane and epoch what the largest totals up to the
   * end of the month are above those before it. No order or repetition of reports changes it. Cost: one row.
   */
  planeUsage(projectId: string, month: string): Promise<Counts>;
}
