/** Small private files, written so that a crash leaves the old content or the new, never half. */
import { closeSync, fsyncSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { GovError } from '../contract/problems.ts';

/** Creates a file of mode 0600 and makes it durable; fails where one exists. */
export function writePrivate(path: string, content: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces a file by way of a rename. */
export function replacePrivate(path: string, content: string): void {
  const fresh = `${path}.${process.pid}.tmp`;
  writePrivate(fresh, content);
  renameSync(fresh, path);
  syncDirectory(dirname(path));
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
