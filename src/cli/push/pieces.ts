/**
 * Cuts a stream of bytes into records: one per line, or one per element of a JSON array. It keeps one record in memory.
 * Newlines, brackets and quotes are ASCII, and longer UTF-8 sequences contain no ASCII byte, so the code compares bytes.
 * Tested by `test/cli/push/records.test.ts`.
 */
import { inputError, mostEventBytes, type Piece } from './record.ts';

export type Chunks = AsyncIterable<Uint8Array>;

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === NEWLINE;

/** Collects the bytes of one record across chunks, and drops them if there are too many. */
class Collector {
  #parts: Buffer[] = [];
  #size = 0;

  add(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > mostEventBytes) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  take(): Buffer | null {
    const { length } = this.#parts;
    const bytes =
      this.#size > mostEventBytes ? null : length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    return bytes ?? null;
  }
}

const isBlank = (bytes: Buffer | null): boolean => bytes !== null && bytes.every(isSpace);

/** Yields the lines that are not blank. */
export async function* lines(chunks: Chunks): AsyncGenerator<Piece> {
  const collector = new Collector();
  let line = 1;
  for await (const chunk of chunks) {
    const bytes = asBuffer(chunk);
    let from = 0;
    for (let to = bytes.indexOf(NEWLINE); to !== -1; to = bytes.indexOf(NEWLINE, from)) {
      collector.add(bytes.subarray(from, to));
      const piece = collector.take();
      if (!isBlank(piece)) yield { line, bytes: piece };
      line += 1;
      from = to + 1;
    }
    collector.add(bytes.subarray(from));
  }
  const last = collector.take();
  if (!isBlank(last)) yield { line, bytes: last };
}

const asBuffer = (chunk: Uint8Array): Buffer => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);

/**
 * Yields the elements of a JSON array. Between commas it looks only at strings and brackets; the reader of each element
 * checks the rest. Errors: exit 2 if the array does not end, or if text follows it.
 */
export async function* elements(chunks: Chunks, sourceName: string): AsyncGenerator<Piece> {
  const cutter = new ArrayCutter(sourceName);
  for await (const chunk of chunks) yield* cutter.cut(asBuffer(chunk));
  cutter.end();
}

class ArrayCutter {
  readonly #sourceName: string;
  readonly #collector = new Collector();
  #line = 1;
  #startLine = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #count = 0;
  #closed = false;

  constructor(sourceName: string) {
    this.#sourceName = sourceName;
  }

  *cut(bytes: Buffer): Generator<Piece> {
    let from = 0; // start of the current element in this chunk
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === NEWLINE) this.#line += 1;
      if (this.#inString) {
        this.#passString(byte);
        continue;
      }
      if (this.#depth === 0) {
        this.#outside(byte);
        from = at + 1;
        continue;
      }
      const ends = this.#depth === 1 && (byte === COMMA || byte === CLOSE_ARRAY);
      if (ends) {
        this.#collector.add(bytes.subarray(from, at));
        from = at + 1;
        yield* this.#element(byte);
        continue;
      }
      this.#inside(byte);
    }
    if (this.#depth > 0) this.#collector.add(bytes.subarray(from));
  }

  /** Called at the end of the input. */
  end(): void {
    if (!this.#closed) throw this.#fault('expected the end of the array, got the end of the input');
  }

  #passString(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  #outside(byte: number): void {
    if (isSpace(byte)) return;
    if (this.#closed) throw this.#fault('expected the end of the input after the array, got more');
    if (byte !== OPEN_ARRAY) throw this.#fault('expected a JSON array');
    this.#depth = 1;
  }

  #inside(byte: number): void {
    if (this.#startLine === 0 && !isSpace(byte)) this.#startLine = this.#line;
    if (byte === QUOTE) this.#inString = true;
    // { and }, [ and ] differ by 2 in ASCII
    else if (byte === OPEN_ARRAY || byte === 0x7b) this.#depth += 1;
    else if (byte === CLOSE_ARRAY || byte === 0x7d) this.#depth -= 1;
  }

  *#element(byte: number): Generator<Piece> {
    const bytes = this.#collector.take();
    const blank = isBlank(bytes);
    if (byte === CLOSE_ARRAY) {
      this.#depth = 0;
      this.#closed = true;
    }
    if (blank && (byte === COMMA || this.#count > 0))
      throw this.#fault('expected an event between commas, got none');
    if (blank) return;
    this.#count += 1;
    yield { line: this.#startLine, bytes };
    this.#startLine = 0;
  }

  #fault(detail: string): Error {
    return inputError(`${this.#sourceName}:${this.#line}`, detail);
  }
}
