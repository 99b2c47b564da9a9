/**
 * How far each file of a watched folder has been recorded, kept on disk: a journal of JSON lines, of which the last one of
 * a name counts. Log shippers keep the same: the file by device and inode, its beginning, and the place (Filebeat's
 * registry, Vector's checkpoints, the database of Fluent Bit).
 *
 * A crash leaves an older place, or a last line that is cut and ignored. The bytes after an older place are recorded again,
 * and the service recognises them, so nothing here has to be flushed. Tested by `test/cli/watch/places.test.ts`.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isObject } from '../../core/json/object.ts';
import { makeFolder } from '../../files/make-folder.ts';

export interface Place {
  /** Below the folder. */
  readonly name: string;
  /** The name of the file when it was first recorded: recordings without an id are known by it. */
  readonly knownAs: string;
  readonly device: number;
  readonly inode: number;
  /** As of the last recording. */
  readonly size: number;
  readonly modifiedMs: number;
  /** Bytes that were read. */
  readonly taken: number;
  /** SHA-256 in hex of the first bytes, and how many. */
  readonly headHash: string;
  readonly headBytes: number;
}

/** Lines of the journal above which it is written again, in times of the places. */
const compactAt = 4;
const compactFrom = 1000;

export class Places {
  readonly #path: string;
  readonly #places = new Map<string, Place>();
  #lines = 0;
  #eventId: string | null = null;

  /** Reads the journal; a missing or damaged one is empty. Throws the system's error if it cannot be written. */
  constructor(path: string) {
    this.#path = path;
    for (const line of linesOf(path)) this.#read(line);
    this.#compact();
  }

  #read(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return;
    }
    if (!isObject(value)) return;
    const { gone, eventId } = value;
    if (typeof gone === 'string') this.#places.delete(gone);
    else if (typeof eventId === 'string') this.#eventId = eventId;
    else if (isPlace(value)) this.#places.set(value.name, value);
  }

  get(name: string): Place | undefined {
    return this.#places.get(name);
  }

  all(): readonly Place[] {
    return [...this.#places.values()];
  }

  /** An event that the service has, to see later that it is still the same service. */
  get eventId(): string | null {
    return this.#eventId;
  }

  /** Keeps what was recorded, in one write. */
  keep(places: readonly Place[], eventId: string | null = null): void {
    for (const place of places) this.#places.set(place.name, place);
    if (eventId !== null) this.#eventId = eventId;
    this.#append([...places, ...(eventId === null ? [] : [{ eventId }])]);
  }

  drop(name: string): void {
    if (this.#places.delete(name)) this.#append([{ gone: name }]);
  }

  /** Forgets all places: the service does not have what they say. */
  clear(): void {
    this.#places.clear();
    this.#eventId = null;
    this.#compact();
  }

  #append(lines: readonly object[]): void {
    if (lines.length === 0) return;
    this.#lines += lines.length;
    if (this.#lines > compactFrom && this.#lines > compactAt * this.#places.size) this.#compact();
    else appendFileSync(this.#path, textOf(lines), { mode: 0o600 });
  }

  #compact(): void {
    makeFolder(dirname(this.#path), 0o700);
    const eventId = this.#eventId === null ? [] : [{ eventId: this.#eventId }];
    const lines = [...this.#places.values(), ...eventId];
    const draft = `${this.#path}.${process.pid}`;
    writeFileSync(draft, textOf(lines), { mode: 0o600 });
    renameSync(draft, this.#path);
    this.#lines = lines.length;
  }
}

const textOf = (lines: readonly object[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}

const texts = ['name', 'knownAs', 'headHash'];
const numbers = ['device', 'inode', 'size', 'modifiedMs', 'taken', 'headBytes'];

const isPlace = (value: object): value is Place =>
  texts.every((name) => typeof Reflect.get(value, name) === 'string') &&
  numbers.every((name) => typeof Reflect.get(value, name) === 'number');
