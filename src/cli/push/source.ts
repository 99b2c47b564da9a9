/**
 * The sources of pushed events: files and standard input, as records. Name and first bytes decide the format unless a flag
 * does. It counts bytes for the progress. Tested by `test/cli/push/records.test.ts`.
 */
import { createReadStream, statSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import { elements, lines, type Chunks } from './pieces.ts';
import { inputError, readPiece, type InputRecord } from './record.ts';

const inputFormats = ['auto', 'ndjson', 'json', 'csv'] as const;
export type InputFormat = (typeof inputFormats)[number];

export interface InputSource {
  /** The name to show to people. */
  readonly name: string;
  /** Null for standard input. */
  readonly path: string | null;
  /** Null if the size is unknown before the end. */
  readonly size: number | null;
}

/** Returns the sources of the words on the command line, `-` for standard input. Errors: exit 2 before reading. */
export function findSources(words: readonly string[], cwd: string): InputSource[] {
  if (words.filter((word) => word === '-').length > 1)
    throw usage('expected standard input once, got - twice');
  return words.map((word) => {
    if (word === '-') return { name: 'stdin', path: null, size: null };
    const path = resolve(cwd, word);
    const stat = statOf(path, word);
    if (stat.isDirectory()) throw usage(`${word}: expected a file, got a directory`);
    return { name: word, path, size: stat.isFile() ? stat.size : null };
  });
}

function statOf(path: string, word: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    throw unreadable(word, cause);
  }
}

export interface Reading {
  readonly stdin: Readable;
  readonly signal: AbortSignal;
  readonly counted: (bytes: number) => void;
}

/**
 * Yields the bytes of a source until the signal fires. A file then throws the signal's reason. A pipe then ends, so that
 * the bytes already taken from it are still processed.
 */
export async function* readChunks(
  source: InputSource,
  { stdin, signal, counted }: Reading,
): AsyncGenerator<Uint8Array> {
  const stream = source.path === null ? stdin : createReadStream(source.path, { highWaterMark: 256 * 1024 });
  const stop = (): void => void stream.destroy();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stream as AsyncIterable<Buffer | string>) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      counted(bytes.length);
      yield bytes;
    }
  } catch (cause) {
    if (!signal.aborted) throw unreadable(source.name, cause);
  } finally {
    signal.removeEventListener('abort', stop);
  }
  if (!isPipe(source)) signal.throwIfAborted();
}

/** Returns whether the source cannot be read a second time. */
export const isPipe = ({ size }: InputSource): boolean => size === null;

/** Yields the records of a source of events. */
export async function* readRecords(
  source: InputSource,
  chunks: Chunks,
  format: InputFormat,
): AsyncGenerator<InputRecord> {
  const { name } = source;
  const { first, all } = await peek(chunks);
  const body = withoutMark(all, first);
  const found = format === 'auto' ? detectFormatOf(name, first) : format;
  if (found === 'csv') {
    const { csvRecords } = await import('./csv.ts');
    yield* csvRecords(body, name);
  } else {
    const pieces = found === 'json' ? elements(body, name) : lines(body);
    for await (const piece of pieces) yield readPiece(piece, name);
  }
}

/** JSON by its first character; CSV by the file's ending, or by a header that names an event's fields. */
function detectFormatOf(name: string, first: Buffer): Exclude<InputFormat, 'auto'> {
  const text = first
    .toString('utf8', 0, 4096)
    .replace(/^\ufeff/, '')
    .trimStart();
  if (text.startsWith('[')) return 'json';
  if (text === '' || text.startsWith('{')) return 'ndjson';
  if (/\.csv$/i.test(name) || /^[^\n]*\brunId\b[^\n]*(\r?\n|$)/.test(text)) return 'csv';
  throw inputError(
    `${name}:1`,
    'expected events as NDJSON, a JSON array or CSV, or a recording together with --from',
  );
}

async function peek(chunks: Chunks): Promise<{ first: Buffer; all: Chunks }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const { value, done } = await iterator.next();
  const first: Buffer = done === true ? Buffer.alloc(0) : Buffer.from(value);
  const all = (async function* (): AsyncGenerator<Uint8Array> {
    try {
      if (first.length > 0) yield first;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
        yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
  return { first, all };
}

/** Removes the byte order mark that editors on Windows put before UTF-8. */
async function* withoutMark(chunks: Chunks, first: Buffer): AsyncGenerator<Uint8Array> {
  let skip = first[0] === 0xef && first[1] === 0xbb && first[2] === 0xbf ? 3 : 0;
  for await (const chunk of chunks) {
    yield skip > 0 ? chunk.subarray(skip) : chunk;
    skip = 0;
  }
}
