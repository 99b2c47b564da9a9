/**
 * Space reserved for a full disk: a file of zeros that the store deletes when a write finds no space. Reads,
 * checks, downloads and an orderly stop then have room. Writing continues once the file fits again. A crash
 * while it is written leaves a shorter file, which the next `fill` replaces.
 * Proven by `test/store/sqlite/full.test.ts`.
 */
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../../files/write-fault.ts';
import { limits } from '../../../contract/limits.ts';
import { diskBytes, freeBytes } from '../../file/faults.ts';

const pieceBytes = 1024 * 1024;

export interface Reserve {
  /** True once the file has its full size on the disk. Cost of the first call: writing the file. */
  fill(): boolean;
  /**
   * Like `fill`, but needs 1.5 times the size free, so that the next commits fit too: a disk with room for
   * just the file would be full again at once. Cost without room: one `statfs`.
   */
  refill(): boolean;
  release(): void;
  isThere(): boolean;
}

/** Bytes of the disk of a folder, and those that are free. */
interface Disk {
  readonly size: (folder: string) => number;
  readonly free: (folder: string) => number;
}

/** `most`: its bytes; less on a disk that is smaller than so many times as large, which it would fill. */
export function openReserve(
  path: string,
  most: number,
  disk: Disk = { size: diskBytes, free: freeBytes },
): Reserve {
  const bytesOf = (): number =>
    Math.min(most, Math.floor(disk.size(dirname(path)) / limits.diskReserveShare));
  const release = (): void => rmSync(path, { force: true });
  const kept = (bytes: number): boolean =>
    bytes === 0 || statSync(path, { throwIfNoEntry: false })?.size === bytes;
  const fill = (): boolean => {
    const bytes = bytesOf();
    if (kept(bytes)) return true;
    try {
      write(path, bytes);
      return true;
    } catch (error) {
      release();
      if (codeOf(error) === 'ENOSPC') return false;
      throw error;
    }
  };
  const refill = (): boolean => {
    const bytes = bytesOf();
    return kept(bytes) || (disk.free(dirname(path)) >= bytes * 1.5 && fill());
  };
  const isThere = (): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
  return { release, fill, refill, isThere };
}

function write(path: string, bytes: number): void {
  const file = openSync(path, 'w', 0o600);
  try {
    const zeros = Buffer.alloc(Math.min(pieceBytes, bytes));
    for (let at = 0; at < bytes;) at += writeSync(file, zeros, 0, Math.min(zeros.length, bytes - at), at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
