/**
 * What the operator's forward targets did so far, for operations, health and metrics. `src/host/forwards/` implements
 * it; a process without targets has none.
 */
export interface Forwards {
  /** Targets of a project. */
  statuses(projectId: string): Promise<readonly ForwardStatus[]>;
}

export interface ForwardStatus {
  readonly name: string;
  /** Address without secrets. */
  readonly to: string;
  readonly format: string;
  /** `new` before the first record. */
  readonly state: 'new' | 'current' | 'behind' | 'failing';
  /** Index of the next leaf that the receiver has not confirmed. */
  readonly position: number;
  /** Leaves of the log. */
  readonly treeSize: number;
  /** Leaves that the receiver has not confirmed. */
  readonly lag: number;
  /** Unix milliseconds since which it is behind; null where it is current. */
  readonly behindSinceMs: number | null;
  readonly records: number;
  /** Records that the receiver refuses for good. */
  readonly refused: number;
  readonly lastDeliveredMs: number | null;
  readonly lastError: string | null;
  readonly lastErrorMs: number | null;
  readonly retryMs: number | null;
  /** Leaves that were pruned before they were sent. */
  readonly gaps: readonly ForwardGap[];
}

export interface ForwardGap {
  /** Leaves [from, to). */
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
}
