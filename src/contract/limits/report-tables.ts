/** Limits: tables of reports, and the files that prove them. */
import { MiB } from './units.ts';

export const reportTables = {
  /** Rows of one table of a report, and their text; further rows are counted and left out. */
  reportRows: 100_000,
  reportTableBytes: 64 * MiB,
  /** Runs, tools or days that a report counts one by one. */
  reportGroups: 100_000,
  /** A question about a period reads so many leaves at most; a question about the whole log reads none. */
  reportAskLeaves: 262_144,
  /** Bytes of all proof bundles of one report. */
  reportProofBytes: 64 * MiB,
  /** Runs of which an incident bundle attaches the newest proof. */
  reportProofs: 20,
  /** Events and runs whose sources a report compares. */
  reportCoverageEvents: 200_000,
  reportCoverageRuns: 10_000,
  /** Erased leaves that a report reads again, to see that the values are gone. */
  reportErasedChecked: 10_000,
  /** A data plane that reported nothing for longer may lack a report. */
  reportPlaneSilentHours: 24,
  /** Checkpoints that a report lists. */
  reportCheckpoints: 1000,
  /** An approval that is decided faster than this is an exception. */
  reportQuickApprovalSeconds: 10,
} as const;
