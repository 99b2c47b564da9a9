import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import { problemOf, troubleOf } from '../../../src/store/file/faults.ts';
import { projectRoot } from '../../paths.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-faults-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Takes every file descriptor of a process, then opens a database. */
const program = `
  import { openSync } from 'node:fs';
  import Database from 'better-sqlite3';
  import { troubleOf } from './src/store/file/faults.ts';
  new Database(':memory:').close(); // loads the library
  const path = process.env.AT;
  const node = (open) => { try { open(); } catch (error) { return [error.code, troubleOf(error)]; } };
  let full;
  while (full === undefined) full = node(() => openSync(process.execPath, 'r'));
  console.log(JSON.stringify([full, node(() => new Database(path))]));
`;

describe('storage errors', () => {
  it('an error for lack of file descriptors is not reported as a disk error', () => {
    const node = [process.execPath, '--input-type=module', '--eval', program];
    const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node], {
      cwd: projectRoot,
      env: { ...process.env, AT: join(folder, 'new.db') },
      encoding: 'utf8',
    });
    expect(JSON.parse(stdout || stderr)).toEqual([
      ['EMFILE', 'files'],
      ['SQLITE_CANTOPEN', 'files'],
    ]);
    expect(problemOf('files', null)).toMatchObject({ code: 'OVERLOADED', retryAfterSeconds: 1 });
  });

  it('a file that cannot be opened while descriptors are free is a disk error', () => {
    const error = new Database.SqliteError('unable to open database file', 'SQLITE_CANTOPEN');
    expect(troubleOf(error)).toBe('fault');
  });
});
