import { describe, expect, it } from 'vitest';
import { linesOf, LineTooLong, messageIn } from '../../../src/cli/mcp/lines.ts';
import { limits } from '../../../src/contract/limits.ts';

async function* chunks(...parts: (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part);
}
const lines = async (...parts: (string | Buffer)[]): Promise<string[]> => {
  const found: string[] = [];
  for await (const line of linesOf(chunks(...parts))) found.push(line.toString());
  return found;
};

describe('linesOf', () => {
  it('yields each line with its break, wherever the chunks end', async () => {
    expect(await lines('a\nb', 'c\r', '\n\nd')).toEqual(['a\n', 'bc\r\n', '\n', 'd']);
    expect(await lines('\u00e4'.repeat(3), '\n')).toEqual(['äää\n']);
    expect(await lines()).toEqual([]);
  });

  it('refuses a line of one byte more than the limit, with and without its break', async () => {
    const most = Buffer.alloc(limits.mcpMessageBytes, 'x');
    expect((await lines(most, '\n'))[0]?.length).toBe(limits.mcpMessageBytes + 1);
    await expect(lines(most, 'x\n')).rejects.toThrow(LineTooLong);
    await expect(lines(most, 'x')).rejects.toThrow(LineTooLong);
  });
});

describe('messageIn', () => {
  it('returns the line without its break, and null for an empty one', () => {
    expect(messageIn(Buffer.from('{}\r\n'))?.toString()).toBe('{}');
    expect(messageIn(Buffer.from('{}'))?.toString()).toBe('{}');
    expect(messageIn(Buffer.from(' \t\n'))).toBeNull();
  });
});
