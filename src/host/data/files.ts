/**
 * Small private files, written so that a crash leaves the old content or the new, never half.
 * Proven by `test/host/data/files.test.ts`.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { GovError } from '../../contract/problems.ts';

/** Creates a file of mode 0600 and makes it durable; fails where one exists. */
export function writePrivate(path: string, content: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    const bytes = Buffer.from(content);
    // a disk that is getting full takes a part
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces a file by way of a rename. A crash leaves a draft beside it, which goes with the next replacement. */
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
 * Removes what ended processes left of files that they replaced in a folder, of all or of one: it may hold secrets. A draft
 * is named after the process that writes it, and stays where that lives. The ids of another container say nothing here: a
 * process there whose draft goes fails at its rename, and the file is as it was.
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
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Makes a directory of mode 0700, whole or not at all: it is filled beside its place and renamed at the end, so a
 * crash leaves no half of it. CONFLICT where the place holds something already, or is no directory.
 */
export async function makeDirectory(path: string, fill: (draft: string) => Promise<void>): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory()) {
    throw new GovError('CONFLICT', `expected ${path} to be absent or an empty directory, got something else`);
  }
  if (found !== undefined && readdirSync(path).length > 0) {
    throw new GovError(
      'CONFLICT',
      `expected ${path} to be absent or empty, but it holds files of something else`,
    );
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(`${path}.init-`); // mode 0700
  try {
    await fill(draft);
    syncDirectory(draft);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL']);

/** The disk, or what this user may have of it, was full; also where it is the cause of the error. */
function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && fullCodes.has(String(error.code))) || isFull(error.cause);
}

/** Runs what writes `what` at `path` and removes it where it fails; STORAGE_FULL where there is no space for it. */
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
      'free space there, or give a place on another disk';
    throw new GovError('STORAGE_FULL', detail, { cause });
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
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
