/**
 * Verifies the gov.erasure/1 leaves in a bundle. Each must be in the tree of a later checkpoint that a trusted key signed
 * and that extends the tree of the proof. A digest counts as *erased* only if such a leaf names it. A digest that is
 * neither disclosed, withheld nor erased is *missing*. Attacker controlled; nothing here throws.
 * Proven by `test/service/erasure/handlers.test.ts`.
 */
import { type BundleErasures, type BundleFrame, pathHashes } from './bundle.ts';
import { openTrustedCheckpoint } from '../note/checkpoint.ts';
import { readErasure } from '../decided/erasure.ts';
import { GovError } from '../../contract/problems.ts';
import { leafHash, verifyConsistency, verifyInclusion } from '../merkle/tree.ts';
import type { Checkpoint } from '../note/tree-head.ts';
import type { Trust } from '../note/trust.ts';
import type { CheckList } from './verdict.ts';

/** By event index: its erased digests, each with the index of the leaf that erased it. */
export type ErasedDigests = ReadonlyMap<number, ReadonlyMap<string, number>>;

export const noErasures: ErasedDigests = new Map();

/** Returns the erased digests. `proved`: checkpoint S′. An invalid part fails the check `disclosures` and erases nothing. */
export function openErasures(
  { erasures }: BundleFrame,
  { trust, proved }: { readonly trust: Trust | null; readonly proved: Checkpoint | null },
  checks: CheckList,
): ErasedDigests {
  if (erasures === undefined || trust === null || trust.keys.length === 0 || proved === null)
    return noErasures;
  const later = openLater(erasures, trust, checks);
  if (later === null) return noErasures;
  const extended =
    later.size === proved.size
      ? later.root.equals(proved.root)
      : verifyConsistency({
          first: proved.size,
          second: later.size,
          firstRoot: proved.root,
          secondRoot: later.root,
          path: pathHashes(erasures.consistency),
        });
  if (!extended) {
    checks.fail(
      'disclosures',
      'NOT_CONSISTENT',
      'the checkpoint of the erasures does not extend the checkpoint of the proof',
    );
    return noErasures;
  }
  return namedBy(erasures, later, checks);
}

function openLater({ checkpoint }: BundleErasures, trust: Trust, checks: CheckList): Checkpoint | null {
  try {
    return openTrustedCheckpoint(checkpoint, trust).checkpoint;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    checks.fail('disclosures', 'SIGNATURE_INVALID', `the checkpoint of the erasures: ${error.message}`);
    return null;
  }
}

function namedBy({ leaves }: BundleErasures, { size, root }: Checkpoint, checks: CheckList): ErasedDigests {
  const erased = new Map<number, Map<string, number>>();
  for (const { index, record, inclusion } of leaves) {
    const leaf = leafHash(record);
    const erasure = readErasure(record);
    const included = verifyInclusion({ index, size, leaf, path: pathHashes(inclusion), root });
    if (erasure === null || !included) {
      checks.fail(
        'disclosures',
        'NOT_INCLUDED',
        `leaf ${index}: expected a gov.erasure/1 leaf with a valid inclusion proof`,
      );
      continue;
    }
    for (const { index: event, digests } of erasure.targets) {
      const named = erased.get(event) ?? new Map<string, number>();
      for (const digest of digests) named.set(digest, index);
      erased.set(event, named);
    }
  }
  return erased;
}
