/** Leaves as readers get them, out of checked rows. */
import { committedBounds, disclosuresAt, isCommittedText } from '../../core/event/bodies.ts';
import type { Bodies, Leaf } from '../port/store.ts';

/** What is asked for of a body; null where it is not what the record committed to. */
export function committedOf(
  record: string,
  disclosures: string,
  bodies: Bodies,
): { readonly disclosures: string; readonly bounds?: readonly number[] } | null {
  if (typeof bodies === 'object') {
    const found = disclosuresAt(record, disclosures, bodies.at);
    return found === null ? null : { disclosures: found };
  }
  if (isCommittedText(record, disclosures) === true) return { disclosures };
  const bounds = committedBounds(record, disclosures);
  return bounds === null ? null : { disclosures, bounds };
}

/** With what is told of its body where something is. */
export function leafOf(
  leaf: Pick<Leaf, 'index' | 'record' | 'hash'>,
  body: Pick<Leaf, 'disclosures' | 'bounds'>,
  { erased, keys }: { readonly erased: string | null; readonly keys: string | null },
): Leaf {
  const whole = { ...leaf, ...body };
  if (erased === null && keys === null) return whole;
  return { ...whole, ...(erased === null ? {} : { erased }), ...(keys === null ? {} : { keys }) };
}

/** Where nothing was committed to, or bodies were not asked for. */
export const noBody = { disclosures: null } as const;
