import { assert, integer, property, uniqueArray } from 'fast-check';
import { expect, it } from 'vitest';
import { blockLeaves, readPlaces, writePlaces } from '../../../src/core/search/places.ts';

it('places read back as they were written, in at most 128 bytes', () => {
  const offsets = uniqueArray(integer({ min: 0, max: blockLeaves - 1 }), { maxLength: blockLeaves }).map(
    (list) => list.toSorted((a, b) => a - b),
  );
  assert(
    property(offsets, (list) => {
      const places = writePlaces(list);
      expect(places.length).toBeLessThanOrEqual(128);
      expect(readPlaces(places)).toEqual(list);
    }),
  );
});

it('places of 63 offsets are a list, and of 64 a bitmap', () => {
  const first = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
  expect(writePlaces(first(63))).toHaveLength(126);
  expect(writePlaces(first(64))).toHaveLength(128);
  expect(readPlaces(writePlaces(first(64)))).toEqual(first(64));
  expect(readPlaces(writePlaces([]))).toEqual([]);
});
