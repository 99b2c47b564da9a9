/**
 * What the leaves of decisions share (docs/reference/proof-format.md): lists by count and root, and reading a leaf back from
 * record and stored disclosures. The store checked both against the log when it read them.
 */
import { hash } from 'node:crypto';
import { hashText } from '../hash.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../json/parse.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { rebuild } from '../event/record.ts';
import type { Disclosure } from '../event/disclosure.ts';

/** A list by its count and the RFC 6962 root over JCS(item). A type, not an interface: it is JSON. */
export type ListCommitment = { readonly n: number; readonly root: string };

export const listCommitment = (items: Iterable<Json>): ListCommitment =>
  hashesCommitment(Array.from(items, (item) => itemHash(canonicalize(item))));

/** The RFC 6962 leaf hash of an item by its canonical text: 32 one-byte characters. */
export const itemHash = (text: string): string => hash('sha256', `\0${text}`, 'binary');

/** As above, by the leaf hashes of the items. */
export function hashesCommitment(hashes: Iterable<string>): ListCommitment {
  const list = new ListRoot();
  for (const leaf of hashes) list.addHash(leaf);
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
