/**
 * What a file shows of one key of the map: its path, and its value or its absence. `openEntry` computes the value under a
 * root, and nothing else of the entry is trusted.
 * Proven by `test/core/proofs/completeness.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { hashText, parseHash } from '../hash.ts';
import type { Json } from '../json/parse.ts';
import {
  count,
  hash,
  hashForm,
  list,
  object,
  refuse,
  text,
  type Location,
  type Shape,
} from '../json/shape.ts';
import { verifyInclusion } from '../merkle/tree.ts';
import type { ListProofs } from './list-proof.ts';
import {
  keyHash,
  maxDepth,
  rootOfPath,
  valueHash,
  type ListValue,
  type MapKey,
  type MapPath,
} from './map.ts';

/** The first item of a list that the map covers and a proof does not: it stands in the log at or after its end. */
interface NextItem {
  /** Index in the log. */
  readonly index: number;
  readonly leaf: string;
  /** In the tree of the checkpoint that covers the index leaf. */
  readonly inclusion: readonly string[];
  /** In the list. */
  readonly listInclusion: readonly string[];
}

/** Of a list that went on: it extends the shown one, and how it goes on. */
export interface Growth {
  /** From the shown list to the whole one; absent for a list of which only the count is shown. */
  readonly consistency?: readonly string[];
  readonly next: NextItem;
}

export interface MapEntry {
  readonly key: readonly string[];
  /** From the root down; null is a subtree without keys. */
  readonly siblings: readonly (string | null)[];
  /** The value of the key; the only other key with these first bits; or null: no key has them. */
  readonly end:
    | { readonly value: ListValue }
    | { readonly keyHash: string; readonly valueHash: string }
    | null;
  readonly growth?: Growth;
}

/**
 * Proves that a list went on after `n` items. `whole`: the list of `n` items is shown by its root. `index`, `leaf` and
 * `inclusion` are of the item after them.
 */
export function growthOf(
  list: ListProofs,
  shown: {
    readonly n: number;
    readonly whole: boolean;
    readonly index: number;
    readonly leaf: Uint8Array;
    readonly inclusion: readonly Uint8Array[];
  },
): Growth {
  const { n, whole, index, leaf, inclusion } = shown;
  return {
    ...(whole ? { consistency: list.consistency(n).map(hashText) } : {}),
    next: {
      index,
      leaf: hashText(leaf),
      inclusion: inclusion.map(hashText),
      listInclusion: list.inclusion(n).map(hashText),
    },
  };
}

/** The entry of a key from its path and value. */
export function mapEntry(key: MapKey, path: MapPath, value: ListValue | null): MapEntry {
  const { siblings, end } = path;
  const shown =
    value !== null
      ? { value }
      : end === null
        ? null
        : { keyHash: hashText(end.keyHash), valueHash: hashText(end.valueHash) };
  return {
    key: [...key],
    siblings: siblings.map((sibling) => (sibling === null ? null : hashText(sibling))),
    end: shown,
  };
}

/**
 * Returns the value of the key under a root, `absent` if the map lacks the key, or null if the entry is not of this map.
 * Attacker controlled; never throws.
 */
export function openEntry({ key, siblings, end }: MapEntry, root: Uint8Array): ListValue | 'absent' | null {
  const own = keyHash(key);
  const path = siblings.map((sibling) => (sibling === null ? null : parseHash(sibling)));
  const value = end !== null && 'value' in end ? end.value : null;
  const place = value !== null ? { keyHash: own, valueHash: valueHash(value) } : otherEnd(end);
  if (place === undefined) return null;
  if (value === null && place !== null && place.keyHash.equals(own)) return null;
  const computed = rootOfPath(own, { siblings: path, end: place });
  if (computed === null || Buffer.compare(computed, root) !== 0) return null;
  return value ?? 'absent';
}

function otherEnd(end: MapEntry['end']): { keyHash: Buffer; valueHash: Buffer } | null | undefined {
  if (end === null) return null;
  if (!('keyHash' in end)) return undefined;
  const key = parseHash(end.keyHash);
  const value = parseHash(end.valueHash);
  return key === null || value === null ? undefined : { keyHash: key, valueHash: value };
}

/** Whether an item is at a position of the list with this value. Attacker controlled; never throws. */
export function isListed(
  { n, root }: ListValue,
  item: { readonly position: number; readonly leaf: Uint8Array | null; readonly path: readonly string[] },
): boolean {
  const listRoot = parseHash(root);
  if (listRoot === null || item.leaf === null) return false;
  const path = item.path.flatMap((each) => parseHash(each) ?? []);
  if (path.length !== item.path.length) return false;
  return verifyInclusion({ index: item.position, size: n, leaf: item.leaf, path, root: listRoot });
}

const entryShape: Shape = { required: ['key', 'siblings', 'end'], optional: ['growth'] };
const foundShape: Shape = { required: ['value'] };
const otherShape: Shape = { required: ['keyHash', 'valueHash'] };
const valueShape: Shape = { required: ['first', 'firstMs', 'last', 'lastMs', 'n', 'root'] };
const growthShape: Shape = { required: ['next'], optional: ['consistency'] };
const nextShape: Shape = { required: ['index', 'leaf', 'inclusion', 'listInclusion'] };

const pathItems = { max: limits.proofPathHashes, read: hash };
const siblingItems = {
  max: maxDepth,
  read: (item: Json, at: Location): string | null => (item === null ? null : hash(item, at)),
};

/** The members of a key: its kind, and up to two names. */
const keyItems = {
  max: 3,
  read: (item: Json, at: Location): string =>
    typeof item === 'string' && item.isWellFormed() ? item : refuse(at, 'text', item),
};

/** Reads an entry; throws VALIDATION_ERROR with the pointer of the wrong member. Attacker controlled. */
export function readEntry(value: Json, at: Location): MapEntry {
  const entry = object(value, at, entryShape);
  const { end, growth } = entry;
  return {
    key: list(entry, 'key', at, keyItems),
    siblings: list(entry, 'siblings', at, siblingItems),
    end: readEnd(end ?? null, { up: at, name: 'end' }),
    ...(growth === undefined ? {} : { growth: readGrowth(growth, { up: at, name: 'growth' }) }),
  };
}

function readEnd(value: Json, at: Location): MapEntry['end'] {
  if (value === null) return null;
  if (typeof value === 'object' && Object.hasOwn(value, 'value')) {
    const place: Location = { up: at, name: 'value' };
    const found = object(object(value, at, foundShape)['value'], place, valueShape);
    return {
      value: {
        first: count(found, 'first', place),
        firstMs: count(found, 'firstMs', place),
        last: count(found, 'last', place),
        lastMs: count(found, 'lastMs', place),
        n: count(found, 'n', place),
        root: text(found, 'root', place, hashForm),
      },
    };
  }
  const other = object(value, at, otherShape);
  return {
    keyHash: text(other, 'keyHash', at, hashForm),
    valueHash: text(other, 'valueHash', at, hashForm),
  };
}

function readGrowth(value: Json, at: Location): Growth {
  const growth = object(value, at, growthShape);
  const place: Location = { up: at, name: 'next' };
  const next = object(growth['next'], place, nextShape);
  return {
    ...(growth['consistency'] === undefined
      ? {}
      : { consistency: list(growth, 'consistency', at, pathItems) }),
    next: {
      index: count(next, 'index', place),
      leaf: text(next, 'leaf', place, hashForm),
      inclusion: list(next, 'inclusion', place, pathItems),
      listInclusion: list(next, 'listInclusion', place, pathItems),
    },
  };
}
