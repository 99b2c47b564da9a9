/** Limits: witnesses. */
import { KiB } from './units.ts';

export const witnesses = {
  witnessProofLines: 63,
  witnessBodyBytes: 64 * KiB,
  witnessAnswerBytes: 64 * KiB,
  witnessLogs: 10_000,
  witnessConnections: 1000,
  witnesses: 16,
  witnessWaitSeconds: 10,
  witnessTimeoutSeconds: 10,
  witnessRetrySeconds: 60,
  /** Time without a cosignature after which health reports the witness. */
  witnessSilentSeconds: 60,
  /** Checkpoints of one log that proofs wait for, in addition to the newest. */
  witnessWanted: 16,
  /** Logs whose witnessed size stays in memory. */
  witnessLanes: 10_000,
  /** Records that wait for the size of an index leaf while a log is derived. */
  indexWaiting: 65_536,
  /** Records before the cosigned ones in a file of newer records: an index witness continues from the newest index leaf. */
  entriesOverlap: 8192,
  /** Sizes whose derived root stays in memory, for index leaves of older sizes. */
  indexRootsKept: 1024,
  /** A request for a cosignature waits so long for the derivation of the index; then the answer is 503. */
  indexWitnessSeconds: 3,
  /** Leaves between two saves while an index witness derives a log, and lists that then stay in memory. */
  indexWitnessSave: 262_144,
  indexWitnessLists: 100_000,
} as const;
