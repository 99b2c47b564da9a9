/**
 * What the leaves of decisions share (docs/proofs.md): lists by count and root, and reading a leaf back from
 * record and stored disclosures. The store checked both against the log when it read them.
 */
import { hashText } from '../hash.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../json.ts';
import { ListRoot } from '../listroot.ts';
import { rebuild } from '../record.ts';
import type { Disclosure } from '../disclosure.ts';

/** A list by its count and the RFC 6962 root over JCS(item). A type, not an interface: it is JSON. */
export type ListCommitment = { readonly n: number; readonly root: string };

export const listCommitment = (items: Iterable<Json>): ListCommitment =>
  textsCommitment(Array.from(items, canonicalize));

/** As above, of items that are canonical texts already. */
export function textsCommitment(texts: Iterable<string>): ListCommitment {
  const list = new ListRoot();
  for (const text of texts) list.add(`\0${text}`);
  return { n: list.size, root: hashText(list.root()) };
}

/** The clear members of a record, and the committed ones by name; without those that were erased. */
export interface OpenLeaf {
  readonly index: number;
  readonly clear: JsonObject;
  readonly committed: ReadonlyMap<string, Json>;
}

export function openLeaf(leaf: {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string | null;
}): OpenLeaf {
  const clear = readJson(leaf.record) as JsonObject;
  const committed =
    leaf.disclosures === null ? new Map() : rebuild(readJson(leaf.disclosures) as unknown as Disclosure[]);
  return { index: leaf.index, clear, committed };
}
