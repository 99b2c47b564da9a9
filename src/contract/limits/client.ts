/** Limits: client. */
import { KiB, MiB } from './units.ts';

export const client = {
  responseBytes: 256 * MiB,
  clientTimeoutSeconds: 30,
  clientRetries: 3,
  clientRetryAfterSeconds: 60,
  clientBackoffMs: 250,
  clientBackoffMaxMs: 8000,
  recorderBatchEvents: 100,
  recorderLingerMs: 200,
  recorderBufferedEvents: 10_000,
  recorderSpoolBytes: 256 * MiB,
  recorderCloseMs: 5000,
  recorderRetrySeconds: 30,
  /** Acknowledged batches that stay in a spool until the log is proven to have kept them: bytes, age, time between checks. */
  heldBytes: 64 * MiB,
  heldDays: 7,
  heldCheckSeconds: 30,
  /** Of the last check, at the end of a recorder or a push. */
  heldCloseMs: 2000,
  /** Runs whose dropped events a recorder counts by name; those of further runs are counted together. */
  recorderDroppedRuns: 1000,
  namespaceDataBytes: 64 * KiB,
  namespaceFilters: 5,
  invocationsHeld: 100_000,
  invocationIdChars: 128,
  runShowEvents: 2000,
  runShowDecisions: 400,
  runShowCalls: 50,
  /** Rows of a list that the command line collects for json and yaml, which are one value. */
  wholeListItems: 100_000,
  consoleRunEvents: 20_000,
  consoleRunDecisions: 4000,
} as const;
