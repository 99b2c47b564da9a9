/**
 * Writes of small private files and of new directories. A replacement is atomic: a crash leaves the old content
 * or the new. Proven by `test/host/files/private.test.ts`.
 */
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../../files/write-fault.ts';
import { syncDirectory, writeAll } from '../../files/durable.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { GovError } from '../../contract/problems.ts';

/** Creates a durable file of mode 0600. Throws where one exists. A crash may leave a part of the file. */
export function writePrivate(path: string, content: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeAll(file, Buffer.from(content));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces a file by a rename. A crash leaves a draft beside it, which the next replacement removes. */
export function replacePrivate(path: string, content: string): void {
  removeDrafts(dirname(path), basename(path));
  const draft = `${path}.${process.pid}.tmp`;
  try {
    writePrivate(draft, content);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/**
 * Removes drafts of ended processes in a folder, of one file or of all: a draft may contain secrets. A draft is
 * named after the process that writes it, and stays while that process lives. Process ids of another container
 * are unknown here. If its draft is removed, the rename of that process fails, and the file keeps its old
 * content.
 */
export function removeDrafts(folder: string, file?: string): void {
  for (const name of readdirSync(folder)) {
    const [, of, pid] = /^(.+)\.([0-9]{1,10})\.tmp$/.exec(name) ?? [];
    if (of === undefined || (file !== undefined && of !== file) || isOther(Number(pid))) continue;
    rmSync(join(folder, name), { force: true });
  }
}

/** Whether another process has this id now. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * Creates a directory of mode 0700 atomically: fills a draft in the same folder and renames the draft at the end. A
 * crash leaves a draft and no part of the directory. CONFLICT where the path is a file or a directory that is
 * not empty.
 */
export async function makeDirectory(path: string, fill: (draft: string) => Promise<void>): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory()) {
    throw new GovError('CONFLICT', `expected ${path} to be absent or an empty directory, got something else`);
  }
  if (found !== undefined && readdirSync(path).length > 0) {
    throw new GovError(
      'CONFLICT',
      `expected ${path} to be absent or empty, but it contains other files; choose another folder`,
    );
  }
  makeFolder(dirname(path), 0o700);
  const draft = mkdtempSync(`${path}.init-`); // mode 0700
  try {
    await fill(draft);
    // a directory inside a repository must not be committed: it holds keys and records
    writePrivate(join(draft, '.gitignore'), '*\n');
    syncDirectory(draft);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL', 'STORAGE_FULL']);

/** Whether the disk or the quota of this user was full, also as the cause of another error. */
function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && fullCodes.has(String(error.code))) || isFull(error.cause);
}

/**
 * Runs a write of `what` at `path`, and reports STORAGE_FULL where the disk is full. The write removes its own
 * parts.
 */
export async function fitting<Result>(
  { what, path }: { readonly what: string; readonly path: string },
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (cause) {
    if (!isFull(cause)) throw cause;
    const detail =
      `expected space for ${what} at ${path}, but that disk is full; nothing of it is left: ` +
      'free space there, or choose another disk';
    throw new GovError('STORAGE_FULL', detail, { cause });
  }
}

/** FORBIDDEN where others than the owner may read a secret. */
export function refuseReadableByOthers(path: string): void {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  throw new GovError(
    'FORBIDDEN',
    `expected ${path} to be readable by its owner only, got mode ${mode.toString(8)}; run chmod 600 on it`,
  );
}
