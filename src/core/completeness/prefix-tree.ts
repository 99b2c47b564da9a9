/**
 * The prefix tree over the keys of the map (`map.ts`), updated key by key. Parts of it may be *closed*: only their hash and
 * number of keys are in memory, until a caller opens them with their entries. So memory is bounded by the keys in use, and a
 * part that was altered in a table does not open.
 * Proven by `test/core/completeness/prefix-tree.test.ts` (a tree built from all keys at once as oracle).
 */
import { hashBytes } from '../merkle/tree.ts';
import { bitOf, emptySubtree, mapLeaf, mapNode, maxDepth, type MapPath, type PathEnd } from './map.ts';

/** The hash of a subtree, and how many keys it has. */
interface Subtree {
  readonly hash: Buffer;
  readonly keys: number;
}

interface Leaf extends PathEnd {
  readonly kind: 'leaf';
  readonly hash: Buffer;
  readonly keys: 1;
}
interface ClosedSubtree extends Subtree {
  readonly kind: 'closed';
}
interface Branch {
  readonly kind: 'branch';
  readonly children: [Node, Node];
  /** Null after a change below. */
  hash: Buffer | null;
  keys: number;
}
type Node = Leaf | ClosedSubtree | Branch | null;

const keysOf = (node: Node): number => node?.keys ?? 0;

/** A subtree of one key has the hash of that key's leaf, at whatever depth it is. */
function hashOf(node: Node): Buffer {
  if (node === null) return emptySubtree;
  if (node.kind !== 'branch') return node.hash;
  if (node.hash !== null) return node.hash;
  const [left, right] = node.children;
  node.hash =
    keysOf(left) === 0 && keysOf(right) === 1
      ? hashOf(right)
      : keysOf(right) === 0 && keysOf(left) === 1
        ? hashOf(left)
        : mapNode(hashOf(left), hashOf(right));
  return node.hash;
}

const leafOf = (key: Uint8Array, value: Uint8Array): Leaf => ({
  kind: 'leaf',
  keyHash: key,
  valueHash: value,
  hash: mapLeaf(key, value),
  keys: 1,
});

/** A part with more keys is stored as its two halves. */
const partKeys = 64;

/** All key hashes between two bounds, both included: those with the first `depth` bits of `from`. */
export interface Part {
  readonly depth: number;
  readonly from: Buffer;
  readonly to: Buffer;
}

/** Tags of a stored tree, from the root down: a branch and its two subtrees, no key, or a part with its keys and hash. */
const tags = { branch: 0, empty: 1, part: 2 } as const;
const partBytes = 1 + 4 + hashBytes;

export class PrefixTree {
  #root: Node = null;

  /** Restores a tree of closed parts, `parts()` of an earlier one; null for other bytes. */
  static closed(parts: Uint8Array): PrefixTree | null {
    const bytes = Buffer.from(parts);
    let at = 0;
    const read = (depth: number): Node | undefined => {
      const tag = bytes[at];
      at += 1;
      if (tag === tags.empty) return null;
      if (tag === tags.part && at + partBytes - 1 <= bytes.length) {
        const keys = bytes.readUInt32BE(at);
        const hash = bytes.subarray(at + 4, at + 4 + hashBytes);
        at += partBytes - 1;
        return { kind: 'closed', keys, hash };
      }
      if (tag !== tags.branch || depth >= maxDepth) return undefined;
      const left = read(depth + 1);
      const right = left === undefined ? undefined : read(depth + 1);
      if (left === undefined || right === undefined) return undefined;
      return { kind: 'branch', children: [left, right], hash: null, keys: keysOf(left) + keysOf(right) };
    };
    const tree = new PrefixTree();
    const root = read(0);
    if (root === undefined || at !== bytes.length) return null;
    tree.#root = root;
    return tree;
  }

  get keys(): number {
    return keysOf(this.#root);
  }

  /** The root of the map; `emptySubtree` without keys. Cost: one hash for each changed node. */
  root(): Buffer {
    return hashOf(this.#root);
  }

  /** The closed part that has the place of this key, or null if the place is open. */
  closedAt(key: Uint8Array): Part | null {
    let node = this.#root;
    for (let depth = 0; ; depth++) {
      if (node === null || node.kind === 'leaf') return null;
      if (node.kind === 'closed') return partOf(key, depth);
      node = node.children[bitOf(key, depth)];
    }
  }

  /** Opens a closed part with all its entries. False if they are not the entries of that part: they were altered. */
  open({ depth, from }: Part, entries: Iterable<PathEnd>): boolean {
    let part: Node = null;
    for (const { keyHash, valueHash } of entries) {
      if (!sharesBits(keyHash, from, depth)) return false;
      part = put(part, leafOf(keyHash, valueHash), depth);
    }
    let above: Branch | null = null;
    let at = this.#root;
    for (let level = 0; level < depth; level++) {
      if (at?.kind !== 'branch') return false;
      above = at;
      at = at.children[bitOf(from, level)];
    }
    if (at?.kind !== 'closed' || at.keys !== keysOf(part) || !at.hash.equals(hashOf(part))) return false;
    if (above === null) this.#root = part;
    else above.children[bitOf(from, depth - 1)] = part;
    return true;
  }

  /** Sets the value of a key, whose place must be open. */
  set(key: Uint8Array, value: Uint8Array): void {
    this.#root = put(this.#root, leafOf(key, value), 0);
  }

  /** The hash of a key's value, or null if the map lacks the key. Its place must be open. */
  get(key: Uint8Array): Uint8Array | null {
    const { end } = this.path(key);
    return end !== null && Buffer.compare(end.keyHash, key) === 0 ? end.valueHash : null;
  }

  /** The path to the place of a key, which must be open. */
  path(key: Uint8Array): MapPath {
    const siblings: (Buffer | null)[] = [];
    let node = this.#root;
    while (node !== null && node.kind === 'branch' && node.keys > 1) {
      const bit = bitOf(key, siblings.length);
      const sibling = node.children[1 - bit] ?? null;
      siblings.push(keysOf(sibling) === 0 ? null : hashOf(sibling));
      node = node.children[bit];
    }
    return { siblings, end: onlyLeaf(node) };
  }

  /** The tree as closed parts of at most 64 keys; a part that is closed stays one. */
  parts(): Buffer {
    const chunks: Buffer[] = [];
    const write = (node: Node): void => {
      if (keysOf(node) === 0) chunks.push(Buffer.of(tags.empty));
      else if (node?.kind === 'branch' && node.keys > partKeys) {
        chunks.push(Buffer.of(tags.branch));
        node.children.forEach(write);
      } else {
        const part = Buffer.alloc(partBytes);
        part[0] = tags.part;
        part.writeUInt32BE(keysOf(node), 1);
        hashOf(node).copy(part, 5);
        chunks.push(part);
      }
    };
    write(this.#root);
    return Buffer.concat(chunks);
  }
}

/** The key hashes that share the first `depth` bits of a hash. */
function partOf(hash: Uint8Array, depth: number): Part {
  const from = Buffer.from(hash);
  const to = Buffer.from(hash);
  for (let at = depth; at < maxDepth; at++) {
    const bit = 0x80 >>> (at & 7);
    from[at >>> 3] = (from[at >>> 3] ?? 0) & ~bit;
    to[at >>> 3] = (to[at >>> 3] ?? 0) | bit;
  }
  return { depth, from, to };
}

function sharesBits(a: Uint8Array, b: Uint8Array, depth: number): boolean {
  for (let at = 0; at < depth; at++) if (bitOf(a, at) !== bitOf(b, at)) return false;
  return true;
}

function put(node: Node, leaf: Leaf, depth: number): Node {
  if (node === null) return leaf;
  if (node.kind === 'closed') throw new Error('expected an open part of the map, got a closed one');
  if (node.kind === 'leaf') {
    if (Buffer.compare(node.keyHash, leaf.keyHash) === 0) return leaf;
    if (depth >= maxDepth) throw new Error('two keys have the same hash');
    const branch: Branch = { kind: 'branch', children: [null, null], hash: null, keys: 1 };
    branch.children[bitOf(node.keyHash, depth)] = node;
    return put(branch, leaf, depth);
  }
  const bit = bitOf(leaf.keyHash, depth);
  const before = keysOf(node.children[bit]);
  node.children[bit] = put(node.children[bit], leaf, depth + 1);
  node.keys += keysOf(node.children[bit]) - before;
  node.hash = null;
  return node;
}

function onlyLeaf(node: Node): PathEnd | null {
  let at = node;
  while (at?.kind === 'branch') at = keysOf(at.children[0]) > 0 ? at.children[0] : at.children[1];
  if (at?.kind === 'closed') throw new Error('expected an open part of the map, got a closed one');
  return at === null ? null : { keyHash: at.keyHash, valueHash: at.valueHash };
}
