/**
 * Reads the records of a log in order, as entry bundles (C2SP tlog-tiles), by a client with the scope `log:read`. The caller
 * checks them against a signed root. Tested by `test/host/witness/derived/operator.test.ts`.
 */
import type { Client } from './create.ts';
import { entriesPath, entryRecords, tilePath, tileWidth, type TileId } from '../core/merkle/tile-path.ts';
import { inclusionPlan, inclusionProof } from '../core/merkle/tile-proof.ts';
import { tileOf } from '../core/merkle/tile-source.ts';
import { hashBytes } from '../core/merkle/tree.ts';

/** The leaf hash at an index, and its path in the tree of `size` leaves, as the tiles of the log give them. */
export async function inclusionFromTiles(
  client: Pick<Client, 'getTile'>,
  { index, size }: { readonly index: number; readonly size: number },
): Promise<{ readonly leaf: Uint8Array; readonly path: readonly Buffer[] }> {
  const leafTile = tileOf({ start: index, height: 0 }, size);
  const tiles = new Map<string, Uint8Array>();
  for (const tile of [leafTile, ...inclusionPlan(index, size)])
    tiles.set(nameOf(tile), await tileBytes(client, tilePath(tile)));
  const at = (index % tileWidth) * hashBytes;
  const leaf = tiles.get(nameOf(leafTile))?.subarray(at, at + hashBytes) ?? new Uint8Array();
  const read = (level: number, position: number) =>
    tiles.get(nameOf({ level, index: position })) ?? new Uint8Array();
  return { leaf, path: inclusionProof(index, size, read) };
}

const nameOf = ({ level, index }: Pick<TileId, 'level' | 'index'>): string => `${level}/${index}`;

async function tileBytes(client: Pick<Client, 'getTile'>, path: string): Promise<Uint8Array> {
  const { body } = await client.getTile({ params: { '*': path.replace(/^tile\//, '') } });
  if (body instanceof Uint8Array) return body;
  throw new RangeError(`${path}: expected bytes, got another body`);
}

/** Bundles that are fetched at once. */
const atOnce = 4;

/** The records [from, to), in lists. Throws as a call of the client does, and RangeError for another number of records. */
export async function* logEntries(
  client: Pick<Client, 'getTile'>,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<readonly string[], void, undefined> {
  let at = from;
  while (at < to) {
    const first = Math.floor(at / tileWidth);
    const count = Math.min(atOnce, Math.ceil(to / tileWidth) - first);
    const tiles = Array.from({ length: count }, (_, more) => bundle(client, first + more, to));
    for (const records of await Promise.all(tiles)) {
      yield records.slice(at % tileWidth);
      at += records.length - (at % tileWidth);
    }
  }
}

async function bundle(
  client: Pick<Client, 'getTile'>,
  index: number,
  to: number,
): Promise<readonly string[]> {
  const width = Math.min(tileWidth, to - index * tileWidth);
  const path = entriesPath(index, width);
  const records = entryRecords(await tileBytes(client, path));
  if (records.length === width) return records.map((record) => record.toString());
  throw new RangeError(`${path}: expected ${width} records, got ${records.length}`);
}
