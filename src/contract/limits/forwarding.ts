/** Limits: forwarding to a SIEM. */
import { KiB, MiB } from './units.ts';

export const forwarding = {
  /** Targets of one plane or service. */
  forwardTargets: 16,
  /** From here on a batch ends. Recording comes first: a batch is read and encoded in pieces of 20 leaves. */
  forwardBatchLeaves: 1000,
  forwardBatchBytes: 1 * MiB,
  /** Batches of one project before the next project of the target has its turn. */
  forwardTurnBatches: 8,
  /** Projects that send to one target at the same time. */
  forwardAtOnce: 4,
  /** Waits between attempts, and the longest obeyed Retry-After. */
  forwardBackoffMs: 1000,
  forwardBackoffMaxMs: 60_000,
  forwardRetryAfterSeconds: 600,
  /** One exchange with a receiver. */
  forwardTimeoutSeconds: 30,
  /** The part of an answer that is read. */
  forwardAnswerBytes: 1 * MiB,
  /** Sizes that `gov forward verify` reads: of a manifest, of an object, and of its unzipped lines. */
  forwardManifestBytes: 16 * KiB,
  forwardObjectBytes: 16 * MiB,
  forwardLinesBytes: 64 * MiB,
  /** Seconds and bytes that a connection of syslog carries before the receiver must confirm them. */
  forwardConfirmSeconds: 5,
  forwardConfirmBytes: 8 * MiB,
  /** Seconds between two signed heads of a log that a receiver gets. */
  forwardHeadSeconds: 300,
  /** Time without a delivery after which health reports the target. */
  forwardSilentSeconds: 300,
  /** Time for which health reports that leaves were lost. */
  forwardLostHours: 24,
  /** Addresses that a target had before, of which it keeps the position. */
  forwardPlaces: 8,
  /** Gaps that the status of a target lists. */
  forwardGaps: 10,
} as const;
