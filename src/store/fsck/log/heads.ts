/**
 * `fsck`: compares the second file with the database.
 * Proven by `test/store/file/heads.test.ts`.
 */
import type { Check } from '../check.ts';
import { compareHeads, type Heads } from '../../file/heads.ts';

export function checkHeads(check: Check, heads: Heads): void {
  for (const { origin, expected, got } of compareHeads(check.db, heads)) {
    check.problem(`heads/${origin}`, 'heads_mismatch', { expected, got });
  }
}
