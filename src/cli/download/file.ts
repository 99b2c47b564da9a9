/**
 * The file of a download. Bytes go to FILE.EXPORT.part, which a later download of the same export continues; FILE appears
 * whole or not at all, and never in place of another one without `force`. Links are not followed, and what others could
 * write is not continued. Nobody but the user can read it. `test/cli/download/deliver.test.ts` proves it.
 */
import { constants, lstatSync, readdirSync, statSync } from 'node:fs';
import { link, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { DownloadSink } from '../../client/download.ts';
import { idPattern } from '../../contract/text-patterns.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { takeLock } from '../context/lock.ts';
import { codeOf, whyUnwritable } from '../terminal/write-fault.ts';

const pieceBytes = 64 * 1024;

/** Refuses, before anything is asked for, what could not be written in the end: exit 2. */
export function requireFree(path: string, { force }: { readonly force: boolean }): void {
  if (path === '') throw usage('-O: expected the name of a file, got an empty text');
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true)
    throw usage(
      `${path}: expected a folder ${dirname(path)}, got none`,
      'make it, or give another name with -O',
    );
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isSymbolicLink())
    throw usage(`${path}: expected a file, got a symbolic link`, 'give where it leads to');
  if (!found.isFile()) throw usage(`${path}: expected a file, got something else`, 'give the name of a file');
  if (!force) throw usage(`${path} is there already`, 'give another name with -O, or --force');
}

/** Where the bytes of an export are gathered. */
export const partOf = (target: string, exportId: string): string => `${target}.${exportId}.part`;

/** The exports of which parts of the file are there. */
export function begunExports(target: string): string[] {
  const start = `${basename(target)}.`;
  return readdirSync(dirname(target)).flatMap((name) => {
    const exportId = name.startsWith(start) && name.endsWith('.part') ? name.slice(start.length, -5) : '';
    return isExportId(exportId) ? [exportId] : [];
  });
}

const exportIdPattern = new RegExp(idPattern('exp'));
/** Whether it may stand in the name of a file. */
export const isExportId = (text: string): boolean => exportIdPattern.test(text);

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

  /**
   * Opens the part at `path`, or makes it. Errors: exit 2 for what is no file of this user alone, exit 6 where another
   * process is at it, exit 1.
   */
  static async open(
    target: string,
    { force, path }: { readonly force: boolean; readonly path: string },
  ): Promise<PartFile> {
    requireFree(target, { force });
    const release = locked(path);
    try {
      const { file, size } = await openOwn(path);
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

/** Made anew, or what a download before made: others could have put something there, or could still write to it. */
async function openOwn(path: string): Promise<{ readonly file: FileHandle; readonly size: number }> {
  const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return { file: await open(path, flags | constants.O_CREAT | constants.O_EXCL, 0o600), size: 0 };
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST') throw cause;
  }
  const file = await open(path, flags);
  const found = await file.stat();
  const isOwn =
    found.isFile() && found.nlink === 1 && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0;
  if (isOwn) return { file, size: found.size };
  await file.close();
  throw usage(
    `${path}: expected a file of one name that this user alone can read and write, got another`,
    'remove it, or give another name with -O',
  );
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

function unwritable(path: string, cause: unknown): CliError {
  const code = codeOf(cause);
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new CliError(exit.error, `cannot write ${path}: ${whyUnwritable(cause)}`, {
    code: 'WRITE_FAILED',
    cause,
    ...(isFull ? { hint: 'make room and run it again: it goes on where it ended' } : {}),
  });
}
