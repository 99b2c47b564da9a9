/**
 * Reads the user's input: a file, standard input for `-`, or the files of a directory. It reads JSON as strictly as the
 * service does (`src/core/json/parse.ts`), so that both reject the same files.
 * Tested by `test/cli/commands/policy/files.test.ts`.
 */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseJson } from '../../core/json/parse.ts';
import type { Json, JsonObject } from '../../core/json/parse.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import { jsonFault, type NamedText } from '../program/json-fault.ts';
import { readAll } from './io.ts';
import type { Io } from './io.ts';
import { isObject } from '../../core/json/object.ts';
import { editedBytes } from '../../core/text.ts';

/** The streams and signal that reading needs. */
export interface InputIo {
  readonly io: Io;
  readonly signal: AbortSignal;
}

export interface InputText {
  /** The path as the user gave it; `-` for standard input. */
  readonly file: string;
  readonly bytes: Uint8Array;
}

/**
 * Reads one file, pipe, device or, for `-`, standard input: at most `limits.graphBodyBytes`. Errors: exit 2 with the
 * reason.
 */
export async function readInput(file: string, { io, signal }: InputIo): Promise<InputText> {
  const maxBytes = limits.graphBodyBytes;
  try {
    if (file === '-') return { file, bytes: editedBytes(await readAll(io.stdin, { maxBytes, signal })) };
    // the size of a pipe or a device means nothing
    const stream = createReadStream(resolve(io.cwd, file));
    return { file, bytes: editedBytes(await readAll(stream, { maxBytes, signal, name: file })) };
  } catch (cause) {
    if (cause instanceof RangeError) throw usage(cause.message);
    throw signal.aborted ? cause : unreadable(file, cause);
  }
}

/** Expands words to files. A directory becomes its files with one of these endings, in the order of their names. */
export function filesOf(words: readonly string[], endings: readonly string[], { io }: InputIo): string[] {
  return words.flatMap((word) => {
    if (word === '-' || !isDirectory(resolve(io.cwd, word))) return [word];
    const found = readdirSync(resolve(io.cwd, word))
      .filter((name) => endings.some((ending) => name.endsWith(ending)))
      .sort();
    if (found.length > 0) return found.map((name) => join(word, name));
    throw usage(`${word}: expected files that end in ${endings.join(' or ')}, found none`);
  });
}

/** Returns whether the word names a file or a directory. */
export const isThere = (word: string, { io }: InputIo): boolean =>
  statSync(resolve(io.cwd, word), { throwIfNoEntry: false }) !== undefined;

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Returns the JSON value of a text. Errors: exit 2, naming the file, the line and what to do. */
export function jsonOf(text: NamedText): Json {
  try {
    return parseJson(text.bytes);
  } catch (cause) {
    throw cause instanceof GovError ? jsonFault(text, cause) : cause;
  }
}

/** Returns the JSON object of a text. Errors: exit 2, naming the file. */
export function objectOf(text: InputText): JsonObject {
  const value = jsonOf(text);
  if (isObject(value)) return value;
  throw usage(`${text.file}: expected a JSON object`);
}

/** Returns one JSON value, the items of a JSON array, or one value for each line (NDJSON). */
export function valuesOf(text: InputText): readonly Json[] {
  const lines = Buffer.from(text.bytes).toString().trimEnd().split('\n');
  if (lines.length > 1 && lines.every((line) => /^\s*\{.*\}\s*$/.test(line))) {
    return lines.map((line, at) => jsonOf({ file: text.file, bytes: Buffer.from(line), line: at + 1 }));
  }
  const value = jsonOf(text);
  return Array.isArray(value) ? value : [value];
}

/** Calls `read`. An error of the core becomes exit 2 with the file's name before its message. */
export function inFile<Value>(file: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    const place = file === '-' ? 'standard input' : file;
    const at = cause.extensions['line'] === undefined ? `${place}: ` : `${place}:`;
    const message = cause.message.replace(/^body (?=\/)/, '');
    throw new CliError(exit.usage, `${at}${message}`, { code: cause.code, cause });
  }
}
