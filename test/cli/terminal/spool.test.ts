import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { spool } from '../../../src/cli/terminal/spool.ts';

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield Buffer.from(text);
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read).toString();
}

describe('a copy of bytes from a pipe', () => {
  it('a copy is read from the beginning each time, and its file has no name', async () => {
    const long = 'x'.repeat(200_000);
    const { read, close } = await spool(chunksOf('a', long, '', 'b'), 1_000_000);
    expect(readdirSync(tmpdir()).filter((name) => /^gov-[0-9a-f]{8}-[0-9a-f]{4}-/.test(name))).toEqual([]);
    for (let pass = 0; pass < 2; pass++) expect(await textOf(read())).toBe(`a${long}b`);
    close();
  });

  it('a copy has at most one byte more than the limit', async () => {
    for (const [texts, copied] of [
      [['12345', '67890'], '1234567890'],
      [['12345', '678901'], '12345678901'],
      [['12345', '678901', '2345'], '12345678901'],
    ] as const) {
      const { read, close } = await spool(chunksOf(...texts), 10);
      expect(await textOf(read())).toBe(copied);
      close();
    }
  });

  it('an error of the source is passed on', async () => {
    const failing = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('a');
      throw new Error('gone');
    };
    await expect(spool(failing(), 10)).rejects.toThrow('gone');
  });
});
