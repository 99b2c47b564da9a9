/**
 * Lines of a stream of UTF-8, each ended by U+000A, in memory of one chunk and one line.
 * Bytes that are not UTF-8, an overlong line and a last line without end are refused with a GovError.
 * Proven by `test/core/json/text-lines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';

const lineFeed = 0x0a;

/** Yields the lines that end within each chunk. Throws INVALID_JSON, PAYLOAD_TOO_LARGE. Attacker controlled. */
export async function* textLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<string[], void, undefined> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(lineFeed);
    const whole = end === -1 ? null : Buffer.concat([...held, chunk.subarray(0, end)]);
    if (whole !== null) {
      [held, heldBytes] = [[], 0];
      yield* linesOf(whole);
    }
    const rest = chunk.subarray(end + 1);
    // A copy, because the sender of the chunks may reuse their memory.
    if (rest.length > 0) held.push(Uint8Array.from(rest));
    heldBytes += rest.length;
    if (heldBytes > maxLineBytes) {
      throw new GovError('PAYLOAD_TOO_LARGE', `expected lines of at most ${maxLineBytes} bytes, got more`);
    }
  }
  if (heldBytes > 0) throw new GovError('INVALID_JSON', 'expected a line break at the end, got none');
}

/** Yields the lines before the first one that is not UTF-8, so that the reader knows its number. */
function* linesOf(whole: Buffer): Generator<string[], void, undefined> {
  const text = decode(whole);
  if (text !== null) return yield text.split('\n');
  const lines: string[] = [];
  for (let start = 0; ;) {
    const end = whole.indexOf(lineFeed, start);
    const line = decode(whole.subarray(start, end === -1 ? undefined : end));
    if (line === null) break;
    lines.push(line);
    start = end + 1;
  }
  if (lines.length > 0) yield lines;
  throw new GovError('INVALID_JSON', 'expected UTF-8, got other bytes');
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
