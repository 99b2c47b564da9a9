/** Chunks of an artifact: what goes in comes out, in pieces of at most a chunk, in memory that comes back. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { chunkBytes } from '../../../src/service/hosting/artifacts.ts';
import { Output } from '../../../src/service/exports/output.ts';

/** What was written; `gives`: whether memory is given back, as a thread that writes does: by then all of it is other bytes. */
function written(gives: boolean) {
  const chunks: Buffer[] = [];
  const write = async (bytes: Uint8Array): Promise<Uint8Array | void> => {
    chunks.push(Buffer.from(bytes));
    await new Promise((resolve) => setImmediate(resolve));
    if (!gives) return;
    new Uint8Array(bytes.buffer).fill(0xff);
    return bytes;
  };
  return { chunks, out: new Output(write) };
}

/** Texts whose bytes end before, at and behind the end of a chunk. */
const texts = [
  '',
  'a'.repeat(chunkBytes - 1),
  'é'.repeat(10),
  '€'.repeat(Math.ceil(chunkBytes / 3)),
  'b'.repeat(chunkBytes),
  'c'.repeat(chunkBytes + 1),
  '😀'.repeat(chunkBytes),
  ...Array.from({ length: 3000 }, (_, at) => `${at}:${'x'.repeat(at % 1500)}\n`),
];

describe('the bytes of an artifact', () => {
  it.each([true, false])(
    'the bytes of an artifact are written whole and in order (memory given back: %s)',
    async (gives) => {
      const { chunks, out } = written(gives);
      for (const text of texts) {
        out.add(text);
        if (text.length % 7 === 0) await out.flush();
      }
      const expected = Buffer.from(texts.join(''));
      const digest = createHash('sha256').update(expected).digest();
      expect(await out.end()).toEqual({ sizeBytes: expected.length, digest });
      expect(Buffer.concat(chunks).equals(expected)).toBe(true);
      expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(chunkBytes);
    },
  );

  it('an artifact without added bytes writes nothing', async () => {
    const { chunks, out } = written(true);
    expect((await out.end()).sizeBytes).toBe(0);
    expect(chunks).toEqual([]);
  });

  it('writing an artifact fails with the error of the writer', async () => {
    const out = new Output(() => Promise.reject(new Error('the disk is full')));
    out.add('a'.repeat(chunkBytes));
    await expect(out.end()).rejects.toThrow('the disk is full');
  });
});
