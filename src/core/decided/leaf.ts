/**
 * Common parts of the leaves of decisions (`docs/reference/proof-format.md`): list commitments, and reading a leaf from its record and
 * stored disclosures. The store has checked both against the log. Proven by `test/core/decided/evaluation.test.ts`.
 */
import { hash } from 'node:crypto';
import { hashText } from '../hash.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../json/parse.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { rebuild } from '../events/record.ts';
import { readDisclosures } from '../events/disclosure.ts';

/** A list by its count and the RFC 6962 root over JCS(item). A type, not an interface, because it is JSON. */
export type ListCommitment = { readonly n: number; readonly root: string };

export const listCommitment = (items: Iterable<Json>): ListCommitment =>
  hashesCommitment(Array.from(items, (item) => itemHash(canonicalize(item))));

/** Returns the RFC 6962 leaf hash of an item from its canonical text: 32 one-byte characters. */
export const itemHash = (text: string): string => hash('sha256', `\0${text}`, 'binary');

/** Returns the commitment from the leaf hashes of the items. */
export function hashesCommitment(hashes: Iterable<string>): ListCommitment {
  const list = new ListRoot();
  for (const leaf of hashes) list.addHash(leaf);
  return { n: list.size, root: hashText(list.root()) };
}

/** The clear members of a record, and the committed members by name; erased ones are absent. */
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
  const committed = leaf.disclosures === null ? new Map() : rebuild(readDisclosures(leaf.disclosures));
  return { index: leaf.index, clear, committed };
}
