/** Pictures of 16 × 8 gray pixels. The codecs of squoosh made those that are texts. */
import { crc32, deflateSync } from 'node:zlib';

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};

/** A PNG of gray pixels. `more`: chunks before its data. */
export function png(
  width: number,
  height: number,
  more: readonly (readonly [string, Buffer])[] = [],
): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8; // bits, gray
  const rows = Buffer.alloc(Math.min(height * (width + 1), 4_100_000), 128);
  for (let at = 0; at < rows.length; at += width + 1) rows[at] = 0;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    ...more.map(([type, data]) => chunk(type, data)),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const read = (text: string): Buffer => Buffer.from(text, 'base64');

export const jpeg = read(
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wEEEAANAA0ADQANAA4ADQAOABAAEAAOABQAFgATABYAFAAeABsAGQAZABsAHgAtACAAIgAgACIAIAAtAEQA' +
    'KgAyACoAKgAyACoARAA8AEkAOwA3ADsASQA8AGwAVQBLAEsAVQBsAH0AaQBjAGkAfQCXAIcAhwCXAL4AtQC+APkA+QFOEQANAA0ADQANAA4ADQAO' +
    'ABAAEAAOABQAFgATABYAFAAeABsAGQAZABsAHgAtACAAIgAgACIAIAAtAEQAKgAyACoAKgAyACoARAA8AEkAOwA3ADsASQA8AGwAVQBLAEsAVQBs' +
    'AH0AaQBjAGkAfQCXAIcAhwCXAL4AtQC+APkA+QFO/8IAEQgACAAQAwEiAAIRAQMRAf/EACcAAQEAAAAAAAAAAAAAAAAAAAAGAQEAAAAAAAAAAAAA' +
    'AAAAAAAA/9oADAMBAAIQAxAAAACsB//EABQQAQAAAAAAAAAAAAAAAAAAABD/2gAIAQEAAT8AP//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQIB' +
    'AT8Af//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQMBAT8Af//Z',
);
export const webpLossy = read(
  'UklGRkgAAABXRUJQVlA4WAoAAAAQAAAADwAABwAAQUxQSAoAAAABB1DkiAhERP8DVlA4IBgAAAAwAQCdASoQAAgAAoBCJaQAA3AA/vDvgAA=',
);
export const webpLossless = read('UklGRh4AAABXRUJQVlA4TBEAAAAvD8ABEAdQ5CIXuciBiOh/AAA=');
