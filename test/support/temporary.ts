/** Once per run of the tests: a temporary directory for all of them, removed at the end. */
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const neededBytes = 4 * 1024 ** 3;

export function setup(): () => void {
  const directory = mkdtempSync(join(place(), 'gov-test-'));
  // where the tests run as root, PostgreSQL runs as another user
  chmodSync(directory, 0o755);
  // the processes of the tests are started later, and inherit it
  process.env['TMPDIR'] = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}

/**
 * In memory where there is room: a sync costs nothing there, and the tests make tens of thousands. The long tests, which
 * fill and break disks, need a disk.
 */
function place(): string {
  if (process.env['GOV_TEST_LONG'] !== undefined || !existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= neededBytes ? memory : tmpdir();
}
