/** Limits: lists and idempotency. */
import { MiB } from './units.ts';

export const lists = {
  searchLeaves: 5000,
  /** Members of a delegation chain that a search finds. */
  delegationSearched: 64,
  pageDefault: 50,
  pageMax: 200,
  eventPageDefault: 100,
  eventPageMax: 1000,
  cursorChars: 512,
  pageBytes: 8 * MiB,
  idempotencyKeyChars: 255,
  idempotencyHours: 24,
  fieldErrors: 50,
  /** Characters of a value in a message (contract C10), a reason of a decision, a trace and a difference of a replay. */
  echoChars: 64,
} as const;
