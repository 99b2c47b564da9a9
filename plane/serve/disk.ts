/**
 * How long a plane's disk lasts: what is free, against what its databases grew in the last week, or since its log began.
 * Proven by `test/plane/serve/disk.test.ts`.
 */
import { statfsSync } from 'node:fs';
import { artifactBytes } from '../../src/host/exports/artifact-bytes.ts';
import { growthOf } from '../../src/store/file/growth.ts';

const dayMs = 24 * 3600 * 1000;
const windowMs = 7 * dayMs;
/** A log that is younger says nothing of how it grows. */
const leastMs = 3600 * 1000;
/** From which readiness refuses: it is not there to be filled. */
const keptBytes = 512 * 1024 * 1024;
const keptShare = 0.05;

export interface Disk {
  readonly freeBytes: number;
  readonly databaseBytes: number;
  /** Artifacts of exports, which can be made again. */
  readonly exportBytes: number;
  /** Null where the log is younger than an hour. */
  readonly bytesPerDay: number | null;
  /** Until the plane is not ready any more; null where that is not known or nothing grows. */
  readonly daysLeft: number | null;
}

export function diskOf(dataDir: string, nowMs: number): Disk {
  const { bavail, blocks, bsize } = statfsSync(dataDir);
  const freeBytes = bavail * bsize;
  const exportBytes = artifactBytes(dataDir);
  const growth = growthOf(dataDir, nowMs - windowMs);
  if (growth === null) return { freeBytes, databaseBytes: 0, exportBytes, bytesPerDay: null, daysLeft: null };
  const { bytes, leaves, recentLeaves, sinceMs } = growth;
  const elapsedMs = nowMs - sinceMs;
  if (elapsedMs < leastMs)
    return { freeBytes, databaseBytes: bytes, exportBytes, bytesPerDay: null, daysLeft: null };
  const bytesPerDay = Math.round((bytes / Math.max(leaves, 1)) * (recentLeaves / (elapsedMs / dayMs)));
  const usable = Math.max(0, freeBytes - Math.max(keptBytes, blocks * bsize * keptShare));
  const daysLeft = bytesPerDay === 0 ? null : Math.floor(usable / bytesPerDay);
  return { freeBytes, databaseBytes: bytes, exportBytes, bytesPerDay, daysLeft };
}
