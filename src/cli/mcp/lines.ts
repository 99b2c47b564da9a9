/**
 * Lines of bytes, as MCP over stdio frames messages. Bounded: a line over the limit ends the reading.
 * Tested by `test/cli/mcp/lines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';

export class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

const LF = 0x0a;

/**
 * Yields each line with its line break; a last one without a break too. Throws `LineTooLong` for a line of more than
 * `limits.mcpMessageBytes` without its break. Holds one line in memory.
 */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  const grow = (part: Buffer, isLine: boolean): void => {
    size += part.length;
    if (size - (isLine ? 1 : 0) > limits.mcpMessageBytes) {
      throw new LineTooLong(`expected messages of at most ${limits.mcpMessageBytes} bytes, got a longer one`);
    }
    parts.push(part);
  };
  for await (const chunk of stream) {
    let from = 0;
    for (;;) {
      const at = chunk.indexOf(LF, from);
      if (at < 0) break;
      grow(chunk.subarray(from, at + 1), true);
      yield parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, size);
      parts = [];
      size = 0;
      from = at + 1;
    }
    if (from < chunk.length) grow(chunk.subarray(from), false);
  }
  if (size > 0) yield Buffer.concat(parts, size);
}

/** Returns the message of a line, without its break; null for an empty line. */
export function messageIn(line: Buffer): Buffer | null {
  let end = line.length;
  if (line[end - 1] === LF) end--;
  if (line[end - 1] === 0x0d) end--;
  const message = line.subarray(0, end);
  return message.every((byte) => byte === 0x20 || byte === 0x09) ? null : message;
}
