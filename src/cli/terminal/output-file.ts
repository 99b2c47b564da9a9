/**
 * Writes to the place that `-O` and similar flags name. A file is replaced as a whole: after a crash it is the old one or
 * the new one. A symbolic link to a file is itself replaced. A pipe, a device or standard output by its name is written
 * to, and never replaced. Tested by `test/cli/terminal/output-file.test.ts`.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { writeAll } from '../../files/durable.ts';
import { pause } from '../../client/retry.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { codeOf, whyUnwritable } from '../../files/write-fault.ts';
import type { Io } from './io.ts';
import type { Out } from './out.ts';

interface Call {
  readonly io: Io;
  readonly out: Out;
  readonly signal: AbortSignal;
}

/** Bytes to write: in memory, or piece by piece. */
type Content = Uint8Array | AsyncIterable<Uint8Array>;

/** An open destination. */
export interface Output {
  /**
   * Writes a file as a whole: it appears with its last byte, and is durable once this resolves. Writes a stream piece by
   * piece. Errors: exit 1 with the reason, and those of the content.
   */
  write(content: Content): Promise<void>;
  /** Ends it. A file without a write keeps its old content. */
  close(): void;
}

/** Pause between two attempts to open a pipe without a reader, or to write to a full one. */
const retryMs = 20;
const pieceBytes = 64 * 1024;

/** Returns whether the word is `-`, or a name of standard output such as `/dev/stdout`. */
export const isStdout = (word: string, { io }: Pick<Call, 'io'>): boolean =>
  word === '-' || descriptorAt(resolve(io.cwd, word)) === 1;

/** Returns whether the word names a stream: bytes that are neither replaced, continued nor read again. */
export const isStream = (word: string, { io }: Pick<Call, 'io'>): boolean =>
  word === '-' || isStreamAt(resolve(io.cwd, word));

/** The same for a path. */
export const isStreamAt = (path: string): boolean => streamAt(path) !== null;

/**
 * Opens the destination before there are bytes, so that no response is lost to an unwritable place. Waits for the reader
 * of a pipe. Errors: exit 2 for a place that accepts no bytes, such as a directory; exit 1 with the reason.
 */
export async function openOutput(word: string, call: Call, mode = 0o644): Promise<Output> {
  if (isStdout(word, call)) {
    const write = async (content: Content): Promise<void> => {
      for await (const piece of piecesOf(content)) await call.out.raw(piece);
    };
    return { write, close: () => {} };
  }
  const path = resolve(call.io.cwd, word);
  const stream = streamAt(path);
  try {
    return stream === null ? wholeFile(path, mode) : await openStream(path, stream, call.signal);
  } catch (cause) {
    throw call.signal.aborted ? cause : unwritable(path, cause);
  }
}

/**
 * For bytes that a terminal must not get: a binary file, or a document whose hidden characters stay as they are. Errors:
 * exit 2 where the word names standard output, and that is a terminal.
 */
export function refuseTerminal(word: string, call: Pick<Call, 'io' | 'out'>): void {
  if (isStdout(word, call) && call.out.settings.tty)
    throw usage(`-O ${word}: expected a pipe or a file on standard output, got a terminal`, 'give -O FILE');
}

/** Opens, writes everything and closes. Errors: those of `openOutput`. */
export async function writeOutput(word: string, content: Content, call: Call, mode = 0o644): Promise<void> {
  const output = await openOutput(word, call, mode);
  try {
    await output.write(content);
  } finally {
    output.close();
  }
}

/** Writes a file of the tool itself. Errors: exit 1 with the reason. */
export function writeWhole(path: string, bytes: Uint8Array, mode = 0o644): void {
  try {
    const file = partOf(path, mode);
    try {
      file.add(bytes);
      file.place();
    } finally {
      file.close();
    }
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

async function* piecesOf(content: Content): AsyncGenerator<Uint8Array, void, undefined> {
  if (content instanceof Uint8Array) yield content;
  else yield* content;
}

/** Errors: exit 2 if the output would replace a file without `--force`. Call it before the request. */
export function refuseExisting(
  word: string,
  { force }: { readonly force: boolean },
  call: Pick<Call, 'io'>,
): void {
  if (force || isStream(word, call)) return;
  const found = statOf(resolve(call.io.cwd, word), lstatSync);
  if (found === undefined || found.isDirectory()) return;
  throw usage(`${word} exists already`, 'give another name, or --force');
}

/** Errors: exit 2 if the output would replace one of the inputs. */
export function refuseSame(
  [flag, written]: readonly [flag: string, word: string],
  read: readonly string[],
  call: Pick<Call, 'io'>,
): void {
  if (isStream(written, call)) return;
  const path = resolve(call.io.cwd, written);
  for (const word of read) {
    if (word === '-' || !isSame(path, resolve(call.io.cwd, word))) continue;
    throw usage(`${flag}: expected another file than ${word}, which it would replace`, 'give another name');
  }
}

function isSame(path: string, other: string): boolean {
  if (path === other) return true;
  const [one, two] = [path, other].map((each) => statOf(each, statSync));
  return one !== undefined && two !== undefined && one.ino === two.ino && one.dev === two.dev;
}

/** Writes beside the target, then syncs and renames. */
function partOf(path: string, mode: number) {
  const part = `${path}.part`;
  // a file of an earlier process has that process's mode
  rmSync(part, { force: true });
  const file = openSync(part, 'wx', mode);
  let isPlaced = false;
  return {
    add: (bytes: Uint8Array): void => writeAll(file, bytes),
    place: (): void => {
      fsyncSync(file);
      renameSync(part, path);
      isPlaced = true;
    },
    close: (): void => {
      closeSync(file);
      if (!isPlaced) rmSync(part, { force: true });
    },
  };
}

function wholeFile(path: string, mode: number): Output {
  const file = partOf(path, mode);
  const written = (work: () => void): void => {
    try {
      work();
    } catch (cause) {
      throw unwritable(path, cause);
    }
  };
  return {
    close: file.close,
    write: async (content) => {
      for await (const piece of piecesOf(content)) written(() => file.add(piece));
      written(file.place);
    },
  };
}

/** The process's own descriptor, or null if the path must be opened. */
interface Stream {
  readonly descriptor: number | null;
}

/** Returns null for a file or a missing path. Errors: exit 2 for a place that is neither a file nor a stream. */
function streamAt(path: string): Stream | null {
  const link = statOf(path, lstatSync);
  if (link === undefined || link.isFile()) return null;
  const descriptor = descriptorAt(path);
  const found = link.isSymbolicLink() ? statOf(path, statSync) : link;
  if (found?.isFIFO() === true || found?.isCharacterDevice() === true) return { descriptor: null };
  // opening the path again would truncate a file, and cannot open a socket
  if (descriptor !== null && found?.isDirectory() !== true) return { descriptor };
  if (found === undefined || found.isFile()) return null;
  throw usage(
    `${path}: expected a file, a pipe or a device such as /dev/null, got ${kindOf(found)}`,
    'give the name of a file',
  );
}

/** Returns undefined for a missing path, and for one that this user may not see: opening it will report that. */
function statOf(path: string, look: typeof lstatSync): Stats | undefined {
  try {
    return look(path);
  } catch {
    return undefined;
  }
}

const kindOf = (found: Stats): string =>
  found.isDirectory() ? 'a directory' : found.isSocket() ? 'a socket' : 'a disk';

/** Returns the descriptor of this process that a path names, such as 1 for `/dev/stdout`; null for other paths. */
function descriptorAt(path: string): number | null {
  const folders = new Set([`/proc/${process.pid}/fd`, '/dev/fd']);
  const steps = 8;
  try {
    for (let at = path, step = 0; step < steps; step++) {
      const name = basename(at);
      if (/^[0-9]+$/.test(name) && folders.has(realpathSync(dirname(at)))) return Number(name);
      at = resolve(dirname(at), readlinkSync(at));
    }
  } catch {
    // not a link, or no such folder
  }
  return null;
}

async function openStream(path: string, { descriptor }: Stream, signal: AbortSignal): Promise<Output> {
  const file = descriptor ?? (await openWaiting(path, signal));
  return {
    close: () => (descriptor === null ? closeSync(file) : undefined),
    write: async (content) => {
      for await (const piece of piecesOf(content)) {
        try {
          await writePiece(file, piece, signal);
        } catch (cause) {
          throw signal.aborted ? cause : unwritable(path, cause);
        }
      }
    },
  };
}

async function writePiece(file: number, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const length = Math.min(pieceBytes, bytes.length - at);
    at += await unlessBusy('EAGAIN', signal, () => writeSync(file, bytes, at, length));
  }
}

/** Opens without waiting inside the system, where no signal would end it. */
async function openWaiting(path: string, signal: AbortSignal): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const file = await unlessBusy('ENXIO', signal, () => openSync(path, flags));
  const found = fstatSync(file);
  if (found.isFIFO() || found.isCharacterDevice()) return file;
  closeSync(file);
  throw new Error(`expected the pipe or device at ${path}, got another file`);
}

/** Retries as long as the call fails with this code. */
async function unlessBusy(code: string, signal: AbortSignal, work: () => number): Promise<number> {
  for (;;) {
    try {
      return work();
    } catch (cause) {
      if (codeOf(cause) !== code) throw cause;
      await pause(retryMs, signal);
    }
  }
}

const unwritable = (path: string, cause: unknown): CliError =>
  new CliError(exit.error, `cannot write ${path}: ${whyUnwritable(cause)}`, { code: 'WRITE_FAILED', cause });
