/**
 * Opens a body for an erasure and seals it again, the same for both engines.
 * Proven by `test/store/suite/governance/erasures.ts` and `test/store/erasure/subject-keys.test.ts`.
 */
import type { KeptBody } from '../../core/events/erased.ts';
import { isSealed, type BodySeal, type OpenedBody, type StoredBody } from './body-seal.ts';
import { idsOf, type SubjectKey } from './subject-keys.ts';

/** A body with the columns of the tables. */
export type StoredRow = StoredBody & Pick<KeptBody, 'erased'>;

/** With the ids of the keys that seal it. */
export type ErasableBody = KeptBody & { readonly keys: readonly string[] };

/** Null if the body does not open. */
export function keptBody({ erased, keys }: StoredRow, opened: OpenedBody): ErasableBody | null {
  if (opened === 'closed') return null;
  if (opened === 'gone') return { disclosures: '[]', erased, isGone: true, keys: idsOf(keys) };
  return { disclosures: opened.text, erased, keys: idsOf(keys) };
}

/**
 * Returns the stored form of a body that lost fields. A body in clear stays in clear: a sealed text is
 * longer, and a body may only become shorter. An empty body is stored in clear and needs no key. `isOwed`:
 * the destruction of its keys is still due (`isOwed` in `subject-keys.ts`).
 */
export function resealed(
  seal: BodySeal,
  { disclosures }: KeptBody,
  {
    row,
    keys,
    isOwed,
  }: {
    readonly row: StoredBody | undefined;
    readonly keys: readonly SubjectKey[];
    readonly isOwed: boolean;
  },
): StoredBody {
  if (isOwed && row !== undefined) return { disclosures, keys: row.keys };
  if (disclosures === '[]' || row === undefined) return { disclosures, keys: null };
  return {
    disclosures: isSealed(row.disclosures) ? seal.seal(disclosures, keys) : disclosures,
    keys: row.keys,
  };
}
