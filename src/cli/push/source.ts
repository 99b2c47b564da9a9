/**
 * The sources of pushed events: files and standard input, as records. Name and first bytes decide the format unless a flag
 * does. It counts bytes for the progress. Tested by `test/cli/push/records.test.ts`.
 */
import { createReadStream, statSync, type Stats } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import { filesBelow, openFound } from './folder.ts';
import { elements, lines, separated, values, type Chunks } from './pieces.ts';
import { inputError, readPiece, type InputRecord, type Piece } from './record.ts';

const inputFormats = ['auto', 'ndjson', 'json', 'csv'] as const;
export type InputFormat = (typeof inputFormats)[number];

export interface InputSource {
  /** The name to show to people. */
  readonly name: string;
  /** Null for standard input. */
  readonly path: string | null;
  /** Null if the size is unknown before the end. */
  readonly size: number | null;
  /** Nobody named the file: it was found in a folder. What is wrong with it concerns it alone. */
  readonly isFound?: true;
  /** Bytes to read; absent: all. */
  readonly until?: number;
  /** The name by which recordings without an id are known; absent: that of the path. */
  readonly knownAs?: string;
}

export interface Sources {
  readonly sources: readonly InputSource[];
  /** Files in folders whose names are not those of recordings. */
  readonly others: readonly string[];
}

/**
 * Returns the sources of the words on the command line, `-` for standard input. With `folders`, a folder stands for the
 * recordings below it. Errors: exit 2 before reading.
 */
export function findSources(
  words: readonly string[],
  { cwd, folders }: { readonly cwd: string; readonly folders: boolean },
): Sources {
  if (words.filter((word) => word === '-').length > 1)
    throw usage('expected standard input once, got - twice');
  const others: string[] = [];
  const sources = words.flatMap((word): InputSource[] => {
    if (word === '-') return [{ name: 'stdin', path: null, size: null }];
    const path = resolve(cwd, word);
    const stat = statOf(path, word);
    if (!stat.isDirectory()) return [{ name: word, path, size: stat.isFile() ? stat.size : null }];
    if (!folders)
      throw usage(
        `${word}: expected a file, got a directory`,
        `gov events push --from auto ${word} records the sessions of agents below it`,
      );
    const below = filesBelow(path);
    const closed = new Set(below.closed.map(({ name }) => name));
    others.push(...below.others.filter((name) => !closed.has(name)).map((name) => join(word, name)));
    // to read a folder that cannot be read is refused, as a file is
    const unread = [...closed].map((name) => ({ name, size: null, path: join(path, name) }));
    return [...below.files, ...unread].map(({ name, size, path: file }) => ({
      name: join(word, name),
      path: file,
      size,
      isFound: true,
    }));
  });
  return { sources: folders ? sessionsFirst(distinct(sources)) : sources, others };
}

/** A file that is named and found is read once. */
function distinct(sources: readonly InputSource[]): InputSource[] {
  const seen = new Set<string>();
  return sources.filter(({ path }) => path === null || (!seen.has(path) && seen.add(path)));
}

/** The file of a session comes before the files of its subagents, in the folder of its name: a cause before its effects. */
export function sessionsFirst<Source extends Pick<InputSource, 'path'>>(
  sources: readonly Source[],
): Source[] {
  const folders = new Set(
    sources.flatMap(({ path }) => (path?.endsWith('.jsonl') === true ? [path.slice(0, -6)] : [])),
  );
  const isBelow = ({ path }: Source): number => {
    for (let at = path?.lastIndexOf(sep) ?? 0; at > 0; at = path?.lastIndexOf(sep, at - 1) ?? 0)
      if (folders.has(path?.slice(0, at) ?? '')) return 1;
    return 0;
  };
  return sources.toSorted((a, b) => isBelow(a) - isBelow(b));
}

function statOf(path: string, word: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    throw unreadable(word, cause);
  }
}

export interface SourceOptions {
  readonly stdin: Readable;
  readonly signal: AbortSignal;
  readonly counted: (bytes: number) => void;
  /** Fires when nothing more can be recorded. A pipe is then read to its end, and its bytes are dropped. */
  readonly givenUp?: AbortSignal | undefined;
}

/**
 * Yields the bytes of a source until the signal fires. A file then throws the signal's reason. A pipe then ends, so that
 * the bytes already taken from it are still processed. A caller that stops reading early leaves standard input open.
 */
export async function* readChunks(
  source: InputSource,
  { stdin, signal, counted, givenUp }: SourceOptions,
): AsyncGenerator<Uint8Array> {
  const { until } = source;
  const stream =
    source.path === null
      ? stdin
      : createReadStream(source.path, {
          ...(source.isFound === true ? { fd: opened(source.path, source.name) } : {}),
          highWaterMark: 256 * 1024,
          ...(until === undefined ? {} : { end: until - 1 }),
        });
  const stop = (): void => void stream.destroy();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  const parts = source.path === null ? stdin.iterator({ destroyOnReturn: false }) : stream;
  try {
    for await (const chunk of parts as AsyncIterable<Buffer | string>) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      if (givenUp?.aborted === true) {
        if (!isPipe(source)) throw givenUp.reason;
        continue;
      }
      counted(bytes.length);
      yield bytes;
    }
  } catch (cause) {
    if (givenUp?.aborted === true && cause === givenUp.reason) throw cause;
    if (!signal.aborted) throw unreadable(source.name, cause);
  } finally {
    signal.removeEventListener('abort', stop);
  }
  if (!isPipe(source)) signal.throwIfAborted();
}

function opened(path: string, name: string): number {
  try {
    return openFound(path);
  } catch (cause) {
    throw unreadable(name, cause);
  }
}

/**
 * Reads standard input to its end and keeps nothing. The program before the pipe would otherwise die of SIGPIPE because
 * this one could not go on.
 */
export async function drain(stdin: Readable, signal: AbortSignal): Promise<void> {
  const source = { name: 'stdin', path: null, size: null };
  for await (const _ of readChunks(source, { stdin, signal, counted: () => {} }));
}

/** Returns whether the source cannot be read a second time. */
export const isPipe = ({ size }: InputSource): boolean => size === null;

/** Yields the records of a source of events. */
export async function* readRecords(
  source: InputSource,
  chunks: Chunks,
  format: InputFormat,
): AsyncGenerator<InputRecord> {
  const { first, all } = await peek(asUtf8(chunks));
  const found = format === 'auto' ? detectFormatOf(source, first) : format;
  if (found === 'csv') {
    const { csvRecords } = await import('./csv.ts');
    yield* csvRecords(all, source.name);
  } else for await (const piece of piecesOf(found, { first, all })) yield* readPiece(piece);
}

function piecesOf(
  format: Exclude<InputFormat, 'auto' | 'csv'>,
  { first, all }: { first: Buffer; all: Chunks },
): AsyncGenerator<Piece> {
  const text = first.toString('latin1').trimStart();
  if (text.startsWith('\x1e')) return separated(all);
  const isOneBody = wrapper.test(text) && (isOverLines(text) || !/\n\s*\S/.test(text));
  if (format === 'json' || isOneBody) return elements(all);
  return isOverLines(text) ? values(all) : lines(all);
}

/** The beginning of a body of `POST /events/batch`. */
const wrapper = /^\{\s*"events"\s*:\s*\[/;

/** Whether a text begins with an object that goes on after its first line. */
function isOverLines(text: string): boolean {
  const newline = text.indexOf('\n');
  if (!text.startsWith('{') || newline === -1) return false;
  try {
    JSON.parse(text.slice(0, newline));
    return false;
  } catch {
    return true;
  }
}

/**
 * JSON by its first character; CSV by the file's ending, or by a header that names an event's fields. A first line of other
 * text does not matter before lines of JSON, nor in a pipe, whose writer would be stopped.
 */
function detectFormatOf(source: InputSource, first: Buffer): Exclude<InputFormat, 'auto'> {
  const { name } = source;
  const text = first.toString('utf8', 0, 65_536).trimStart();
  if (text.startsWith('[')) return 'json';
  if (text === '' || text.startsWith('{') || text.startsWith('\x1e')) return 'ndjson';
  const header = /^(sep=.\r?\n)?[^\n]*\brunId\b[^\n]*(\r?\n|$)/;
  if (/\.(csv|tsv)$/i.test(name) || header.test(text)) return 'csv';
  if (/^\s*\{/m.test(text) || isPipe(source)) return 'ndjson';
  const got = text.startsWith('<') ? 'HTML or XML' : JSON.stringify(text.slice(0, 32).split('\n')[0]);
  throw inputError(
    `${name}:1`,
    `expected events as NDJSON, a JSON array or CSV, or a recording together with --from, got ${got}`,
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

/** Yields UTF-8 without the byte order mark that editors on Windows put before it. Reads UTF-16 as well. */
async function* asUtf8(chunks: Chunks): AsyncGenerator<Uint8Array> {
  const { encodingOf } = await import('../../core/intake/source.ts');
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) {
      const encoding = encodingOf(chunk);
      if (encoding !== 'utf-8') decoder = new TextDecoder(encoding);
      const hasMark = chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
      if (decoder === undefined) yield hasMark ? chunk.subarray(3) : chunk;
    }
    if (decoder !== undefined) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    else if (!isFirst) yield chunk;
    isFirst = false;
  }
  if (decoder !== undefined) yield Buffer.from(decoder.decode());
}
