/**
 * Shuts down the file system below a serving plane (EXT4_IOC_SHUTDOWN: from then on every write is an I/O error), under
 * load or idle. The plane must end by itself with 74, and everything that it acknowledged must be there after the next
 * mount. Needs root on Linux, mkfs.ext4 and perl. `node test/faults/dead-disk.ts [rounds]`
 */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, ftruncateSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { planeInit } from '../../plane/data/init.ts';
import { fsck } from '../../src/host/data/fsck.ts';
import { ask, batchOf, eventsOf, serve, type Serving } from './serving.ts';

const MiB = 1024 * 1024;
const writers = 8;

export interface DeadDiskReport {
  readonly acknowledged: number;
  readonly lost: number;
  /** The exit code, or null where the plane did not end in 60 seconds. */
  readonly exit: number | string | null;
  /** Milliseconds from the shutdown to the end of the process. */
  readonly endedAfterMs: number;
  readonly fsckProblems: number;
}

export interface LoopDisk {
  readonly path: string;
  /** The journal is not written out, as when power fails. */
  shutdown(): void;
  remount(): void;
  remove(): void;
}

/** A file system of its own in a file; null where this process may not mount one. */
export function loopDisk(): LoopDisk | null {
  const folder = mkdtempSync(join(tmpdir(), 'gov-disk-'));
  const [image, path] = [join(folder, 'image'), join(folder, 'mounted')];
  mkdirSync(path);
  const file = openSync(image, 'w');
  ftruncateSync(file, 512 * MiB);
  closeSync(file);
  const run = (program: string, ...rest: string[]): Buffer => execFileSync(program, rest, { stdio: 'pipe' });
  const mount = (): Buffer => run('mount', '-o', 'loop', image, path);
  try {
    run('mkfs.ext4', '-q', image);
    mount();
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
  const ioctl =
    'open(my $f, "<", $ARGV[0]) or die; my $how = pack("I", 2); ioctl($f, 0x8004587d, $how) or die "ioctl: $!"';
  return {
    path,
    shutdown: () => void run('perl', '-e', ioctl, path),
    remount: () => {
      run('umount', path);
      mount();
    },
    remove: () => {
      run('umount', '-l', path);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Writes until the first answer that is no 201. Acknowledged event ids by run. */
async function write(plane: Serving, runId: string, acknowledged: string[]): Promise<void> {
  for (let step = 0; ; step += 1) {
    const texts = Array.from({ length: step % 3 === 2 ? 40 : 1 }, (_, at) =>
      'x'.repeat((at * 97 + step) % 2000),
    );
    try {
      const { status, body } = await ask(plane, '/events/batch', { body: batchOf(runId, texts) });
      if (status !== 201) return;
      for (const { eventId } of body.results as { eventId: string }[]) acknowledged.push(eventId);
    } catch {
      return; // the process ended
    }
  }
}

/** One round on an empty disk. `loadMs`: how long it is written to before; 0 for an idle plane. */
export async function killDisk(disk: LoopDisk, loadMs: number): Promise<DeadDiskReport> {
  const dataDir = join(disk.path, 'plane');
  rmSync(dataDir, { recursive: true, force: true });
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  const plane = await serve(dataDir);
  const acknowledged = new Map(
    Array.from({ length: loadMs === 0 ? 0 : writers }, (_, at) => [`run-${at}`, [] as string[]]),
  );
  const writing = [...acknowledged].map(([runId, ids]) => write(plane, runId, ids));
  await wait(loadMs === 0 ? 1500 : loadMs);
  const diedAt = Date.now();
  disk.shutdown();
  await Promise.all(writing);
  const exit = await Promise.race([plane.ended, wait(60_000, null, { ref: false })]);
  const endedAfterMs = Date.now() - diedAt;
  if (exit === null) {
    plane.child.kill('SIGKILL');
    await plane.ended;
  }
  disk.remount();
  const again = await serve(dataDir);
  let lost = 0;
  for (const [runId, ids] of acknowledged) {
    const stored = new Set((await eventsOf(again, runId)).map(({ eventId }) => eventId));
    lost += ids.filter((eventId) => !stored.has(eventId)).length;
  }
  again.child.kill('SIGTERM');
  await again.ended;
  const { found } = await fsck({ dataDir, deep: true });
  const total = [...acknowledged.values()].reduce((sum, ids) => sum + ids.length, 0);
  return { acknowledged: total, lost, exit, endedAfterMs, fsckProblems: found };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const disk = loopDisk();
  if (disk === null)
    throw new Error('expected root on Linux, mkfs.ext4, perl, and the right to mount a loop device');
  try {
    for (let round = 0; round < Number(process.argv[2] ?? 10); round += 1) {
      const report = await killDisk(disk, round % 5 === 4 ? 0 : 500 + ((round * 337) % 2500));
      console.log(round, JSON.stringify(report));
      if (report.exit !== 74 || report.lost + report.fsckProblems > 0) process.exitCode = 1;
    }
  } finally {
    disk.remove();
  }
}
