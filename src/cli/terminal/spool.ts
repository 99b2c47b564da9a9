/**
 * Bytes that are read more than once: a file, or a copy of bytes from a pipe on the disk.
 * Tested by `test/cli/commands/proofs/large.long.test.ts`.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writeAll } from '../../files/durable.ts';
import type { Io } from './io.ts';
import { whyUnwritable } from '../../files/write-fault.ts';
import { CliError, exit } from '../program/exit.ts';
import { fileChunks } from '../program/file-chunks.ts';
import { unreadable } from '../program/flags.ts';

const pieceBytes = 64 * 1024;

export interface RepeatableSource {
  /** Reads from the beginning. Errors: exit 2 with the reason. */
  readonly read: () => AsyncIterable<Uint8Array>;
  readonly close: () => void;
}

/** Whether the word names a regular file, which can be opened again. */
export const isFile = (word: string, { cwd }: Pick<Io, 'cwd'>): boolean =>
  word !== '-' && statSync(resolve(cwd, word), { throwIfNoEntry: false })?.isFile() === true;

export function fileReread(path: string, signal: AbortSignal): RepeatableSource {
  const read = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* fileChunks(path, signal);
    } catch (cause) {
      throw signal.aborted ? cause : unreadable(path, cause);
    }
  };
  return { read, close: () => {} };
}

/** Bytes in memory. */
export const bytesReread = (bytes: Uint8Array): RepeatableSource => ({
  read: async function* () {
    yield bytes;
  },
  close: () => {},
});

/**
 * Copies bytes to a temporary file, at most one more than `most`, so that a reader notices that there are too many. The
 * file has no name any more once it is open, so nothing is left of it, however this process ends.
 */
export async function spool(chunks: AsyncIterable<Uint8Array>, most: number): Promise<RepeatableSource> {
  const file = openNameless();
  const close = (): void => closeSync(file);
  let size = 0;
  try {
    for await (const chunk of chunks) {
      const taken = chunk.subarray(0, most + 1 - size);
      write(file, taken);
      size += taken.length;
      if (size > most) break;
    }
  } catch (error) {
    close();
    throw error;
  }
  const read = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < size;) {
      const piece = Buffer.allocUnsafe(pieceBytes);
      const length = readSync(file, piece, 0, pieceBytes, at);
      if (length === 0) return;
      at += length;
      yield piece.subarray(0, length);
    }
  };
  return { read, close };
}

function openNameless(): number {
  const path = join(tmpdir(), `gov-${randomUUID()}`);
  try {
    const file = openSync(path, 'wx+', 0o600);
    rmSync(path);
    return file;
  } catch (cause) {
    throw unwritable(cause);
  }
}

function write(file: number, bytes: Uint8Array): void {
  try {
    writeAll(file, bytes);
  } catch (cause) {
    throw unwritable(cause);
  }
}

const unwritable = (cause: unknown): CliError =>
  new CliError(exit.error, `cannot copy standard input to ${tmpdir()}: ${whyUnwritable(cause)}`, {
    code: 'WRITE_FAILED',
    cause,
    hint: 'give the bundle as a file, or set TMPDIR to a folder with room',
  });
