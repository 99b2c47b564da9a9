/**
 * Reading what a user wrote: a file, standard input for `-`, or the files of a directory. JSON is read as strictly as the
 * service reads it (`src/core/json/parse.ts`), so that a file is refused here as it would be there.
 * `test/cli/commands/policy/files.test.ts` holds the refusals.
 */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseJson } from '../../core/json/parse.ts';
import type { Json, JsonObject } from '../../core/json/parse.ts';
import { CliError, exit, usage } from './exit.ts';
import { unreadable } from './flags.ts';
import { readAll } from '../terminal/io.ts';
import type { Io } from '../terminal/io.ts';

/** Where words on the command line lead. */
export interface Place {
  readonly io: Io;
  readonly signal: AbortSignal;
}

export interface InputText {
  /** As it is named to people: the path as given, `-` for standard input. */
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** One file, pipe or device, or standard input for `-`: at most `limits.graphBodyBytes` of it. Errors: exit 2 with the reason. */
export async function readInput(file: string, { io, signal }: Place): Promise<InputText> {
  const maxBytes = limits.graphBodyBytes;
  try {
    if (file === '-') return { file, bytes: await readAll(io.stdin, { maxBytes, signal }) };
    // a size says nothing where it is a pipe or a device
    const stream = createReadStream(resolve(io.cwd, file));
    return { file, bytes: await readAll(stream, { maxBytes, signal, name: file }) };
  } catch (cause) {
    if (cause instanceof RangeError) throw usage(cause.message);
    throw signal.aborted ? cause : unreadable(file, cause);
  }
}

/** The files that words name; of a directory those with one of these endings, in the order of their names. */
export function filesOf(words: readonly string[], endings: readonly string[], { io }: Place): string[] {
  return words.flatMap((word) => {
    if (word === '-' || !isDirectory(resolve(io.cwd, word))) return [word];
    const found = readdirSync(resolve(io.cwd, word))
      .filter((name) => endings.some((ending) => name.endsWith(ending)))
      .sort();
    if (found.length > 0) return found.map((name) => join(word, name));
    throw usage(`${word}: expected files that end in ${endings.join(' or ')}, found none`);
  });
}

/** Whether a word names something on this disk. */
export const isThere = (word: string, { io }: Place): boolean =>
  statSync(resolve(io.cwd, word), { throwIfNoEntry: false }) !== undefined;

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The JSON value of a text. Errors: exit 2, naming the file. */
export const jsonOf = ({ file, bytes }: InputText): Json => inFile(file, () => parseJson(bytes));

/** The JSON object of a text. Errors: exit 2, naming the file. */
export function objectOf(text: InputText): JsonObject {
  const value = jsonOf(text);
  if (isObject(value)) return value;
  throw usage(`${text.file}: expected a JSON object`);
}

/** One JSON value, the items of a JSON array, or one value for each line (NDJSON). */
export function valuesOf(text: InputText): readonly Json[] {
  const lines = Buffer.from(text.bytes).toString().trim().split('\n');
  if (lines.length > 1 && lines.every((line) => /^\s*\{.*\}\s*$/.test(line))) {
    return lines.map((line, at) =>
      jsonOf({ file: `${text.file}:${at + 1}`, bytes: Buffer.from(line.trim()) }),
    );
  }
  const value = jsonOf(text);
  return Array.isArray(value) ? value : [value];
}

/** A member that a program's object has or has not. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What `read` gives; what the core refuses becomes exit 2 with the file before it. */
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
