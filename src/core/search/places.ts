/**
 * Where a term occurs in a block of the log, as bytes: offsets of two bytes each where they are few, else a bitmap with a bit
 * for each leaf of the block. Proven by `test/core/search/places.test.ts`.
 */

/** Leaves of a block. */
export const blockLeaves = 1024;

const bitmapBytes = blockLeaves / 8;

/** `offsets`: ascending, each below `blockLeaves`. At most 128 bytes. */
export function writePlaces(offsets: readonly number[]): Buffer {
  if (offsets.length * 2 < bitmapBytes) {
    const list = Buffer.alloc(offsets.length * 2);
    offsets.forEach((offset, at) => list.writeUInt16BE(offset, at * 2));
    return list;
  }
  const bitmap = Buffer.alloc(bitmapBytes);
  for (const offset of offsets) bitmap[offset >> 3] = (bitmap[offset >> 3] ?? 0) | (1 << (offset & 7));
  return bitmap;
}

/** Ascending offsets. */
export function readPlaces(places: Uint8Array): number[] {
  const offsets: number[] = [];
  if (places.length < bitmapBytes) {
    for (let at = 0; at + 1 < places.length; at += 2) {
      offsets.push(((places[at] ?? 0) << 8) | (places[at + 1] ?? 0));
    }
    return offsets;
  }
  for (let offset = 0; offset < blockLeaves; offset += 1) {
    if (((places[offset >> 3] ?? 0) >> (offset & 7)) & 1) offsets.push(offset);
  }
  return offsets;
}
