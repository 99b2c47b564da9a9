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
} as const;
