/**
 * `fsck`: compares the second file with the database.
 * Proven by `test/store/file/heads.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Check } from '../check.ts';
import {
  compareHeads,
  headMismatches,
  type Heads,
  type HeadsMismatch,
  type NamedHead,
} from '../../file/heads.ts';

/** A process that serves meanwhile signs in one file after the other, so a difference is compared once more. */
export async function checkHeads(check: Check, heads: Heads): Promise<void> {
  if ([...compareHeads(check.db, heads)].length === 0) return;
  await pause(signingMs);
  report(check, compareHeads(check.db, heads));
}

/** Compares a copy of one project with heads that were signed before the copy was made. */
export function checkSigned(check: Check, signed: readonly NamedHead[]): void {
  report(check, headMismatches(check.db, signed));
}

function report({ problem }: Check, mismatches: Iterable<HeadsMismatch>): void {
  for (const { origin, expected, got } of mismatches) {
    problem(`heads/${origin}`, 'heads_mismatch', { expected, got });
  }
}

/** Longer than a signing takes. */
const signingMs = 1000;
