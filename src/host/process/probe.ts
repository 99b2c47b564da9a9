/**
 * Whether a write now would be durable (contract N8): writes and syncs a small file beside the database, off
 * the main thread, and looks at free disk space; or commits to a database that is elsewhere. Nothing is written unless
 * somebody asks, and at most once a second then. Proven by `test/host/process/probe.test.ts`.
 */
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { artifactBytes, bytesText } from '../exports/artifact-bytes.ts';

const lastsMs = 1000;
/** How long a database may take. */
const patienceMs = 3000;
const leastFree = { share: 0.05, bytes: 512 * 1024 * 1024 } as const;

/** Answers reasons: `write_probe_failed`, `disk_space_low`, or that with what exports take. */
export const createProbe = (dataDir: string, now: () => number): (() => Promise<readonly string[]>) =>
  remembered(now, () => probe(dataDir));

/** The same of a database: `commit` rejects where one that changes nothing is not durable. */
export const createDatabaseProbe = (
  commit: () => Promise<void>,
  now: () => number,
): (() => Promise<readonly string[]>) =>
  remembered(now, async () => {
    let late: NodeJS.Timeout | undefined;
    const patience = new Promise<boolean>((resolve) => {
      late = setTimeout(() => resolve(false), patienceMs);
      late.unref();
    });
    const committed = commit().then(
      () => true,
      () => false,
    );
    const isDurable = await Promise.race([committed, patience]);
    clearTimeout(late);
    return isDurable ? [] : ['write_probe_failed'];
  });

/** The answer for whoever asks within a second of the first. */
function remembered(
  now: () => number,
  ask: () => Promise<readonly string[]>,
): () => Promise<readonly string[]> {
  let last: { atMs: number; reasons: Promise<readonly string[]> } | undefined;
  return () => {
    const nowMs = now();
    if (last === undefined || Math.abs(nowMs - last.atMs) > lastsMs) last = { atMs: nowMs, reasons: ask() };
    return last.reasons;
  };
}

async function probe(dataDir: string): Promise<readonly string[]> {
  const [written, space] = await Promise.all([writes(dataDir), hasSpace(dataDir)]);
  return [...(written ? [] : ['write_probe_failed']), ...(space ? [] : [lowDisk(artifactBytes(dataDir))])];
}

/** Exports are named where they take some of it: they can be made again. */
const lowDisk = (bytes: number): string =>
  bytes === 0 ? 'disk_space_low' : `disk_space_low: exports take ${bytesText(bytes)} of it`;

async function writes(dataDir: string): Promise<boolean> {
  try {
    const file = await open(join(dataDir, 'probe'), 'w', 0o600);
    try {
      await file.write('ok\n');
      await file.sync();
    } finally {
      await file.close();
    }
    return true;
  } catch {
    return false;
  }
}

export async function hasSpace(dataDir: string): Promise<boolean> {
  try {
    const { bavail, blocks, bsize } = await statfs(dataDir);
    return bavail * bsize > leastFree.bytes && bavail > blocks * leastFree.share;
  } catch {
    return false;
  }
}
