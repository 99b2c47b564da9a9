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
const riffChunk = (type: string, body: Buffer): Buffer => {
  const head = Buffer.from(`${type}....`);
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
};
export const webpOf = (chunks: readonly (readonly [type: string, body: Buffer])[]): Buffer =>
  riffChunk(
    'RIFF',
    Buffer.concat([Buffer.from('WEBP'), ...chunks.map(([type, body]) => riffChunk(type, body))]),
  );
/** 16 × 8 pixels: the canvas, the frame, and transparency with and without compression. */
export const webpParts = {
  canvas: ['VP8X', read('EAAAAA8AAAcAAA==')],
  frame: ['VP8 ', read('MAEAnQEqEAAIAAKAQiWkAANwAP7w74AA')],
  packedAlpha: ['ALPH', read('AQdQ5IgIRET/Aw==')],
  plainAlpha: ['ALPH', Buffer.alloc(1 + 16 * 8)],
} as const;
export const webpLossy = webpOf([webpParts.frame]);
export const webpLossless = read('UklGRh4AAABXRUJQVlA4TBEAAAAvD8ABEAdQ5CIXuciBiOh/AAA=');

/** A progressive JPEG of one color, whose scans have a few bytes and cost a decoder a pass over all pixels each. */
export function jpegOfScans(side: number, scans: number): Buffer {
  const segment = (marker: number, body: readonly number[]): number[] => [
    0xff,
    marker,
    (body.length + 2) >> 8,
    (body.length + 2) & 255,
    ...body,
  ];
  const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);
  const blocks = Math.ceil(side / 8) ** 2;
  const size = [side >> 8, side & 255];
  // one code of one bit each: a difference of 0, and a run of 16,384 or more blocks without coefficients
  const tables = [0x00, 0x10].flatMap((id) => segment(0xc4, [id, 1, ...zeros(15), id === 0 ? 0 : 0xe0]));
  const frame = segment(0xc2, [8, ...size, ...size, 1, 1, 0x11, 0]);
  const quantization = segment(0xdb, [0, ...Array.from({ length: 64 }, () => 1)]);
  const first = [...segment(0xda, [1, 1, 0, 0, 0, 0]), ...zeros(Math.ceil(blocks / 8))];
  const runs = Array.from({ length: Math.ceil(blocks / 16_384) }, () => `0${'0'.repeat(14)}`).join('');
  const other = [...segment(0xda, [1, 1, 0, 1, 63, 0]), ...zeros(Math.ceil(runs.length / 8))];
  const others = Array.from({ length: scans - 1 }, () => other).flat();
  return Buffer.from([0xff, 0xd8, ...quantization, ...frame, ...tables, ...first, ...others, 0xff, 0xd9]);
}
