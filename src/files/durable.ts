/**
 * Bytes and names that a power cut does not take. Tested by `test/files/durable.test.ts`.
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** Writes all bytes after those that the open file got before: a nearly full disk may take only a part at once. */
export function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}

/** Makes created, replaced and removed names of a folder durable. Throws the error of the system. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
