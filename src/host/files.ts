/** Small private files, written so that a crash leaves the old content or the new, never half. */
import {
  closeSync,
  existsSync,
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
import { dirname } from 'node:path';
import { GovError } from '../contract/problems.ts';

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

/** Replaces a file by way of a rename. */
export function replacePrivate(path: string, content: string): void {
  const fresh = `${path}.${process.pid}.tmp`;
  // of an attempt that failed
  rmSync(fresh, { force: true });
  writePrivate(fresh, content);
  renameSync(fresh, path);
  syncDirectory(dirname(path));
}

/**
 * Makes a directory of mode 0700, whole or not at all: it is filled beside its place and renamed at the end, so a
 * crash leaves no half of it. CONFLICT where the place holds something already.
 */
export async function makeDirectory(path: string, fill: (draft: string) => Promise<void>): Promise<void> {
  if (existsSync(path) && readdirSync(path).length > 0) {
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

/** Makes the content of a file durable. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
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
