/** The Buffer of the library outside of Node does what the Buffer of Node does. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Buffer as Portable } from '../../../src/client/web/buffer.ts';

const encodings = ['utf8', 'hex', 'base64', 'base64url', 'latin1'] as const;
const encoding = fc.constantFrom(...encodings);
const bytes = fc.uint8Array({ maxLength: 200 });
const same = (mine: Uint8Array, theirs: Uint8Array): void => expect([...mine]).toEqual([...theirs]);

it('any text in UTF-8 or Latin-1, any ASCII as base64 and any hex become the same bytes as in Node', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.base64String());
  fc.assert(
    fc.property(text, encoding, (value, name) => {
      const ascii = (): string => Buffer.from(value).toString('ascii');
      const whole =
        name === 'hex' ? Buffer.from(value).toString('hex') : name.startsWith('base64') ? ascii() : value;
      same(Portable.from(whole, name), Buffer.from(whole, name));
      expect(Portable.byteLength(value)).toBe(Buffer.byteLength(value));
    }),
    { numRuns: 500 },
  );
});

it('base64 of any alphabet is written at any place as in Node', () => {
  fc.assert(
    fc.property(bytes, fc.constantFrom('base64', 'base64url'), fc.nat(20), (value, name, at) => {
      const [mine, theirs] = [Portable.alloc(300), Buffer.alloc(300)];
      const text = Buffer.from(value).toString(name);
      expect(mine.write(text, at, name)).toBe(theirs.write(text, at, name));
      same(mine, theirs);
    }),
  );
});

it('any bytes become the same text as in Node, also where they are not UTF-8', () => {
  fc.assert(
    fc.property(bytes, encoding, fc.nat(40), fc.nat(40), (value, name, start, length) => {
      const [mine, theirs] = [Portable.from(value), Buffer.from(value)];
      expect(mine.toString(name)).toBe(theirs.toString(name));
      const end = Math.min(start + length, value.length);
      const from = Math.min(start, end);
      expect(mine.toString(name, from, end)).toBe(theirs.toString(name, from, end));
    }),
    { numRuns: 500 },
  );
});

it('written texts and numbers, views and comparisons are those of Node', () => {
  fc.assert(
    fc.property(bytes, bytes, fc.string(), fc.nat(), (left, right, text, number) => {
      const run = (Kind: typeof Buffer): unknown[] => {
        const page = Kind.alloc(64, 7);
        const written = page.write(text, 8, 20, 'latin1');
        page.writeUInt32BE(number >>> 0, 0);
        const view = page.subarray(2, 40);
        const joined = Kind.concat([Kind.from(left), right]);
        const [a, b] = [Kind.compare(Kind.from(left), Kind.from(right)), Kind.from(left).equals(right)];
        return [
          written,
          [...page],
          page.readUInt32BE(0),
          view.toString('hex'),
          [...joined],
          a,
          b,
          Kind.isBuffer(view),
        ];
      };
      expect(run(Portable)).toEqual(run(Buffer));
    }),
  );
});

it('a byte order mark stays a character', () => {
  expect(Portable.from([0xef, 0xbb, 0xbf, 0x61]).toString()).toBe('\u{feff}a');
});
