/**
 * `fsck`: compares the second file with the database.
 * Proven by `test/store/file/heads.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Check } from '../check.ts';
import { compareHeads, type Heads } from '../../file/heads.ts';

/** A process that serves meanwhile signs in one file after the other, so a difference is compared once more. */
export async function checkHeads(check: Check, heads: Heads): Promise<void> {
  if ([...compareHeads(check.db, heads)].length === 0) return;
  await pause(signingMs);
  for (const { origin, expected, got } of compareHeads(check.db, heads)) {
    check.problem(`heads/${origin}`, 'heads_mismatch', { expected, got });
  }
}

/** Longer than a signing takes. */
const signingMs = 1000;
