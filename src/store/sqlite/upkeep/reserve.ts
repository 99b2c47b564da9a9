/**
 * Space kept for the day the disk is full: a file of zeros that is let go when a write finds no space, so
 * that reads, checks, downloads and an orderly stop have room. Writing goes on once the file fits again.
 * Proven by `test/store/sqlite/full.test.ts`.
 */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const pieceBytes = 1024 * 1024;

export interface Reserve {
  /** True once the file has its full size on the disk. Cost the first time: as long as writing it takes. */
  fill(): boolean;
  /**
   * As `fill`, but only where half as much again stays free, so that the next commits fit as well: a disk that
   * has just room for the file would be full again at once. Cost while there is no room: a `statfs`.
   */
  refill(): boolean;
  release(): void;
}

export function openReserve(path: string, bytes: number): Reserve {
  const release = (): void => rmSync(path, { force: true });
  const kept = (): boolean => bytes === 0 || statSync(path, { throwIfNoEntry: false })?.size === bytes;
  const fill = (): boolean => {
    if (kept()) return true;
    try {
      write(path, bytes);
      return true;
    } catch (error) {
      release();
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
      throw error;
    }
  };
  const refill = (): boolean => kept() || (freeBytes(dirname(path)) >= bytes * 1.5 && fill());
  return { release, fill, refill };
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
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
