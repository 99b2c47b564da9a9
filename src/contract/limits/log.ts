/** Limits: log, erasure, proof bundles. */
import { KiB, MiB } from './units.ts';

export const log = {
  committedFields: 256,
  /** Leaves in one gov.erasure/1 leaf, so that its record stays below `recordBytes`. */
  erasureTargets: 400,
  erasureDigests: 1000,
  erasurePointerChars: 512,
  erasureRequestChars: 256,
  erasureRequestHours: 24,
  subjectPointers: 10,
  subjectPointerChars: 256,
  subjectValueChars: 1024,
  /** Subjects of one event or decision; an event about more is refused. */
  subjectsPerLeaf: 16,
  recordBytes: 65_535,
  tileCacheTiles: 256,
  noteBytes: 1_000_000,
  noteSignatures: 100,
  trustBytes: 256 * KiB,
  trustKeys: 32,
  /** Of a whole bundle, for its maker and its verifier: 100,000 disclosed events of 10 KiB. */
  bundleBytes: 1024 * MiB,
  /** Of a bundle without its events, which a verifier reads into memory: most of it is the graph. */
  bundleRestBytes: 128 * MiB,
  bundleValues: 4_000_000,
  /** Leaves about signed approvals. */
  bundleApprovals: 1000,
  /** Of one event in a bundle: twice what the largest event with all its salts takes. */
  bundleEventBytes: 2 * MiB,
  bundleStringBytes: 1 * MiB,
  /** A smaller bundle is answered at once; a larger one is sent in parts. */
  bundleWholeBytes: 4 * MiB,
  bundlePartBytes: 1 * MiB,
  /** Attempts to get a part while the process is overloaded, `overloadRetrySeconds` apart. */
  bundlePartTries: 30,
  answerBytes: 1 * MiB,
  /** A receipt: two paths of the largest tree, with a long origin. */
  receiptBytes: 8 * KiB,
  /** Leaves up to which a receipt lists their hashes. */
  receiptLeaves: 4,
  /** Smaller logs of one request for consistency proofs. */
  consistencySizes: 64,
  /** After so many seconds a signed tree has each leaf that the log has acknowledged. */
  receiptSeconds: 60,
  /** An evidence file. */
  evidenceBytes: 4 * MiB,
  /** A file of signed heads. */
  headsBytes: 16 * MiB,
  /** Paths that are kept with a signed head. */
  headPaths: 32,
  /** Signed heads that a verifier remembers of one log, the largest. */
  keptHeads: 32,
  bundleErasures: 1000,
  /** Bytes of one row, or of the last line, of an export artifact that is verified. */
  exportLineBytes: 64 * MiB,
  /** Lists of the index that a proof of completeness has: types of events, or client days. */
  exportLists: 4096,
  /** Items of one list that no row has. */
  exportOthers: 262_144,
  /** A larger proof of completeness is left out. */
  exportAnswerBytes: 16 * MiB,
  proofPathHashes: 64,
  commitRequests: 500,
  /** Waiting requests that go to the write thread at once, while it has at most `commitAheadMost` unanswered. */
  commitAheadRequests: 24,
  commitAheadMost: 72,
  commitBytes: 8 * MiB,
  commitSharedBytes: 256 * KiB,
  commitSharedRecent: 256,
  writeQueue: 10_000,
  diskReserveBytes: 64 * MiB,
  /** The reserve is at most this part of the disk, so that a small disk that got space again is not taken for full. */
  diskReserveShare: 16,
  /** After so many leaves a log gets an index leaf, even if no bundle needs one. */
  indexLeaves: 4096,
  /** After so many leaves the map of a log is saved, so that a start reads no more of them again. */
  indexSaveLeaves: 16_384,
  /** A proof or bundle does not extend the index of a log that lacks more leaves: about two seconds. */
  indexBehind: 262_144,
  /** While the index is built, a proof or bundle waits for it if it lacks at most so many leaves, and at most so long. */
  indexWaitLeaves: 1_048_576,
  indexWaitSeconds: 10,
  /** Index leaves that questions (`GET /log/answers`) may add to a log at once, and seconds until they may add one more. */
  indexAsks: 60,
  indexAskSeconds: 60,
  /** Size of a database that the plane still rewrites at a stop after an erasure; this takes seconds. */
  rewriteBytes: 512 * MiB,
  /** A pass of the scrub over a log starts this long after the one before. */
  scrubHours: 24,
  /** Without a complete pass for this long, a log needs attention. */
  scrubOverdueDays: 8,
  /** Altered places that a pass keeps with their details and records as events; it counts the others. */
  scrubFindings: 20,
  /** A plane without a newer backup needs attention. */
  backupDays: 7,
} as const;
