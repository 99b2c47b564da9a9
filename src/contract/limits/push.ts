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
  /** Bytes at the beginning of a session in which its first line is looked for, to find the sessions that repeat it. */
  pushHeadBytes: 64 * 1024,
  /** A smaller recording is compared with all events of its run each time. */
  pushNotedBytes: 0.25 * MiB,
  /** Balances of a run in which a push looks for that of a file: its session and subagents have one each. */
  pushNewestBalances: 10,
  /** How often `events watch` looks at all files, also where the system reports no change. */
  watchPollSeconds: 5,
  /** How long it waits after a change, and between two readings of one file: at least, and in times of the last reading. */
  watchSettleMs: 250,
  watchPauseMs: 1000,
  watchPauseTimes: 10,
  /** How long a document that is written as a whole must be unchanged before it is read. */
  watchDocumentMs: 2000,
  /** Files of one pass, after which the places are kept on disk. */
  watchPassFiles: 32,
  watchPassBytes: 64 * MiB,
  /** Bytes at the beginning of a file by which it is known again. */
  watchHeadBytes: 1024,
  /** Parts that a balance lists of what it leaves out, and the longest place and reason of one. */
  /** The part of a file, in percent, that an importer has to understand, so that it is taken for one of its program. */
  balanceUnderstoodPercent: 95,
  balanceParts: 50,
  balancePartChars: 300,
} as const;
