/** Leaves as readers get them, out of checked rows. */
import type { Leaf } from './port.ts';

/** With what is told of its body where something is. */
export function leafOf(
  leaf: Pick<Leaf, 'index' | 'record' | 'hash'>,
  body: { readonly disclosures: string | null; readonly erased: string | null; readonly keys: string | null },
): Leaf {
  const { disclosures, erased, keys } = body;
  return {
    ...leaf,
    disclosures,
    ...(erased === null ? {} : { erased }),
    ...(keys === null ? {} : { keys }),
  };
}
