/**
 * The state of the committed fields of a leaf: each digest is *kept* (salt and value are stored), *erased* by a
 * `gov.erasure/1` leaf, or *missing*, the only error. The body lists its erasures as `[leaf, digest, …]`, or as `[leaf]` if
 * one erasure removed everything that was left. The leaf is the proof, the list only an index to it.
 * Proven by `test/core/events/erased.test.ts`.
 */
import { digestOf, disclosureTexts, storedDigests } from './disclosure.ts';
import { readJson, type Json } from '../json/parse.ts';

/** A body as stored. */
export interface KeptBody {
  /** `JCS([[salt, pointer, value], …])` */
  readonly disclosures: string;
  /** Null without an erasure. */
  readonly erased: string | null;
  /** Whether the key that sealed the body was destroyed, so that nothing can open it. */
  readonly isGone?: true;
}

/** A digest whose salt and value an erasure removed. */
interface ErasedDigest {
  readonly digest: string;
  /** Index of the gov.erasure/1 leaf. */
  readonly leaf: number;
}

/**
 * Returns the body without these digests, and the removed texts; null if one of them is not kept. A body whose key was
 * destroyed has nothing left to remove. `leaf`: index of the erasure. Cost: 1 µs a disclosure.
 */
export function eraseDigests(
  { disclosures, erased, isGone }: KeptBody,
  { digests, leaf }: { readonly digests: readonly string[]; readonly leaf: number },
): { readonly body: KeptBody; readonly removed: readonly string[] } | null {
  if (isGone === true) return { body: withEntry('[]', erased, [leaf, ...digests]), removed: [] };
  const wanted = new Set(digests);
  const kept: string[] = [];
  const removed: string[] = [];
  for (const text of disclosureTexts(disclosures) ?? []) {
    if (wanted.delete(digestOf(text))) removed.push(text);
    else kept.push(text);
  }
  if (wanted.size > 0 || removed.length === 0) return null;
  const entry = kept.length === 0 ? [leaf] : [leaf, ...digests];
  return { body: withEntry(`[${kept.join(',')}]`, erased, entry), removed };
}

const withEntry = (
  disclosures: string,
  erased: string | null,
  entry: readonly (number | string)[],
): KeptBody => ({
  disclosures,
  erased: JSON.stringify([...entriesOf(erased), entry]),
});

/** The digests of a record that are not kept, in record order. */
export interface DigestGaps {
  readonly erased: readonly ErasedDigest[];
  /** Neither kept nor erased. */
  readonly missing: readonly string[];
}

/** Returns the state of all `digests` of a record. A malformed body keeps none. */
export function unkeptOf(
  digests: readonly string[],
  { disclosures, erased }: Pick<KeptBody, 'erased'> & { readonly disclosures: string | null },
): DigestGaps {
  const kept = new Set(disclosures === null ? [] : storedDigests(disclosures));
  const by = new Map<string, number>();
  let rest: number | undefined;
  for (const [leaf, ...named] of entriesOf(erased)) {
    if (named.length === 0) rest = leaf;
    for (const digest of named) by.set(digest, leaf);
  }
  const found: ErasedDigest[] = [];
  const missing: string[] = [];
  for (const digest of digests) {
    if (kept.has(digest)) continue;
    const leaf = by.get(digest) ?? rest;
    if (leaf === undefined) missing.push(digest);
    else found.push({ digest, leaf });
  }
  return { erased: found, missing };
}

/** Returns the indexes of the erasures that a body names. */
export const erasuresOf = (erased: string | null): number[] => entriesOf(erased).map(([leaf]) => leaf);

type Entry = readonly [leaf: number, ...digests: string[]];

/** The text may have been altered in the store: a malformed list names nothing. */
function entriesOf(erased: string | null): Entry[] {
  if (erased === null) return [];
  let entries: Json;
  try {
    entries = readJson(erased);
  } catch {
    return [];
  }
  return Array.isArray(entries) && entries.every(isEntry) ? (entries as unknown as Entry[]) : [];
}

const isEntry = (entry: Json): boolean =>
  Array.isArray(entry) &&
  Number.isSafeInteger(entry[0]) &&
  entry.slice(1).every((digest) => typeof digest === 'string');
