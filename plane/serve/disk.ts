/**
 * Estimates how long a plane's disk lasts: free space divided by the growth of the databases in the last
 * week. A younger log counts from its beginning. Proven by `test/plane/serve/disk.test.ts`.
 */
import { statfsSync } from 'node:fs';
import { artifactBytes } from '../../src/host/exports/artifact-bytes.ts';
import { growthOf } from '../../src/store/file/growth.ts';

const dayMs = 24 * 3600 * 1000;
const windowMs = 7 * dayMs;
/** A younger log gives no growth rate. */
const leastMs = 3600 * 1000;
/** Readiness refuses below this much free space, so it does not count as room to fill. */
const keptBytes = 512 * 1024 * 1024;
const keptShare = 0.05;

export interface Disk {
  readonly freeBytes: number;
  readonly databaseBytes: number;
  /** Artifacts of exports. They can be rebuilt. */
  readonly exportBytes: number;
  /** Null while the log is younger than an hour. */
  readonly bytesPerDay: number | null;
  /** Days until the plane is no longer ready. Null where the rate is unknown or nothing grows. */
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
