/**
 * Cuts a stream of bytes into records: one per line, one per element of a JSON array or of a batch body, one after each
 * record separator (RFC 7464), or one per JSON value over several lines. It keeps one record in memory. What does not fit is
 * a record with a fault, and cutting goes on.
 * Newlines, brackets and quotes are ASCII, and longer UTF-8 sequences contain no ASCII byte, so the code compares bytes.
 * Tested by `test/cli/push/records.test.ts`.
 */
import { mostEventBytes, type Piece } from './record.ts';

export type Chunks = AsyncIterable<Uint8Array>;

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
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
  if (!isBlank(last)) yield { line, bytes: last, isCut: true };
}

const SEPARATOR = 0x1e;

/** Yields the texts after record separators (RFC 7464). A text before the first one is a record too. */
export async function* separated(chunks: Chunks): AsyncGenerator<Piece> {
  const collector = new Collector();
  let line = 1;
  let start = 1;
  const take = (): Piece | undefined => {
    const bytes = collector.take();
    return isBlank(bytes) ? undefined : { line: start, bytes };
  };
  for await (const chunk of chunks) {
    const bytes = asBuffer(chunk);
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      if (bytes[at] === NEWLINE) line += 1;
      if (bytes[at] !== SEPARATOR) continue;
      collector.add(bytes.subarray(from, at));
      const piece = take();
      if (piece !== undefined) yield piece;
      from = at + 1;
      start = line;
    }
    collector.add(bytes.subarray(from));
  }
  const last = take();
  if (last !== undefined) yield last;
}

/**
 * Yields JSON values that follow each other, each over one or more lines, as pretty printers write them. A line between
 * them that is no JSON is a record of its own. A value that does not end is given up where the next one begins.
 */
export async function* values(chunks: Chunks): AsyncGenerator<Piece> {
  const cutter = new ValueCutter();
  for await (const chunk of chunks) yield* cutter.cut(asBuffer(chunk));
  yield* cutter.end();
}

class ValueCutter {
  readonly #collector = new Collector();
  /** Open brackets; a value at the outermost level ends with the last one. */
  readonly #open: number[] = [];
  #line = 1;
  #startLine = 1;
  #inString = false;
  #escaped = false;
  #before = NEWLINE;
  #isStray = false;

  *cut(bytes: Buffer): Generator<Piece> {
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.#begins(byte) && (this.#open.length > 0 || this.#isStray)) {
        this.#collector.add(bytes.subarray(from, at));
        yield* this.#take();
        from = at;
      }
      const ends = this.#pass(byte);
      if (!ends) continue;
      this.#collector.add(bytes.subarray(from, at + 1));
      from = at + 1;
      yield* this.#take();
    }
    this.#collector.add(bytes.subarray(from));
  }

  /** Whether a byte begins a value at the start of a line, where no open value can go on. */
  #begins(byte: number): boolean {
    if (byte !== OPEN_OBJECT || this.#before !== NEWLINE) return false;
    return this.#open.at(-1) !== OPEN_ARRAY;
  }

  /** Takes a byte; returns whether a value or a stray line ends with it. */
  #pass(byte: number): boolean {
    const isOutside = this.#open.length === 0 && !this.#isStray;
    if (isOutside && !isSpace(byte)) {
      this.#startLine = this.#line;
      this.#isStray = byte !== OPEN_OBJECT && byte !== OPEN_ARRAY;
    }
    this.#before = byte === NEWLINE || !isSpace(byte) ? byte : this.#before;
    if (byte === NEWLINE) {
      this.#line += 1;
      // a text in JSON does not go over the end of a line
      this.#inString = false;
      return this.#isStray;
    }
    if (this.#isStray) return false;
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return false;
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open.push(byte);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.#open.pop();
      return this.#open.length === 0;
    }
    return false;
  }

  *end(): Generator<Piece> {
    const isCut = this.#open.length > 0;
    for (const piece of this.#take()) yield isCut ? { ...piece, isCut } : piece;
  }

  *#take(): Generator<Piece> {
    const bytes = this.#collector.take();
    const line = this.#startLine;
    this.#open.length = 0;
    this.#isStray = false;
    this.#inString = false;
    if (!isBlank(bytes)) yield { line, bytes };
  }
}

const asBuffer = (chunk: Uint8Array): Buffer => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);

/**
 * Yields the elements of a JSON array, or of the array `events` of a batch body. Between commas it looks only at strings
 * and brackets; the reader of each element checks the rest.
 */
export async function* elements(chunks: Chunks): AsyncGenerator<Piece> {
  const cutter = new ArrayCutter();
  for await (const chunk of chunks) yield* cutter.cut(asBuffer(chunk));
  yield* cutter.end();
}

class ArrayCutter {
  readonly #collector = new Collector();
  #line = 1;
  #startLine = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #count = 0;
  #closed = false;
  /** Text after the array was reported. */
  #isDone = false;

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
        yield* this.#outside(byte);
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
  *end(): Generator<Piece> {
    if (this.#closed) return;
    const line = this.#startLine || this.#line;
    if (this.#depth === 0) yield fault(line, 'expected a JSON array, got other text');
    else yield fault(line, 'expected the end of the array, got the end of the input');
  }

  #passString(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  /** Before the array stands nothing, or the beginning of a batch body; after it stands its end. */
  *#outside(byte: number): Generator<Piece> {
    if (!this.#closed) {
      if (byte === OPEN_ARRAY) this.#depth = 1;
      return;
    }
    if (isSpace(byte) || byte === CLOSE_OBJECT || this.#isDone) return;
    this.#isDone = true;
    yield fault(this.#line, 'expected the end of the input after the array, got more');
  }

  #inside(byte: number): void {
    if (this.#startLine === 0 && !isSpace(byte)) this.#startLine = this.#line;
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#depth += 1;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#depth -= 1;
  }

  *#element(byte: number): Generator<Piece> {
    const bytes = this.#collector.take();
    const blank = isBlank(bytes);
    if (byte === CLOSE_ARRAY) {
      this.#depth = 0;
      this.#closed = true;
    }
    if (blank && (byte === COMMA || this.#count > 0)) {
      yield fault(this.#line, 'expected an event between commas, got none');
      return;
    }
    if (blank) return;
    this.#count += 1;
    yield { line: this.#startLine, bytes };
    this.#startLine = 0;
  }
}

const fault = (line: number, detail: string): Piece => ({ line, bytes: Buffer.alloc(0), fault: detail });
