import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { textLines } from '../../../src/core/json/text-lines.ts';
import { inChunks } from '../exports/log.ts';

async function linesOf(bytes: Uint8Array, chunk: number, most = 1000): Promise<string[]> {
  const lines: string[] = [];
  for await (const some of textLines(inChunks(bytes, chunk), most)) lines.push(...some);
  return lines;
}

it('textLines gives the lines of a text for any chunk size', async () => {
  const text = fc.array(
    fc.string({ unit: 'grapheme', maxLength: 20 }).map((line) => line.replaceAll('\n', '')),
  );
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 50 }), async (lines, chunk) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      expect(await linesOf(bytes, chunk)).toEqual(lines);
    }),
  );
});

it('textLines refuses bytes that are not UTF-8, a missing end, and a line over the limit', async () => {
  await expect(linesOf(Buffer.of(0xff, 0x0a), 9)).rejects.toMatchObject({ code: 'INVALID_JSON' });
  await expect(linesOf(Buffer.from('a\nb'), 9)).rejects.toMatchObject({ code: 'INVALID_JSON' });
  for (const chunk of [1, 4, 100]) {
    expect(await linesOf(Buffer.from('a\nbcdef\n'), chunk, 5)).toEqual(['a', 'bcdef']);
    await expect(linesOf(Buffer.from('a\nbcdefg'), chunk, 5)).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
  }
});
