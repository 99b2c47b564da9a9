/**
 * Append-only files of records, each on a line of its own: 16 hex digits of the SHA-256 of the JSON, its length in
 * bytes, the JSON. `append` returns once the record is on the disk. A crash leaves at most one torn record, at the end, which
 * was never acknowledged: reading leaves it out, opening cuts it off. A damaged record with others after it cannot
 * come from a crash and is an error. Proven by `test/cli/push/journal.test.ts` (cut at every byte).
 */
import { hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { CliError, exit } from '../program/exit.ts';

export interface Entry {
  /** Byte offset of the record's line. */
  readonly offset: number;
  /** Bytes of the line, with its newline. */
  readonly length: number;
  readonly value: unknown;
}

const NEWLINE = 0x0a;
const heading = /^([0-9a-f]{16}) ([0-9]{1,9}) /;
const headingChars = 27;
const sumOf = (json: string | Uint8Array): string => hash('sha256', json, 'hex').slice(0, 16);

function lineOf(value: unknown): Buffer {
  const json = JSON.stringify(value);
  return Buffer.from(`${sumOf(json)} ${Buffer.byteLength(json)} ${json}\n`);
}

/** The record at an offset, with its end as its heading says it; undefined value where it is torn or damaged. */
function recordAt(bytes: Buffer, offset: number): { value: unknown; end: number } {
  const match = heading.exec(bytes.toString('latin1', offset, offset + headingChars));
  if (match === null) return { value: undefined, end: bytes.length };
  const start = offset + match[0].length;
  const end = start + Number(match[2]);
  const json = bytes.subarray(start, end);
  const isWhole = bytes[end] === NEWLINE && sumOf(json) === match[1];
  return { value: isWhole ? JSON.parse(json.toString('utf8')) : undefined, end: end + 1 };
}

/** The records of a journal, and where the last of them ends. CliError where the file is damaged. */
export function readJournal(path: string): { entries: Entry[]; end: number } {
  const bytes = readFileSync(path);
  const entries: Entry[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const { value, end } = recordAt(bytes, offset);
    if (value === undefined) {
      // a torn record is the last, and has no line break but its own
      const newline = bytes.indexOf(NEWLINE, offset);
      if (end < bytes.length || (newline !== -1 && newline + 1 < bytes.length)) throw damaged(path, offset);
      break;
    }
    entries.push({ offset, length: end - offset, value });
    offset = end;
  }
  return { entries, end: offset };
}

const damaged = (path: string, offset: number): CliError =>
  new CliError(
    exit.error,
    `${path}: expected the record that was written at byte ${offset}, got other bytes`,
    {
      code: 'SPOOL_DAMAGED',
      hint: 'the disk or another program has changed the file; keep a copy, and move it out of the spool to go on',
    },
  );

/** One record by its place. */
export function readEntry(path: string, { offset, length }: { offset: number; length: number }): unknown {
  const file = openSync(path, 'r');
  try {
    const line = Buffer.alloc(length);
    const read = readSync(file, line, 0, length, offset);
    const { value } = recordAt(line.subarray(0, read), 0);
    if (value === undefined) throw damaged(path, offset);
    return value;
  } finally {
    closeSync(file);
  }
}

/** A journal open for appending. */
export class Journal {
  readonly path: string;
  readonly #file: number;
  #size: number;
  #broken = false;

  private constructor(path: string, file: number, size: number) {
    this.path = path;
    this.#file = file;
    this.#size = size;
  }

  /** A new file, its name durable as well. Throws where it exists. */
  static create(path: string): Journal {
    const file = openSync(path, 'ax', 0o600);
    syncDirectory(dirname(path));
    return new Journal(path, file, 0);
  }

  /** An existing file, cut to its whole records, or a new one. */
  static open(path: string): Journal {
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    const { end } = readJournal(path);
    if (fstatSync(file).size > end) ftruncateSync(file, end);
    fsyncSync(file);
    syncDirectory(dirname(path));
    return new Journal(path, file, end);
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Appends a record; durable when it returns. Throws the system's error where it could not be written; what was
   * written of it is cut off again, and where even that fails nothing is appended any more.
   */
  append(value: unknown): Entry {
    if (this.#broken) throw new Error(`${this.path} could not be written before`);
    const line = lineOf(value);
    try {
      for (let written = 0; written < line.length;) written += writeSync(this.#file, line, written);
      fsyncSync(this.#file);
    } catch (failure) {
      // after a failed fsync nobody knows what is on the disk; a next record must not follow it
      this.#broken = true;
      ftruncateSync(this.#file, this.#size);
      throw failure;
    }
    const entry = { offset: this.#size, length: line.length, value };
    this.#size += line.length;
    return entry;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Makes created and removed names of a directory durable. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Removes a file where it exists. */
export function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause;
  }
}
