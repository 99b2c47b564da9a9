/**
 * Compares the files of a folder with their places: which have something new to record, and which were renamed, rotated,
 * cut or removed. A file of lines is read up to its last whole line; a document, once it has been unchanged for a while.
 * Tested by `test/cli/watch/look.test.ts`.
 */
import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { closedBy, fileAt, filesBelow, openFound, type Closed, type FolderFile } from '../push/folder.ts';
import type { Place } from './places.ts';

/** A file with something new. */
export interface Take {
  readonly file: FolderFile;
  readonly knownAs: string;
  /** Bytes to read: all whole lines. */
  readonly until: number;
}

export type Change =
  | { readonly kind: 'renamed'; readonly file: string; readonly from: string }
  /** Another file has its name now. */
  | { readonly kind: 'rotated'; readonly file: string }
  /** It is shorter, or begins otherwise: it is read from its beginning. */
  | { readonly kind: 'truncated'; readonly file: string }
  | { readonly kind: 'vanished'; readonly file: string };

export interface FolderScan {
  readonly takes: readonly Take[];
  readonly changes: readonly Change[];
  /** How many files have names of recordings. */
  readonly files: number;
  /** Places as they are now, of files with nothing new. */
  readonly moved: readonly Place[];
  /** Files that are not read, because of their names. */
  readonly others: readonly string[];
  /** Files and folders that cannot be read now. */
  readonly closed: readonly Closed[];
  readonly folders: readonly string[];
  /** Milliseconds after which a file may be read that is not now; null: none waits. */
  readonly againMs: number | null;
}

export interface LookOptions {
  readonly places: ReadonlyMap<string, Place>;
  readonly nowMs: number;
  /** Files that were looked at before, and have had no whole line more: by name, which file it is, its size and time. */
  readonly unripe: Map<string, string>;
  /** When a file may be read again. */
  readonly notBefore: ReadonlyMap<string, number>;
  /** Nobody looks again: read documents at once. */
  readonly isOnce: boolean;
}

const idOf = ({ device, inode }: Pick<Place, 'device' | 'inode'>): string => `${device}:${inode}`;
/** Also under the name that a rotation gave it. */
const isLines = (name: string): boolean => /\.(jsonl|ndjson)(\.\d+)?$/i.test(name);

/** Cost: one call of the system a file, and the end of each that has changed. Errors: those of `filesBelow`. */
export function look(folder: string, options: LookOptions): FolderScan {
  const { places } = options;
  const { files, others, closed, folders } = filesBelow(folder);
  const looking = new Looking(options);
  const missing = new Map([...places].map(([name, place]) => [idOf(place), { name, place }]));
  for (const file of files) {
    const place = places.get(file.name);
    if (place !== undefined && idOf(place) === idOf(file)) missing.delete(idOf(file));
  }
  for (const file of files) {
    const place = places.get(file.name);
    if (place !== undefined && idOf(place) === idOf(file)) {
      looking.known(file, place);
      continue;
    }
    const before = missing.get(idOf(file));
    if (before !== undefined && isSameHead(file.path, before.place)) {
      missing.delete(idOf(file));
      looking.renamed(file, before.place);
    } else if (place === undefined) looking.take(file, basename(file.name));
    else looking.rotated(file);
  }
  const rest = missing.size === 0 ? [] : others;
  for (const name of rest) {
    const file = fileAt(folder, name);
    const before = file === undefined ? undefined : missing.get(idOf(file));
    // the end of a log that was moved away may not be recorded yet
    if (file === undefined || before === undefined || !isSameHead(file.path, before.place)) continue;
    missing.delete(idOf(file));
    if (name === before.name) looking.known(file, before.place);
    else looking.renamed(file, before.place);
  }
  for (const { name } of missing.values())
    if (!files.some((file) => file.name === name)) looking.changes.push({ kind: 'vanished', file: name });
  return {
    ...looking.result(),
    files: files.length,
    others,
    closed: [...closed, ...looking.closed],
    folders,
  };
}

class Looking {
  readonly changes: Change[] = [];
  readonly closed: Closed[] = [];
  readonly #options: LookOptions;
  readonly #takes: Take[] = [];
  readonly #moved: Place[] = [];
  #againMs: number | null = null;

  constructor(options: LookOptions) {
    this.#options = options;
  }

  known(file: FolderFile, place: Place): void {
    const isChanged = file.size !== place.size || file.modifiedMs !== place.modifiedMs;
    if (!isChanged) return;
    const wasCut = isLines(file.name) && isCut(file, place);
    const isSettled = this.take(file, place.knownAs, place);
    if (wasCut && isSettled) this.changes.push({ kind: 'truncated', file: file.name });
  }

  renamed(file: FolderFile, place: Place): void {
    const moved = { ...place, name: file.name };
    this.changes.push({ kind: 'renamed', file: file.name, from: place.name });
    this.#moved.push(moved);
    this.known(file, moved);
  }

  rotated(file: FolderFile): void {
    if (this.take(file, basename(file.name))) this.changes.push({ kind: 'rotated', file: file.name });
  }

  /** Returns whether what there is of the file was judged now: false if it waits, or was judged before. */
  take(file: FolderFile, knownAs: string, place?: Place): boolean {
    const { unripe, notBefore, nowMs, isOnce } = this.#options;
    const state = `${idOf(file)} ${file.size} ${file.modifiedMs}`;
    if (unripe.get(file.name) === state) return false;
    const ripeMs = isLines(file.name) || isOnce ? 0 : file.modifiedMs + limits.watchDocumentMs;
    const waitMs = Math.max(notBefore.get(file.name) ?? 0, ripeMs) - nowMs;
    if (waitMs > 0) {
      this.#againMs = Math.min(this.#againMs ?? Infinity, waitMs);
      return false;
    }
    // rights change without a sign in size and time: it is tried again at each look
    const code = closedBy(file.path);
    if (code !== undefined) {
      this.closed.push({ name: file.name, code });
      return false;
    }
    const until = isLines(file.name) ? wholeLines(file) : file.size;
    const isNew = until > 0 && (place === undefined || isOther(file, place) || until > place.taken);
    // an empty file has nothing, and half a line is not read
    if (isNew) this.#takes.push({ file, knownAs, until });
    else unripe.set(file.name, state);
    return true;
  }

  result(): Pick<FolderScan, 'takes' | 'changes' | 'moved' | 'againMs'> {
    return { takes: this.#takes, changes: this.changes, moved: this.#moved, againMs: this.#againMs };
  }
}

const isCut = (file: FolderFile, place: Place): boolean =>
  file.size < place.taken || !isSameHead(file.path, place);

/** Whether what was read of a file may have changed: it was cut, or written again in its length. */
const isOther = (file: FolderFile, place: Place): boolean =>
  !isLines(file.name) ||
  isCut(file, place) ||
  (file.size === place.size && file.modifiedMs !== place.modifiedMs);

const NEWLINE = 0x0a;
const blockBytes = 64 * 1024;

/**
 * Returns how many bytes of a file are whole lines: up to its last line feed, or all of them if an object ends it. Cost: the
 * length of its last line.
 */
function wholeLines({ path, size }: FolderFile): number {
  return reading(path, 0, (file) => {
    let tail = Buffer.alloc(0);
    for (let at = size; at > 0;) {
      // twice as much each time: a long last line is read and joined a few times only
      const from = Math.max(0, at - Math.max(blockBytes, tail.length));
      tail = Buffer.concat([bytesOf(file, from, at), tail]);
      at = from;
      const newline = tail.lastIndexOf(NEWLINE);
      if (newline !== -1) return isWhole(tail.subarray(newline + 1)) ? size : at + newline + 1;
      if (tail.length > limits.importBytes) return 0;
    }
    return isWhole(tail) ? size : 0;
  });
}

/** The beginning of an object is never JSON, so a text that is JSON has been written to its end. */
function isWhole(bytes: Buffer): boolean {
  const text = bytes.toString('utf8').trim();
  if (!text.startsWith('{')) return text === '';
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const headOf = (path: string, bytes: number): { headHash: string; headBytes: number } => {
  const headBytes = Math.min(bytes, limits.watchHeadBytes);
  return { headHash: hashOfHead(path, headBytes), headBytes };
};

const isSameHead = (path: string, { headHash, headBytes }: Place): boolean =>
  hashOfHead(path, headBytes) === headHash;

const hashOfHead = (path: string, bytes: number): string =>
  reading(path, '', (file) =>
    createHash('sha256')
      .update(bytesOf(file, 0, bytes))
      .digest('hex'),
  );

/** Returns `otherwise` for a file that cannot be read: it may have gone since. */
function reading<Result>(path: string, otherwise: Result, read: (file: number) => Result): Result {
  let file: number;
  try {
    file = openFound(path);
  } catch {
    return otherwise;
  }
  try {
    return read(file);
  } catch {
    return otherwise;
  } finally {
    closeSync(file);
  }
}

function bytesOf(file: number, from: number, to: number): Buffer {
  const buffer = Buffer.alloc(to - from);
  const read = readSync(file, buffer, 0, buffer.length, from);
  return buffer.subarray(0, read);
}
