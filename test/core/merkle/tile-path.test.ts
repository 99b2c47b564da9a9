import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { entriesPath, entryBundle, parseTilePath, tilePath } from '../../../src/core/merkle/tile-path.ts';
import { tiles } from '../../vectors/c2sp.ts';
import { entriesIn } from './entries.ts';

describe('tile paths', () => {
  it('a tile path spells its index in groups of three digits', () => {
    expect(tilePath({ level: 0, index: tiles.index, width: 256 })).toBe(`tile/0/${tiles.indexPath}`);
    expect(tilePath({ level: 3, index: 0, width: 5 })).toBe('tile/3/000.p/5');
    expect(entriesPath(999)).toBe('tile/entries/999');
    expect(entriesPath(1000, 255)).toBe('tile/entries/x001/000.p/255');
  });

  it('a tile path is read back unchanged, up to the largest index', () => {
    const id = fc.record({
      level: fc.integer({ min: 0, max: 63 }),
      index: fc.oneof(fc.nat(3000), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER)),
      width: fc.integer({ min: 1, max: 256 }),
    });
    fc.assert(
      fc.property(id, ({ level, index, width }) => {
        expect(parseTilePath(tilePath({ level, index, width }))).toEqual({
          kind: 'hashes',
          level,
          index,
          width,
        });
        expect(parseTilePath(entriesPath(index, width))).toEqual({ kind: 'entries', index, width });
      }),
    );
  });

  it.each([
    '',
    'tile',
    'tile/',
    'tile/0',
    'tile/0/',
    'tile/0/0',
    'tile/0/00',
    'tile/0/0000',
    'tile/0/x000/000',
    'tile/0/x001',
    'tile/0/001/x002',
    'tile/0/001/002',
    'tile/00/000',
    'tile/64/000',
    'tile/-1/000',
    'tile/0/-01',
    'tile/0/000.p/0',
    'tile/0/000.p/01',
    'tile/0/000.p/256',
    'tile/0/000.p/999',
    'tile/0/000.p/',
    'tile/0/000.p',
    'tile/0/000/',
    'tile/0/000\n',
    '/tile/0/000',
    'tile/0/../0/000',
    'tile/0/%30%30%30',
    'tile/٠/000',
    'tile/0/x009/x007/x199/x254/x740/992',
    `tile/0/${'x999/'.repeat(100_000)}999`,
    'tile/entries/0',
    'tile/entries/000.p/256',
    'tile/Entries/000',
  ])('parseTilePath refuses %j', (path) => {
    expect(parseTilePath(path)).toBeNull();
  });
});

describe('entry bundles', () => {
  it('an entry bundle is read back with the same records', () => {
    expect(entryBundle(['ab', Buffer.from([1])]).toString('hex')).toBe('00026162000101');
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 256 }), (records) => {
        expect(entriesIn(entryBundle(records))).toEqual(records.map((record) => Buffer.from(record)));
      }),
      { numRuns: 30 },
    );
  });

  it('an entry bundle takes records up to the size limit and no longer ones', () => {
    const largest = Buffer.alloc(limits.recordBytes, 1);
    expect(entriesIn(entryBundle([largest]))).toEqual([largest]);
    expect(() => entryBundle([Buffer.alloc(limits.recordBytes + 1)])).toThrow('65535');
  });
});
