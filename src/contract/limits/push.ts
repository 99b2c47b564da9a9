/** Limits: import and push. */
import { MiB } from './units.ts';

export const push = {
  importBytes: 256 * MiB,
  pushConcurrency: 16,
  pushQueuedBatches: 2,
  pushLingerMs: 1000,
  pushSegmentBytes: 64 * MiB,
  pushRetrySeconds: 30,
  pushListedRejections: 20,
  pushListedResults: 1000,
  /** Records of a file whose hashes a push keeps, to recognise them after the file was edited. */
  pushRememberedRecords: 100_000,
  pushCountedRuns: 100_000,
  /** Files that a push reads below one folder, and the levels of folders that it looks into. */
  pushFolderFiles: 100_000,
  pushFolderDepth: 32,
  /** Events that a push keeps of the runs that it has read, to compare further files with them. */
  pushKeptEvents: 200_000,
  /** Parts that a balance lists of what it leaves out, and the longest place and reason of one. */
  balanceParts: 50,
  balancePartChars: 300,
} as const;
