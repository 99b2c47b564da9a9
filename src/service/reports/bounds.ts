/** The kinds of scheduled work of reports: what a run has done so far, and when it ends. */

/** What a run has done so far. */
export interface Counts {
  processed: number;
  succeeded: number;
  failed: number;
  skipped: number;
  readonly createdIds: string[];
}

export interface Bounds {
  /** Whether nothing new may be begun. */
  isOver(): boolean;
}
