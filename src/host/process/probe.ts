/**
 * The write probe (contract N8): whether a write now would be durable. Writes and syncs a small file beside the
 * database, off the main thread, and checks free disk space. For a remote database it commits instead. It runs
 * only on request, and at most once a second. Proven by `test/host/process/probe.test.ts`.
 */
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesText } from '../../core/byte-size.ts';
import { artifactBytes } from '../exports/artifact-bytes.ts';

const lastsMs = 1000;
/** How long a database may take. */
const patienceMs = 3000;
const leastFree = { share: 0.05, bytes: 512 * 1024 * 1024 } as const;

/** Returns reasons: `write_probe_failed` and `disk_space_low`, the latter with the size of exports. */
export const createProbe = (dataDir: string, now: () => number): (() => Promise<readonly string[]>) =>
  remembered(now, () => probe(dataDir));

/** The probe of a database. `commit` rejects where a commit without changes is not durable. */
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

/** Returns the same result for one second. */
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

const lookEveryMs = 15_000;
/** Errors that say nothing about the disk: there is no room, no free descriptor, or no permission for the probe. */
const notTheDisk: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EACCES',
  'EPERM',
]);

/**
 * Writes the probe every 15 seconds, since a plane that records nothing does not notice that its disk died. Calls `died`
 * once, after two failed writes in a row. Returns a function that stops it.
 */
export function watchDisk(dataDir: string, died: (reason: string) => void): () => void {
  let failures = 0;
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const wait = (): void => {
    timer = setTimeout(() => void look(), lookEveryMs).unref();
  };
  const look = async (): Promise<void> => {
    const code = await write(dataDir);
    if (isStopped) return;
    failures = code === null || notTheDisk.has(code) ? 0 : failures + 1;
    if (failures < 2) wait();
    else died(`the disk of ${dataDir} takes no writes (${code})`);
  };
  wait();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

async function probe(dataDir: string): Promise<readonly string[]> {
  const [code, space] = await Promise.all([write(dataDir), hasSpace(dataDir)]);
  return [
    ...(code === null ? [] : ['write_probe_failed']),
    ...(space ? [] : [lowDisk(artifactBytes(dataDir))]),
  ];
}

/** Names the size of exports, because an operator can create them again. */
const lowDisk = (bytes: number): string =>
  bytes === 0 ? 'disk_space_low' : `disk_space_low: exports take ${bytesText(bytes)} of it`;

/** The system's error code, or null where the probe is durable. */
async function write(dataDir: string): Promise<string | null> {
  try {
    const file = await open(join(dataDir, 'probe'), 'w', 0o600);
    try {
      await file.write('ok\n');
      await file.sync();
    } finally {
      await file.close();
    }
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
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
