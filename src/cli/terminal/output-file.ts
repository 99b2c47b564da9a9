/**
 * Writing where the user says with `-O` and its like, the same for every command. A file is replaced as a whole: a crash
 * leaves the old one or the new one, never half of one; a symbolic link to a file is replaced itself. What is no file (a
 * pipe, a device, standard output by its name) is written to, and never replaced.
 * `test/cli/terminal/output-file.test.ts` proves it.
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
import { pause } from '../../client/retry.ts';
import type { Invocation } from '../program/command.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { codeOf, whyUnwritable } from './write-fault.ts';

type Call = Pick<Invocation, 'io' | 'out' | 'signal'>;

/** Where bytes go, once they are there. */
export interface Output {
  /** Of a file all at once, and durable once it resolves; of anything else piece by piece. Errors: exit 1 with the reason. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends it; a file that was not written stays as it was. */
  close(): void;
}

/** A pipe is asked again so often whether somebody reads it, or has room. */
const retryMs = 20;
const pieceBytes = 64 * 1024;

/** Whether it is `-`, or a name of standard output such as `/dev/stdout`. */
export const isStdout = (word: string, { io }: Pick<Call, 'io'>): boolean =>
  word === '-' || descriptorAt(resolve(io.cwd, word)) === 1;

/** Whether it is written to as it comes: nothing of it is replaced, continued or read again. */
export const isStream = (word: string, { io }: Pick<Call, 'io'>): boolean =>
  word === '-' || isStreamAt(resolve(io.cwd, word));

/** The same of a path. */
export const isStreamAt = (path: string): boolean => streamAt(path) !== null;

/**
 * Opens it before there is anything to write, so that no answer is lost to a place that takes none. Waits for the reader
 * of a pipe. Errors: exit 2 for what takes no bytes, such as a directory; exit 1 with the reason.
 */
export async function openOutput(word: string, call: Call, mode = 0o644): Promise<Output> {
  if (isStdout(word, call)) return { write: (bytes) => call.out.raw(bytes), close: () => {} };
  const path = resolve(call.io.cwd, word);
  const stream = streamAt(path);
  try {
    return stream === null ? wholeFile(path, mode) : await openStream(path, stream, call.signal);
  } catch (cause) {
    throw call.signal.aborted ? cause : unwritable(path, cause);
  }
}

/** Writes all of it. Errors: as above. */
export async function writeOutput(word: string, bytes: Uint8Array, call: Call, mode = 0o644): Promise<void> {
  const output = await openOutput(word, call, mode);
  try {
    await output.write(bytes);
  } finally {
    output.close();
  }
}

/** Writes a file of the tool's own. Errors: exit 1 with the reason. */
export function writeWhole(path: string, bytes: Uint8Array, mode = 0o644): void {
  try {
    const file = partOf(path, mode);
    try {
      file.write(bytes);
    } finally {
      file.close();
    }
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Refuses, with exit 2, to write over what is read. */
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

/** Beside the target, then synced and renamed. */
function partOf(path: string, mode: number) {
  const part = `${path}.part`;
  // what an earlier process left has the mode of then
  rmSync(part, { force: true });
  const file = openSync(part, 'wx', mode);
  let isPlaced = false;
  return {
    write: (bytes: Uint8Array): void => {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
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
  return {
    close: file.close,
    write: async (bytes) => {
      try {
        file.write(bytes);
      } catch (cause) {
        throw unwritable(path, cause);
      }
    },
  };
}

/** A descriptor that this process was given, or null where the path is to be opened. */
interface Stream {
  readonly descriptor: number | null;
}

/** Null where a file is there, or nothing. Errors: exit 2 for what is neither that nor takes bytes as they come. */
function streamAt(path: string): Stream | null {
  const link = statOf(path, lstatSync);
  if (link === undefined || link.isFile()) return null;
  const descriptor = descriptorAt(path);
  const found = link.isSymbolicLink() ? statOf(path, statSync) : link;
  if (found?.isFIFO() === true || found?.isCharacterDevice() === true) return { descriptor: null };
  // opened anew, a file would lose what stands in it, and a socket cannot be
  if (descriptor !== null && found?.isDirectory() !== true) return { descriptor };
  if (found === undefined || found.isFile()) return null;
  throw usage(
    `${path}: expected a file, a pipe or a device such as /dev/null, got ${kindOf(found)}`,
    'give the name of a file',
  );
}

/** Undefined where nothing is there, or nothing that this user may see, as opening it will say. */
function statOf(path: string, look: typeof lstatSync): Stats | undefined {
  try {
    return look(path);
  } catch {
    return undefined;
  }
}

const kindOf = (found: Stats): string =>
  found.isDirectory() ? 'a directory' : found.isSocket() ? 'a socket' : 'a disk';

/** The descriptor of this process that a path names, such as 1 for `/dev/stdout`; null where it names none. */
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
    // no link, or no folder
  }
  return null;
}

async function openStream(path: string, { descriptor }: Stream, signal: AbortSignal): Promise<Output> {
  const file = descriptor ?? (await openWaiting(path, signal));
  return {
    close: () => (descriptor === null ? closeSync(file) : undefined),
    write: async (bytes) => {
      try {
        for (let at = 0; at < bytes.length;) {
          const length = Math.min(pieceBytes, bytes.length - at);
          at += await unlessBusy('EAGAIN', signal, () => writeSync(file, bytes, at, length));
        }
      } catch (cause) {
        throw signal.aborted ? cause : unwritable(path, cause);
      }
    },
  };
}

/** Opened without waiting in the system, where no signal would end it. */
async function openWaiting(path: string, signal: AbortSignal): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const file = await unlessBusy('ENXIO', signal, () => openSync(path, flags));
  const found = fstatSync(file);
  if (found.isFIFO() || found.isCharacterDevice()) return file;
  closeSync(file);
  throw new Error('something else stands there by now');
}

/** Tries until it is not refused with this code. */
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
