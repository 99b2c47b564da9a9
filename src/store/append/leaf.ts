/**
 * Builds the leaves that readers return, from checked rows.
 * Proven by `test/store/suite/log/reads.ts`.
 */
import { committedBounds, disclosuresAt, isCommittedText } from '../../core/events/bodies.ts';
import type { Leaf } from '../port/store.ts';
import type { Bodies } from '../port/store.ts';

/** Returns the requested part of a body. Null if the body does not match the record's commitments. */
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

/** Adds the erasures and key ids of the body, if it has any. */
export function leafOf(
  leaf: Pick<Leaf, 'index' | 'record' | 'hash'>,
  body: Pick<Leaf, 'disclosures' | 'bounds'>,
  { erased, keys }: { readonly erased: string | null; readonly keys: string | null },
): Leaf {
  const whole = { ...leaf, ...body };
  if (erased === null && keys === null) return whole;
  return { ...whole, ...(erased === null ? {} : { erased }), ...(keys === null ? {} : { keys }) };
}

/** For a record without committed fields, or a read without bodies. */
export const noBody = { disclosures: null } as const;
