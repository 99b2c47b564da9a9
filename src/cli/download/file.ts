/**
 * The file of a download. Bytes go to FILE.EXPORT.part, which a later download of the same export continues. FILE appears
 * whole or not at all, and replaces another file only with `force`. The code follows no links and continues no file that
 * other users could write. Only the user can read it. Tested by `test/cli/download/deliver.test.ts`.
 */
import { constants, lstatSync, readdirSync, statSync } from 'node:fs';
import { link, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { DownloadSink } from '../../client/download.ts';
import { idPattern } from '../../contract/text-patterns.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { takeLock } from '../../client/sending/lock.ts';
import { codeOf, whyUnwritable } from '../../files/write-fault.ts';

const pieceBytes = 64 * 1024;

/** Rejects an unwritable target before any request. Errors: exit 2. */
export function requireFree(path: string, { force }: { readonly force: boolean }): void {
  if (path === '') throw usage('-O: expected the name of a file, got an empty text');
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true)
    throw usage(
      `${path}: expected the folder ${dirname(path)}, found none`,
      'make it, or give another name with -O',
    );
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isSymbolicLink())
    throw usage(`${path}: expected a file, got a symbolic link`, 'give the target of the link');
  if (!found.isFile()) throw usage(`${path}: expected a file, got something else`, 'give the name of a file');
  if (!force) throw usage(`${path} exists already`, 'give another name with -O, or --force');
}

/** Returns the path for the bytes of an export. */
export const partOf = (target: string, exportId: string): string => `${target}.${exportId}.part`;

/** Returns the ids of exports with a partial file. */
export function begunExports(target: string): string[] {
  const start = `${basename(target)}.`;
  return readdirSync(dirname(target)).flatMap((name) => {
    const exportId = name.startsWith(start) && name.endsWith('.part') ? name.slice(start.length, -5) : '';
    return isExportId(exportId) ? [exportId] : [];
  });
}

const exportIdPattern = new RegExp(idPattern('exp'));
/** Returns whether a text is an export id, which is safe in the name of a file. */
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
   * Opens the partial file at `path`, or creates it. Errors: exit 2 for anything but a file of this user alone, exit 6 if
   * another process uses it, exit 1 with the reason.
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

  /** The file is durable under its own name once this resolves. Errors: exit 2 if another file took the name. */
  async finish(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#place();
      const folder = await open(dirname(this.#target), 'r');
      await folder.sync().finally(() => folder.close());
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST')
        throw usage(`${this.#target} exists by now`, `the download is in ${this.path}`);
      throw unwritable(this.#target, cause);
    }
  }

  async #place(): Promise<void> {
    if (this.#force) return rename(this.path, this.#target);
    try {
      await link(this.path, this.#target);
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') throw cause;
      // this file system has no links
      requireFree(this.#target, { force: false });
      return rename(this.path, this.#target);
    }
    await rm(this.path);
  }

  /** Removes the file after its bytes are elsewhere. */
  async remove(): Promise<void> {
    await rm(this.path);
  }

  async close(): Promise<void> {
    await this.#file.close();
    this.#release();
  }
}

/** Opens a new file, or the one of an earlier download if other users could not have changed it. */
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
    `${path}: expected a file with one name that only this user can read and write, got another`,
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
    ...(isFull ? { hint: 'make room and run the command again: it continues where it stopped' } : {}),
  });
}
