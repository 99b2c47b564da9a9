/**
 * The file of a download. Bytes go to FILE.part, which a later download continues; FILE appears whole or not at all, and
 * never in place of another one without `force`. Links are not followed. Nobody but the user can read it.
 * `test/cli/exportdownload.test.ts` proves it.
 */
import { constants, lstatSync } from 'node:fs';
import { link, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DownloadSink } from '../../client/download.ts';
import { CliError, exit, usage } from '../exit.ts';
import { takeLock } from '../lock.ts';

const pieceBytes = 64 * 1024;

/** Refuses, before anything is asked for, what could not be written in the end: exit 2. */
export function requireFree(path: string, { force }: { readonly force: boolean }): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isSymbolicLink())
    throw usage(`${path}: expected a file, got a symbolic link`, 'give where it leads to');
  if (!found.isFile()) throw usage(`${path}: expected a file, got something else`, 'give the name of a file');
  if (!force) throw usage(`${path} is there already`, 'give another name with -O, or --force');
}

export class PartFile implements DownloadSink {
  readonly path: string;
  readonly #target: string;
  readonly #force: boolean;
  readonly #file: FileHandle;
  readonly #release: () => void;
  held: number;
  #at: number;

  private constructor(
    at: {
      readonly target: string;
      readonly path: string;
      readonly force: boolean;
      readonly file: FileHandle;
      readonly held: number;
    },
    release: () => void,
  ) {
    this.#target = at.target;
    this.path = at.path;
    this.#force = at.force;
    this.#file = at.file;
    this.#release = release;
    this.held = at.held;
    this.#at = at.held;
  }

  /** Opens FILE.part, or makes it. Errors: exit 2 for a link, exit 6 where another process is at it, exit 1. */
  static async open(
    target: string,
    { force, path = `${target}.part` }: { readonly force: boolean; readonly path?: string },
  ): Promise<PartFile> {
    requireFree(target, { force });
    const release = locked(path);
    try {
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const file = await open(path, flags, 0o600);
      const { size } = await file.stat().then(async (found) => {
        if (found.isFile()) return found;
        await file.close();
        throw usage(`${path}: expected a file, got something else`);
      });
      return new PartFile({ target, path, force, file, held: size }, release);
    } catch (cause) {
      release();
      if (cause instanceof CliError) throw cause;
      if (codeOf(cause) === 'ELOOP')
        throw usage(`${path}: expected a file, got a symbolic link`, 'remove it');
      throw unwritable(path, cause);
    }
  }

  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    const piece = Buffer.allocUnsafe(pieceBytes);
    for (let at = 0; at < this.#at;) {
      const { bytesRead } = await this.#file.read(piece, 0, piece.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  }

  async write(chunk: Uint8Array): Promise<void> {
    try {
      for (let done = 0; done < chunk.length;) {
        const { bytesWritten } = await this.#file.write(chunk, done, chunk.length - done, this.#at);
        done += bytesWritten;
        this.#at += bytesWritten;
      }
    } catch (cause) {
      throw unwritable(this.path, cause);
    }
  }

  async restart(): Promise<void> {
    this.held = 0;
    this.#at = 0;
    await this.#file.truncate(0);
  }

  /** Durable under its own name once this resolves. Errors: exit 2 where another file took the name meanwhile. */
  async finish(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#place();
      const folder = await open(dirname(this.#target), 'r');
      await folder.sync().finally(() => folder.close());
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST')
        throw usage(`${this.#target} is there by now`, `what was downloaded is ${this.path}`);
      throw unwritable(this.#target, cause);
    }
  }

  async #place(): Promise<void> {
    if (this.#force) return rename(this.path, this.#target);
    try {
      await link(this.path, this.#target);
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') throw cause;
      // a file system without links
      requireFree(this.#target, { force: false });
      return rename(this.path, this.#target);
    }
    await rm(this.path);
  }

  /** Away with it, once its bytes are elsewhere. */
  async remove(): Promise<void> {
    await rm(this.path);
  }

  async close(): Promise<void> {
    await this.#file.close();
    this.#release();
  }
}

function locked(path: string): () => void {
  try {
    return takeLock(
      `${path}.lock`,
      (why) => new CliError(exit.conflict, `${path} is being written: ${why}`, { code: 'BUSY' }),
    );
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw unwritable(path, cause);
  }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : '';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is spent',
  EFBIG: 'the file would be too large for this system or user',
  ENOENT: 'there is no such folder',
  EACCES: 'this user may not write there',
  EROFS: 'the file system is read-only',
};

function unwritable(path: string, cause: unknown): CliError {
  const code = codeOf(cause);
  const reason = reasons[code] ?? (cause instanceof Error ? cause.message : String(cause));
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new CliError(exit.error, `cannot write ${path}: ${reason}`, {
    code: 'WRITE_FAILED',
    cause,
    ...(isFull ? { hint: 'make room and run it again: it goes on where it ended' } : {}),
  });
}
