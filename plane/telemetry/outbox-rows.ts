/** The row types of the outbox (`outbox.ts`). */

type ReportState = 'queued' | 'accepted' | 'refused' | 'replaced';
type ChallengeState = 'open' | 'answered' | 'refused';

export interface OutboxReport {
  readonly planeId: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly reportId: string;
  /** JCS. The plane signs and sends these bytes. */
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
  /** JSON of the service's response. Null until it arrives. */
  readonly receipt: string | null;
  /** Why the service refused the report, or why its receipt is invalid. */
  readonly reason: string | null;
  readonly settledMs: number | null;
}

export interface StoredChallenge {
  readonly challengeId: string;
  readonly planeId: string;
  readonly reportId: string;
  /** JSON, exactly as received. */
  readonly challenge: string;
  readonly receivedMs: number;
  /** JCS of the answer. Null until the plane makes it. */
  readonly answer: string | null;
  readonly state: ChallengeState;
  readonly receipt: string | null;
  readonly reason: string | null;
}

export interface SettledMessage {
  readonly receipt: string | null;
  readonly reason: string | null;
  readonly atMs: number;
}

/** The last contact with the service, and the reason of a failure. */
export interface Contact {
  readonly reachedMs: number | null;
  readonly failingSinceMs: number | null;
  readonly failure: string | null;
}

/** The plane's knowledge of reports at the service. */
export interface ServiceState {
  /** The enrolment of the last question. Null where the plane must ask. */
  readonly askedFor: string | null;
  /** Whether the service refused a report because it holds another one. */
  readonly isBehind: boolean;
  /** Body of the newest report at the service where this plane cannot continue after it, and the reason. */
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
