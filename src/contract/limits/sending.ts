/** Limits: sending reports. */
import { MiB } from './units.ts';

export const sending = {
  /** Of a plane that sends: waits between attempts, the longest obeyed Retry-After, time of one exchange. */
  telemetryBackoffMs: 1000,
  telemetryBackoffMaxMs: 300_000,
  telemetryRetryAfterSeconds: 3600,
  telemetryTimeoutSeconds: 30,
  telemetryAnswerBytes: 1 * MiB,
  /** Unsent reports older than this are merged into one report a month. */
  telemetryMergeDays: 90,
  /** Time that `gov plane keys` waits for the serving process to change the keys. */
  keyOrderSeconds: 30,
} as const;
