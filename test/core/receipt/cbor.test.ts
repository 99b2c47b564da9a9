import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CborTag, readCbor, writeCbor, type Cbor, type CborKey } from '../../../src/core/receipt/cbor.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** RFC 8949 appendix A, the items of the profile. */
const vectors: readonly (readonly [Cbor, string])[] = [
  [0, '00'],
  [1, '01'],
  [10, '0a'],
  [23, '17'],
  [24, '1818'],
  [25, '1819'],
  [100, '1864'],
  [1000, '1903e8'],
  [1_000_000, '1a000f4240'],
  [1_000_000_000_000, '1b000000e8d4a51000'],
  [-1, '20'],
  [-10, '29'],
  [-100, '3863'],
  [-1000, '3903e7'],
  [null, 'f6'],
  [hex(''), '40'],
  [hex('01020304'), '4401020304'],
  ['', '60'],
  ['IETF', '6449455446'],
  ['ü', '62c3bc'],
  [[], '80'],
  [[1, 2, 3], '83010203'],
  [[1, [2, 3], [4, 5]], '8301820203820405'],
  [new Map(), 'a0'],
  [
    new Map<CborKey, Cbor>([
      [1, 2],
      [3, 4],
    ]),
    'a201020304',
  ],
  [
    new Map<CborKey, Cbor>([
      ['a', 1],
      ['b', [2, 3]],
    ]),
    'a26161016162820203',
  ],
  [new CborTag(18, [1]), 'd28101'],
];

describe('CBOR', () => {
  it.each(vectors)('item %# of RFC 8949 is written and read', (value, bytes) => {
    expect(writeCbor(value).toString('hex')).toBe(bytes);
    expect(writeCbor(readCbor(hex(bytes))).toString('hex')).toBe(bytes);
  });

  it('a map is written in the order of its encoded names', () => {
    const map = new Map<CborKey, Cbor>([
      ['b', 1],
      [-1, 2],
      [10, 3],
      ['a', 4],
    ]);
    expect(writeCbor(map).toString('hex')).toBe('a40a032002616104616201');
  });

  it.each([
    ['a number in more bytes than it needs', '1801'],
    ['a length in more bytes than it needs', '580101'],
    ['an indefinite length', '5f4101ff'],
    ['a float', 'f93c00'],
    ['a boolean', 'f5'],
    ['undefined', 'f7'],
    ['a number above 2^53-1', '1b0020000000000000'],
    ['names in another order', 'a203040102'],
    ['a repeated name', 'a201020103'],
    ['a name that is an array', 'a18001'],
    ['bytes after the item', '0000'],
    ['nothing', ''],
    ['a missing item', '8201'],
    ['a list longer than the file', '9a7fffffff01'],
    ['bytes longer than the file', '5a7fffffff01'],
    ['a text that is not UTF-8', '61ff'],
    ['too many levels', '81'.repeat(20) + '01'],
  ])('reading refuses %s', (_, bytes) => {
    expect(() => readCbor(hex(bytes))).toThrow('CBOR: expected');
  });

  it('no changed byte is read as the same item in another spelling', () => {
    const item = writeCbor(
      new CborTag(18, [hex('a10127'), new Map<CborKey, Cbor>([[396, ['x', 70_000, -8]]]), null, hex('00ff')]),
    );
    for (let n = 0; n < 20_000; n++) {
      const random = createHash('sha256').update(`${n}`).digest();
      const changed = Buffer.from(item);
      changed[random.readUInt16BE() % item.length]! ^= 1 << (random[2]! % 8);
      try {
        expect(writeCbor(readCbor(changed)).equals(changed)).toBe(true);
      } catch (error) {
        expect(String(error)).toContain('CBOR: expected');
      }
    }
  });
});
