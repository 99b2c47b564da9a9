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
  echoChars: 64,
} as const;
