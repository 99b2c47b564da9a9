/** Inclusion paths in files about signed heads. Proven by `test/core/evidence/file.test.ts`. */
import { hashText, parseHash } from '../hash.ts';
import type { Json, JsonObject } from '../json/parse.ts';
import { count, hash, hashForm, list, object, text, type Location, type Shape } from '../json/shape.ts';
import type { LeafPath } from '../note/heads.ts';

export const pathValue = ({ index, leaf, path }: LeafPath): JsonObject => ({
  index,
  leaf: hashText(leaf),
  inclusion: path.map(hashText),
});

const pathShape: Shape = { required: ['inclusion', 'index', 'leaf'] };
/** Hashes of the longest path: a tree has at most 2^53 leaves. */
const pathHashes = 53;

/** Throws VALIDATION_ERROR. */
export function readPath(value: Json, at: Location): LeafPath {
  const path = object(value, at, pathShape);
  return {
    index: count(path, 'index', at),
    leaf: bytesOf(text(path, 'leaf', at, hashForm)),
    path: list(path, 'inclusion', at, { max: pathHashes, read: hash }).map(bytesOf),
  };
}

/** Of a text with the form of a hash. */
const bytesOf = (text: string): Buffer => parseHash(text) ?? Buffer.alloc(0);
