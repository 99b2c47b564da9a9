/** Bodies as an erasure reads and writes them, whatever the engine: opened, and sealed again as they were. */
import type { KeptBody } from '../../core/event/erased.ts';
import { isSealed, type BodySeal, type Opened, type StoredBody } from './body-seal.ts';
import { idsOf, type SubjectKey } from './subject-keys.ts';

/** A body as the tables have it. */
export type StoredRow = StoredBody & Pick<KeptBody, 'erased'>;

/** With the ids of the keys that it is sealed with. */
export type ErasableBody = KeptBody & { readonly keys: readonly string[] };

/** Null where it does not open. */
export function keptBody({ erased, keys }: StoredRow, opened: Opened): ErasableBody | null {
  if (opened === 'closed') return null;
  if (opened === 'gone') return { disclosures: '[]', erased, isGone: true, keys: idsOf(keys) };
  return { disclosures: opened.text, erased, keys: idsOf(keys) };
}

/**
 * What is stored of a body that lost something. What was in clear stays so: a sealed text is longer, and a body only gets
 * shorter; nothing is in clear too, and needs no key any more. `isOwed`: its keys are to be destroyed yet (`isOwed` in
 * `subject-keys.ts`).
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
