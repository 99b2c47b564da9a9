/** `fsck`: the second file against the database. */
import type { Check } from '../run.ts';
import { compareHeads, type Heads } from '../../file/heads.ts';

export function checkHeads(check: Check, heads: Heads): void {
  for (const { origin, expected, got } of compareHeads(check.db, heads)) {
    check.problem(`heads/${origin}`, 'heads_mismatch', { expected, got });
  }
}
