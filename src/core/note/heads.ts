/**
 * Compares signed heads of one log. A head signs the root of its tree, and each inclusion path that leads to this root fixes
 * the hashes of complete subtrees. Two heads of one size with different roots, or two hashes of one complete subtree, cannot
 * both be of one append-only log: the signer showed two histories (RFC 9162 §11.3).
 * Proven by `test/core/note/heads.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { type Checkpoint, openTrustedCheckpoint, type Trust } from './checkpoint.ts';
import { completeSubtrees, inclusionRanges, type Range, splitOf } from '../merkle/tile-proof.ts';
import { emptyRoot, inclusionRoot, nodeHash } from '../merkle/tree.ts';

/** A leaf with its path, from the sibling of the leaf up to the child of the root. */
export interface LeafPath {
  readonly index: number;
  /** The leaf hash, 32 bytes. */
  readonly leaf: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** The hash of a complete subtree, and the path that fixes it. */
interface KnownSubtree {
  readonly hash: Uint8Array;
  readonly by: LeafPath;
}

/** A subtree of 2^height leaves from a multiple of its width. */
const subtreeName = (start: number, width: number): string => `${start} ${width}`;

export class SignedHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** The signed note, as it came. */
  readonly note: string;
  readonly #paths: LeafPath[] = [];
  readonly #subtrees = new Map<string, KnownSubtree>();

  /** `checkpoint`: what `openTrustedCheckpoint` returned for the note. */
  constructor(note: string, { origin, size, root }: Checkpoint) {
    this.note = note;
    this.origin = origin;
    this.size = size;
    this.root = root;
  }

  /** Throws NoteError unless a trusted key of the log signed the note. */
  static open(note: string, trust: Trust): SignedHead {
    return new SignedHead(note, openTrustedCheckpoint(note, trust).checkpoint);
  }

  get paths(): readonly LeafPath[] {
    return this.#paths;
  }

  /** Adds what a path fixes. False where it does not lead to the root. At most `limits.headPaths` are kept. */
  add(by: LeafPath): boolean {
    const root = inclusionRoot({ ...by, size: this.size });
    if (root === null || !isEqual(root, this.root)) return false;
    if (this.#paths.length >= limits.headPaths) return true;
    this.#paths.push(by);
    for (const { start, width, hash } of subtreesOf(by, this.size)) {
      const name = subtreeName(start, width);
      if (!this.#subtrees.has(name)) this.#subtrees.set(name, { hash, by });
    }
    return true;
  }

  /** The root of the first `size` leaves, with the paths that fix it; null where no path does. */
  prefix(size: number): { readonly root: Uint8Array; readonly by: readonly LeafPath[] } | null {
    if (size === this.size) return { root: this.root, by: [] };
    if (size === 0) return { root: emptyRoot, by: [] };
    if (size > this.size) return null;
    const parts: KnownSubtree[] = [];
    for (const { start, height } of completeSubtrees({ start: 0, end: size })) {
      const known = this.#subtrees.get(subtreeName(start, 2 ** height));
      if (known === undefined) return null;
      parts.push(known);
    }
    const root = parts.map(({ hash }) => hash).reduceRight((right, left) => nodeHash(left, right));
    return { root, by: [...new Set(parts.map(({ by }) => by))] };
  }

  /** A complete subtree whose hash differs in another head of the log, with the path of each. */
  difference(other: SignedHead): readonly [own: LeafPath, theirs: LeafPath, name: string] | null {
    for (const [name, { hash, by }] of this.#subtrees) {
      const theirs = other.#subtrees.get(name);
      if (theirs !== undefined && !isEqual(hash, theirs.hash)) return [by, theirs.by, name];
    }
    return null;
  }
}

/**
 * `extends`: the larger tree begins with the smaller one, or both are the same. `split`: no log has both. `unknown`: the
 * paths do not tell; an inclusion path of the last leaf of the smaller tree, in the larger tree, would.
 */
export type Comparison =
  | { readonly result: 'extends' | 'unknown' }
  | {
      readonly result: 'split';
      readonly detail: string;
      /** The paths that show it: of the first head, then of the second. */
      readonly paths: readonly [readonly LeafPath[], readonly LeafPath[]];
    };

/** Compares two heads of one origin. Cost: one look-up for each known subtree. */
export function compareHeads(one: SignedHead, other: SignedHead): Comparison {
  const isFirstLarger = one.size >= other.size;
  const [large, small] = isFirstLarger ? [one, other] : [other, one];
  const prefix = large.prefix(small.size);
  if (prefix !== null && isEqual(prefix.root, small.root)) return { result: 'extends' };
  if (prefix !== null) {
    const detail =
      large.size === small.size
        ? `two roots of ${small.size} leaves`
        : `the log of ${large.size} leaves does not begin with the log of ${small.size} leaves`;
    return { result: 'split', detail, paths: isFirstLarger ? [prefix.by, []] : [[], prefix.by] };
  }
  const found = one.difference(other);
  if (found === null) return { result: 'unknown' };
  const [own, theirs, name] = found;
  const [start, width] = name.split(' ').map(Number);
  const detail = `the heads of ${one.size} and ${other.size} leaves have two hashes for leaves ${start} to ${Number(start) + Number(width) - 1}`;
  return { result: 'split', detail, paths: [[own], [theirs]] };
}

interface Subtree {
  readonly start: number;
  readonly width: number;
  readonly hash: Uint8Array;
}

/** The complete subtrees whose hashes a path fixes: the leaf, complete siblings, and complete ancestors. */
function subtreesOf({ index, leaf, path }: LeafPath, size: number): Subtree[] {
  const found: Subtree[] = [];
  const take = ({ start, end }: Range, hash: Uint8Array): void => {
    const width = end - start;
    if (splitOf(width + 1) === width && start % width === 0) found.push({ start, width, hash });
  };
  let range: Range = { start: index, end: index + 1 };
  let hash = leaf;
  take(range, hash);
  for (const [at, sibling] of inclusionRanges(index, size).entries()) {
    const next = path[at];
    if (next === undefined) break;
    take(sibling, next);
    const isRight = sibling.start > index;
    hash = isRight ? nodeHash(hash, next) : nodeHash(next, hash);
    range = isRight ? { start: range.start, end: sibling.end } : { start: sibling.start, end: range.end };
    take(range, hash);
  }
  return found;
}

const isEqual = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;
