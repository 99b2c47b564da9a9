/**
 * Names and sizes of C2SP tlog-tiles: a tile holds up to 256 hashes of one level; levels are eight tree levels apart.
 * An entry bundle holds the records of a level-0 tile. Proven by `test/core/merkle/tile-path.test.ts`.
 */
import { limits } from '../../contract/limits.ts';

export const tileWidth = 256;

/** A tile of a tree of some size: `width` is 256, or less at the right edge. */
export interface TileId {
  readonly level: number;
  readonly index: number;
  readonly width: number;
}

/** A resource with a tile path; `entries`: the records of a level-0 tile. */
export type TileResource =
  | ({ readonly kind: 'hashes' } & TileId)
  | { readonly kind: 'entries'; readonly index: number; readonly width: number };

/** Returns the path below the prefix of the log: `tile/0/x001/x234/067`, with `.p/<width>` for a partial tile. */
export function tilePath({ level, index, width }: TileId): string {
  return `tile/${level}/${indexPath(index)}${partial(width)}`;
}

/** Returns the path of an entry bundle below the prefix of the log: `tile/entries/x001/067.p/5`. */
export function entriesPath(index: number, width: number = tileWidth): string {
  return `tile/entries/${indexPath(index)}${partial(width)}`;
}

const pathForm = /^tile\/(entries|[0-9]{1,2})\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([0-9]{1,3}))?$/;

/** Parses a path; null if it is malformed. Attacker controlled; only one spelling of each name is accepted. */
export function parseTilePath(path: string): TileResource | null {
  const match = pathForm.exec(path);
  if (match === null) return null;
  const [, level = '', digits = '', partialWidth] = match;
  const index = Number(digits.replaceAll(/[x/]/g, ''));
  const width = partialWidth === undefined ? tileWidth : Number(partialWidth);
  if (!Number.isSafeInteger(index) || width < 1) return null;
  if (partialWidth !== undefined && width >= tileWidth) return null;
  if (level === 'entries') {
    return entriesPath(index, width) === path ? { kind: 'entries', index, width } : null;
  }
  const id = { level: Number(level), index, width };
  return id.level < 64 && tilePath(id) === path ? { kind: 'hashes', ...id } : null;
}

/** Returns an entry bundle: each record after its length as a big-endian uint16. */
export function entryBundle(records: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    records.flatMap((record) => {
      const bytes = Buffer.from(record);
      if (bytes.length > limits.recordBytes) {
        throw new RangeError(`expected a record of at most ${limits.recordBytes} bytes, got ${bytes.length}`);
      }
      return [Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes];
    }),
  );
}

/** The records of an entry bundle; those before the first one that is cut off. Attacker controlled. */
export function entryRecords(bundle: Uint8Array): Buffer[] {
  const bytes = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.length);
  const records: Buffer[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const end = at + 2 + bytes.readUInt16BE(at);
    if (end > bytes.length) break;
    records.push(bytes.subarray(at + 2, end));
    at = end;
  }
  return records;
}

function indexPath(index: number): string {
  let path = String(index % 1000).padStart(3, '0');
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    path = `x${String(rest % 1000).padStart(3, '0')}/${path}`;
  }
  return path;
}

const partial = (width: number): string => (width === tileWidth ? '' : `.p/${width}`);
