/** Once per run of the tests: a temporary directory for all of them, removed at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'gov-test-'));
  // the processes of the tests are started later, and inherit it
  process.env['TMPDIR'] = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}
