/** Limits: client. */
import { MiB } from './units.ts';

export const client = {
  responseBytes: 256 * MiB,
  clientTimeoutSeconds: 30,
  clientRetries: 3,
  clientRetryAfterSeconds: 60,
  clientBackoffMs: 250,
  clientBackoffMaxMs: 8000,
  invocationsHeld: 100_000,
  invocationIdChars: 128,
  runShowEvents: 2000,
  runShowDecisions: 400,
  runShowCalls: 50,
} as const;
