/** Kind and size of pictures by their structure; files that are two things at once are refused. */
import { expect, it } from 'vitest';
import * as fc from 'fast-check';
import { readPicture } from '../../src/core/picture.ts';
import { jpeg, jpegOfScans, png, webpLossless, webpLossy, webpOf, webpParts } from '../support/pictures.ts';

const faultOf = (bytes: Uint8Array): string => {
  const read = readPicture(bytes);
  return 'fault' in read ? read.fault : 'none';
};

it.each([
  ['png', png(16, 8)],
  ['jpeg', jpeg],
  ['webp', webpLossy],
] as const)('a %s tells its size before it is decoded', (kind, bytes) => {
  expect(readPicture(bytes)).toEqual({ kind, width: 16, height: 8 });
});

it('a PNG of 30,000 × 30,000 pixels tells its size from 200 bytes', () => {
  expect(readPicture(png(30_000, 30_000).subarray(0, 60))).toEqual({ fault: 'got one that is cut off' });
  expect(readPicture(png(30_000, 30_000))).toMatchObject({ width: 30_000, height: 30_000 });
});

it.each([
  ['a PNG', png(16, 8)],
  ['a JPEG', jpeg],
  ['a lossy WebP', webpLossy],
] as const)('%s with a page or an archive after its end is refused', (_name, bytes) => {
  for (const more of ['<script>alert(1)</script>', 'PK\u0003\u0004', '%PDF-1.7', '\0']) {
    expect(faultOf(Buffer.concat([bytes, Buffer.from(more)]))).toBe('got bytes after its end');
  }
});

it.each([
  ['a PNG', png(16, 8)],
  ['a JPEG', jpeg],
  ['a lossy WebP', webpLossy],
] as const)('%s that is cut off anywhere is refused', (_name, bytes) => {
  for (let length = 0; length < bytes.length; length++) {
    expect(faultOf(bytes.subarray(0, length))).not.toBe('none');
  }
});

it.each([
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
  ['SVG with a prolog', '<?xml version="1.0"?><svg/>'],
  ['GIF', 'GIF89a\u0001\0\u0001\0'],
  ['BMP', 'BM'],
  ['a page', '<!doctype html>'],
  ['nothing', ''],
])('%s is no picture that is accepted', (_name, text) => {
  expect(faultOf(Buffer.from(text))).toBe('got other bytes at its start');
});

const { canvas, frame, packedAlpha, plainAlpha } = webpParts;
const lossless = ['VP8L', webpLossless.subarray(20)] as const;
const packed = 'got a WebP with lossless or transparent parts, which PNG can have';

// CVE-2023-4863: the decoder must not see the lossless format, under any name
it.each([
  ['a lossless picture', webpLossless, packed],
  ['a lossless picture after its canvas', webpOf([canvas, lossless]), packed],
  ['a lossless picture after a frame', webpOf([frame, lossless]), packed],
  ['compressed transparency', webpOf([canvas, packedAlpha, frame]), packed],
  ['compressed transparency after its frame', webpOf([canvas, frame, packedAlpha]), packed],
  ['transparency without bytes', webpOf([canvas, ['ALPH', Buffer.alloc(0)], frame]), packed],
  [
    'a lossless picture without a header before a frame',
    webpOf([['/\u000f@\u0001', Buffer.alloc(16)], frame]),
    'got a WebP without a picture',
  ],
])('a WebP with %s is refused before it is decoded', (_name, bytes, fault) => {
  expect(faultOf(bytes)).toBe(fault);
});

it('a lossy WebP may have a canvas, and transparency that is not compressed', () => {
  const size = { kind: 'webp', width: 16, height: 8 };
  expect(readPicture(webpOf([canvas, frame]))).toEqual(size);
  expect(readPicture(webpOf([canvas, plainAlpha, frame]))).toEqual(size);
});

it('animations and pictures without pixels are refused', () => {
  expect(faultOf(png(16, 8, [['acTL', Buffer.alloc(8)]]))).toBe('got an animation');
  expect(faultOf(png(0, 8))).toBe('got one without pixels');
});

it('a JPEG of 100 scans is a picture, and one more scan refuses it before it costs a decoder minutes', () => {
  expect(readPicture(jpegOfScans(2000, 100))).toEqual({ kind: 'jpeg', width: 2000, height: 2000 });
  expect(faultOf(jpegOfScans(2000, 101))).toBe('got a JPEG with more than 100 scans');
});

it('no bytes make the reader throw', () => {
  const starts = [png(16, 8), jpeg, webpLossless, webpLossy, webpOf([canvas, plainAlpha, frame])];
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.nat(400), fc.nat(255), (bytes, at, byte) => {
      const changed = Buffer.from(bytes);
      changed[at % changed.length] = byte;
      expect(readPicture(changed)).toBeDefined();
    }),
    { numRuns: 2000 },
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => readPicture(bytes) !== undefined));
});
