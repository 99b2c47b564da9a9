/**
 * What earlier pushes recorded of a file, so that a log that has grown is recorded line by line and never twice. A note in
 * the state directory has the length and the hash of what was read, and the records that were not accepted. Where the
 * beginning of the file has changed, records are compared one by one; where that is impossible, gov says so.
 *
 * A crash before the note is written leaves the older note: records after it are sent again, in the same batches and so
 * under the same idempotency keys. Tested by `test/cli/push/pushed.test.ts`.
 */
import { createHash, hash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { Batch } from '../../client/sending/batch.ts';
import type { DeliveryResult, Sink } from '../../client/sending/deliver.ts';
import type { InputSource } from './source.ts';
import { makeFolder } from '../../files/make-folder.ts';

interface Note {
  readonly target: string;
  readonly path: string;
  /** Bytes that were read, and their SHA-256. */
  readonly bytes: number;
  readonly sha256: string;
  readonly records: number;
  /** Positions of records that were rejected. */
  readonly rejected: readonly number[];
  /** Positions of records that were not acknowledged. */
  readonly unsent: readonly number[];
  /** An event of the file, to see that the service is the one that has it. */
  readonly eventId: string | null;
  /** 8 bytes of the SHA-256 of each record; absent for long files. */
  readonly hashes?: string;
}

/** What to do with a record: it is known, it is tried again, or it is new. */
export type RecordState = 'known' | 'rejected' | 'unsent' | 'new';

export interface PushedFilesOptions {
  readonly directory: string;
  readonly target: () => string;
  /** Says that gov cannot know what was recorded of a file. */
  readonly unsure: (source: string, why: string) => void;
}

/** The files of one push. */
export class PushedFiles {
  readonly #options: PushedFilesOptions;
  readonly #files = new Map<number, PushedFile>();

  constructor(options: PushedFilesOptions) {
    this.#options = options;
  }

  /** Returns the memory of a file, or undefined for a pipe. Asks the service whether it still has the file's events. */
  async open(
    source: InputSource,
    { index, sink, signal }: { index: number; sink: Pick<Sink, 'has'>; signal: AbortSignal },
  ): Promise<PushedFile | undefined> {
    if (source.path === null || source.size === null) return undefined;
    const target = this.#options.target();
    const path = join(
      this.#options.directory,
      'pushed',
      `${hash('sha256', `${target}\n${source.path}`, 'hex')}.json`,
    );
    let note = readNote(path);
    if (typeof note?.eventId === 'string' && (await sink.has?.(note.eventId, signal)) === false) {
      this.#options.unsure(source.name, 'the service does not have the events of its last push');
      note = undefined;
    }
    const file = new PushedFile(path, { target, path: source.path, note });
    if (file.isUnsure) this.#options.unsure(source.name, 'its beginning differs from that of its last push');
    this.#files.set(index, file);
    return file;
  }

  /** Marks the records of a batch as judged. */
  judged({ source, positions }: Batch, { results }: DeliveryResult): void {
    const file = this.#files.get(source);
    for (const [index, position] of positions.entries()) {
      const result = results[index];
      if (result !== undefined)
        file?.mark(position, { accepted: result.status === 'accepted', eventId: result.eventId });
    }
  }

  /** Marks the records of a batch as safe on disk, from where they will be sent. */
  queued({ source, positions }: Batch): void {
    const file = this.#files.get(source);
    for (const position of positions) file?.mark(position, { accepted: true, eventId: null });
  }

  /** Writes a note for each file. Throws the system's error. */
  save(): void {
    for (const file of this.#files.values()) file.save();
  }
}

const hashBytes = 8;

export class PushedFile {
  /** The file was changed, and no list of its records was kept. */
  readonly isUnsure: boolean;
  readonly #notePath: string;
  readonly #target: string;
  readonly #path: string;
  readonly #note: Note | undefined;
  readonly #rejectedBefore: ReadonlySet<number>;
  readonly #unsentBefore: ReadonlySet<number>;
  /** Records of a changed file that were recorded: how many of each hash are left. */
  readonly #left: Map<string, number> | undefined;
  readonly #open = new Set<number>();
  readonly #rejected = new Set<number>();
  #hashes: string[] | undefined = [];
  #records = 0;
  #bytes = 0;
  #eventId: string | null;

  constructor(
    notePath: string,
    { target, path, note }: { target: string; path: string; note: Note | undefined },
  ) {
    this.#notePath = notePath;
    this.#target = target;
    this.#path = path;
    const isSame = note !== undefined && digestOf(path, note.bytes) === note.sha256;
    this.#note = isSame ? note : undefined;
    this.#rejectedBefore = new Set(this.#note?.rejected);
    this.#unsentBefore = new Set(this.#note?.unsent);
    this.#left = note === undefined || isSame || note.hashes === undefined ? undefined : countedOf(note);
    this.isUnsure = note !== undefined && !isSame && note.hashes === undefined;
    this.#eventId = note?.eventId ?? null;
  }

  /** Returns how a record stands. Called once for each record, in order; `text` is undefined for one that is no event. */
  standing(position: number, text: string | undefined): RecordState {
    this.#records = position + 1;
    const own = hash('sha256', text ?? '', 'hex').slice(0, 2 * hashBytes);
    if (this.#records > limits.pushRememberedRecords) this.#hashes = undefined;
    this.#hashes?.push(own);
    this.#open.add(position);
    const found = this.#standing(position, own);
    if (found === 'known') this.mark(position, { accepted: true, eventId: null });
    return found;
  }

  #standing(position: number, own: string): RecordState {
    if (this.#left !== undefined) {
      const left = this.#left.get(own) ?? 0;
      if (left > 0) this.#left.set(own, left - 1);
      return left > 0 ? 'known' : 'new';
    }
    if (this.#note === undefined || position >= this.#note.records) return 'new';
    if (this.#rejectedBefore.has(position)) return 'rejected';
    return this.#unsentBefore.has(position) ? 'unsent' : 'known';
  }

  read(bytes: number): void {
    this.#bytes += bytes;
  }

  mark(position: number, { accepted, eventId }: { accepted: boolean; eventId: string | null }): void {
    this.#open.delete(position);
    if (!accepted) this.#rejected.add(position);
    if (eventId !== null) this.#eventId = eventId;
  }

  save(): void {
    if (this.#records === 0) return;
    const note: Note = {
      target: this.#target,
      path: this.#path,
      bytes: this.#bytes,
      sha256: digestOf(this.#path, this.#bytes) ?? '',
      records: this.#records,
      rejected: [...this.#rejected],
      unsent: [...this.#open],
      eventId: this.#eventId,
      ...(this.#hashes === undefined ? {} : { hashes: this.#hashes.join('') }),
    };
    makeFolder(dirname(this.#notePath), 0o700);
    const draft = `${this.#notePath}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(note), { mode: 0o600, flush: true });
    renameSync(draft, this.#notePath);
  }
}

/** Counts the records that were accepted, by their hashes. */
function countedOf({ hashes = '', rejected, unsent, records }: Note): Map<string, number> {
  const without = new Set([...rejected, ...unsent]);
  const counts = new Map<string, number>();
  for (let position = 0; position < records; position++) {
    if (without.has(position)) continue;
    const own = hashes.slice(position * 2 * hashBytes, (position + 1) * 2 * hashBytes);
    counts.set(own, (counts.get(own) ?? 0) + 1);
  }
  return counts;
}

/** Returns the SHA-256 of a file's first bytes in hex; undefined if the file is shorter or gone. */
function digestOf(path: string, bytes: number): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const digest = createHash('sha256');
    const buffer = Buffer.allocUnsafe(256 * 1024);
    for (let left = bytes; left > 0;) {
      const read = readSync(file, buffer, 0, Math.min(left, buffer.length), null);
      if (read === 0) return undefined;
      digest.update(buffer.subarray(0, read));
      left -= read;
    }
    return digest.digest('hex');
  } finally {
    closeSync(file);
  }
}

function readNote(path: string): Note | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Note; // this program wrote it
  } catch {
    // missing or damaged: the next push writes a new one
    return undefined;
  }
}
