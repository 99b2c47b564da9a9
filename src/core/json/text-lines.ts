/**
 * The lines of a stream of UTF-8, each ended by U+000A, in memory of one chunk and one line. Bytes that are not UTF-8,
 * a line over the bound and a last line without its end are refused with a GovError. Test: `test/core/json/text-lines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';

const lineFeed = 0x0a;

/** Lists of the lines that end within each chunk. INVALID_JSON, PAYLOAD_TOO_LARGE. Attacker controlled. */
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
    // a copy: who sends the chunks may use their memory again
    if (rest.length > 0) held.push(Uint8Array.from(rest));
    heldBytes += rest.length;
    if (heldBytes > maxLineBytes) {
      throw new GovError('PAYLOAD_TOO_LARGE', `expected lines of at most ${maxLineBytes} bytes, got more`);
    }
  }
  if (heldBytes > 0) throw new GovError('INVALID_JSON', 'expected a line break at the end, got none');
}

/** Those before the first that is not UTF-8 are given, so that its reader knows which it is. */
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
