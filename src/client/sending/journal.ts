/**
 * Append-only files of records. Each line has 16 hex digits of the SHA-256 of the JSON, its length in bytes, and the JSON.
 * `append` returns after the record is on disk. A crash leaves at most one torn record, at the end, which was never
 * acknowledged: reading skips it and opening cuts it off. A damaged record before others is an error.
 * Tested by `test/client/sending/journal.test.ts`, which cuts a file at every byte.
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
} from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, writeAll } from '../../files/durable.ts';
import { GovSpoolError } from '../errors.ts';

export interface Entry {
  /** Byte offset of the record's line. */
  readonly offset: number;
  /** Bytes of the line, including its newline. */
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

/** Returns the record at an offset and its end. The value of a torn or damaged record is undefined. */
function recordAt(bytes: Buffer, offset: number): { value: unknown; end: number } {
  const match = heading.exec(bytes.toString('latin1', offset, offset + headingChars));
  if (match === null) return { value: undefined, end: bytes.length };
  const start = offset + match[0].length;
  const end = start + Number(match[2]);
  const json = bytes.subarray(start, end);
  const isWhole = bytes[end] === NEWLINE && sumOf(json) === match[1];
  return { value: isWhole ? JSON.parse(json.toString('utf8')) : undefined, end: end + 1 };
}

/** Returns the records of a journal and the end of the last one. Errors: `GovSpoolError` if the file is damaged. */
export function readJournal(path: string): { entries: Entry[]; end: number } {
  const bytes = readFileSync(path);
  const entries: Entry[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const { value, end } = recordAt(bytes, offset);
    if (value === undefined) {
      // a torn record is the last one, and its line break ends the file
      const newline = bytes.indexOf(NEWLINE, offset);
      if (end < bytes.length || (newline !== -1 && newline + 1 < bytes.length)) throw damaged(path, offset);
      break;
    }
    entries.push({ offset, length: end - offset, value });
    offset = end;
  }
  return { entries, end: offset };
}

const damaged = (path: string, offset: number): GovSpoolError =>
  new GovSpoolError(
    'SPOOL_DAMAGED',
    `${path}: expected the record that gov wrote at byte ${offset}, got other bytes`,
    {
      hint: 'a disk error or another program has changed the file; keep a copy and move it out of the spool',
    },
  );

/** Reads one record at its offset. */
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

/** A journal that is open for appending. */
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

  /** Creates a file and makes its name durable. Throws if it exists. */
  static create(path: string): Journal {
    const file = openSync(path, 'ax', 0o600);
    syncDirectory(dirname(path));
    return new Journal(path, file, 0);
  }

  /** Opens a file and cuts it to its whole records, or creates it. */
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
   * Appends a record; durable when it returns. Throws the system's error if the write fails, after cutting off the partial
   * record. After a failure the journal accepts no more records.
   */
  append(value: unknown): Entry {
    if (this.#broken) throw new Error(`expected a writable journal at ${this.path}, an earlier write failed`);
    const line = lineOf(value);
    try {
      writeAll(this.#file, line);
      fsyncSync(this.#file);
    } catch (failure) {
      // after a failed fsync the content of the disk is unknown, so no record may follow
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

/** Removes a file if it exists. */
export function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause;
  }
}
