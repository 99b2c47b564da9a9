/**
 * Finds the leaf in which a log admits that it lost leaves (`gov.loss/1`). It is the first leaf after the loss, so it is
 * near the lost ones. It admits only what was acknowledged before it: else one leaf could excuse all later losses. Tested by `test/cli/commands/receipts/check.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { readLoss } from '../../core/decided/loss.ts';
import { entriesPath, entryRecords, tileWidth } from '../../core/merkle/tile-path.ts';
import { leafHash } from '../../core/merkle/tree.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { Client } from '../../client/create.ts';
import type { LogReader } from '../../client/receipts/log-reader.ts';

/** Tiles before and after the first lost leaf: 16,384 leaves. */
const tilesAround = 32;

/** Clocks of two servers may differ by as much: the loss may be stated by another one than the receipt. */
const skewMs = limits.receiptSeconds * 1000;

interface LossSearch {
  readonly client: Pick<Client, 'getTile'>;
  readonly signal: AbortSignal;
  /** When the log acknowledged the leaves, and now. Unix milliseconds. */
  readonly ackedMs: number;
  readonly now: number;
}

/** The index of one leaf of the tree that covers all these lost leaves; null where none is near. */
export async function findLoss(
  lost: readonly number[],
  log: LogReader,
  { client, signal, ackedMs, now }: LossSearch,
): Promise<number | null> {
  const tiles = Math.ceil(log.size / tileWidth);
  const middle = Math.min(Math.floor(Math.min(...lost) / tileWidth), tiles - 1);
  for (
    let tile = Math.max(0, middle - tilesAround);
    tile <= Math.min(tiles - 1, middle + tilesAround);
    tile++
  ) {
    const width = Math.min(tileWidth, log.size - tile * tileWidth);
    const params = { '*': entriesPath(tile, width).slice('tile/'.length) };
    const { bytes } = await client.getTile({ params, signal });
    for (const [at, record] of entryRecords(bytes).entries()) {
      const loss = readLoss(record.toString());
      if (loss === null) continue;
      const index = tile * tileWidth + at;
      const statedMs = parseTimestamp(loss.at) ?? 0;
      const isCovered =
        statedMs + skewMs >= ackedMs &&
        statedMs <= now + skewMs &&
        lost.every((each) => each >= loss.from && each < loss.from + loss.lost);
      if (isCovered && leafHash(record).equals((await log.leaf(index)).leaf)) return index;
    }
  }
  return null;
}
