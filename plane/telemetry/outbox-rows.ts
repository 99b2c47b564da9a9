/** The rows of the outbox (`outbox.ts`), as they are read. */

type ReportState = 'queued' | 'accepted' | 'refused' | 'replaced';
type ChallengeState = 'open' | 'answered' | 'refused';

export interface OutboxReport {
  readonly planeId: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly reportId: string;
  /** JCS: what is signed and sent. */
  readonly body: string;
  /** `sha256:…` of the body. */
  readonly hash: string;
  readonly treeSize: number;
  readonly periodEndMs: number;
  readonly builtMs: number;
}

export interface StoredReport extends OutboxReport {
  readonly state: ReportState;
  /** Whether it may have left the machine. */
  readonly handed: boolean;
  /** JSON of what the service answered; null until it did. */
  readonly receipt: string | null;
  /** Why it was refused, or what is wrong with its receipt. */
  readonly reason: string | null;
  readonly settledMs: number | null;
}

export interface StoredChallenge {
  readonly challengeId: string;
  readonly planeId: string;
  readonly reportId: string;
  /** JSON, as it came. */
  readonly challenge: string;
  readonly receivedMs: number;
  /** JCS of the answer; null until it is made. */
  readonly answer: string | null;
  readonly state: ChallengeState;
  readonly receipt: string | null;
  readonly reason: string | null;
}

export interface Settled {
  readonly receipt: string | null;
  readonly reason: string | null;
  readonly atMs: number;
}

/** When the service was reached, and why it is not. */
export interface Contact {
  readonly reachedMs: number | null;
  readonly failingSinceMs: number | null;
  readonly failure: string | null;
}

/** What a plane knows of what its service holds. */
export interface Known {
  /** The enrolment for which it was asked; null where it is to be asked. */
  readonly askedFor: string | null;
  /** Whether the service refused a report for another one that it holds. */
  readonly isBehind: boolean;
  /** Body of the newest report that it holds, where this plane does not go on behind it, and why not. */
  readonly held: string | null;
  readonly heldReason: string | null;
}

export const reportColumns = `plane_id AS planeId, epoch, sequence, report_id AS reportId, body, hash, tree_size AS treeSize,
  period_end_ms AS periodEndMs, built_ms AS builtMs, state, handed, receipt, reason, settled_ms AS settledMs`;
export const challengeColumns = `challenge_id AS challengeId, plane_id AS planeId, report_id AS reportId, challenge,
  received_ms AS receivedMs, answer, state, receipt, reason`;

export type ReportRow = Omit<StoredReport, 'handed'> & { readonly handed: number };
export const reportOf = (row: ReportRow | undefined): StoredReport | null =>
  row === undefined ? null : { ...row, handed: row.handed === 1 };
