/** Settings hold on every connection, and files of others are left alone. */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { connect, pageBytes } from '../../../src/store/file/connection.ts';
import { judgeFilesystem } from '../../../src/store/file/filesystem.ts';
import { dropFolder, genesis, newFolder, projectOf } from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});
const newPath = (): string => {
  const folder = newFolder();
  undo.push(() => dropFolder(folder));
  return join(folder, 'x.db');
};

const wanted = {
  journal_mode: 'wal',
  synchronous: 2,
  foreign_keys: 1,
  recursive_triggers: 1,
  trusted_schema: 0,
  cell_size_check: 1,
  mmap_size: 0,
  busy_timeout: 250,
  wal_autocheckpoint: 0,
  application_id: 7,
  page_size: pageBytes,
};

describe('a connection', () => {
  it('a connection has its settings on a new file and on a file that is opened again', () => {
    const path = newPath();
    for (let time = 0; time < 2; time += 1) {
      const db = connect(path, { applicationId: 7 });
      db.exec('CREATE TABLE IF NOT EXISTS t (a) STRICT'.replace('a)', 'a INTEGER)'));
      const got = Object.keys(wanted).map((name) => [name, db.pragma(name, { simple: true })]);
      expect(Object.fromEntries(got)).toEqual(wanted);
      db.close();
    }
    const reader = connect(path, { applicationId: 7, readonly: true });
    expect(reader.pragma('synchronous', { simple: true })).toBe(2);
    expect(() => reader.exec('CREATE TABLE u (a)')).toThrow();
    reader.close();
  });

  it('a connection refuses the database of another program and a file that is no database', () => {
    const path = newPath();
    const other = new Database(path);
    other.exec('CREATE TABLE theirs (a)');
    other.close();
    expect(() => connect(path, { applicationId: 7 })).toThrow('expected a database of application id 7');
    const text = `${path}.txt`;
    writeFileSync(text, 'x'.repeat(10_000));
    expect(() => connect(text, { applicationId: 7 })).toThrow('not a database');
  });

  it('a connection refuses to open when a required setting is not in effect', () => {
    const path = newPath();
    const db = connect(path, { applicationId: 7 });
    db.pragma('journal_mode = DELETE');
    db.close();
    expect(() => connect(path, { applicationId: 7, readonly: true })).toThrow(
      'expected SQLite setting journal_mode = wal',
    );
  });
});

describe('a data directory', () => {
  it('the files of a data directory, and the directory, are readable by their owner alone', async () => {
    const plane = new TestPlane();
    undo.push(() => plane.drop());
    const store = plane.open({ dataDir: join(plane.dataDir, 'made'), reserveBytes: 4096 });
    await store.createProject(projectOf('a'), genesis('a'));
    const made = join(plane.dataDir, 'made');
    expect(statSync(made).mode & 0o777).toBe(0o700);
    const modes = readdirSync(made).map((name) => [name, statSync(join(made, name)).mode & 0o777]);
    expect(modes.length).toBeGreaterThanOrEqual(6);
    expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([]);
    await store.close();
  });

  it.each([
    [0x6969, 'NFS'],
    [0xff534d42 | 0, 'CIFS'],
    [0x01021997, '9P'],
  ])('a data directory on a network file system (%i) is refused', (magic, name) => {
    expect(() => judgeFilesystem('/data', magic)).toThrow(name);
  });

  it('a data directory on FUSE gives a warning, and one on a local file system does not', () => {
    expect(judgeFilesystem('/data', 0x65735546)).toContain('FUSE');
    expect(judgeFilesystem('/data', 0xef53)).toBeNull();
    expect(judgeFilesystem(newFolderHere())).toBeNull();
  });
});

function newFolderHere(): string {
  const folder = newFolder();
  undo.push(() => dropFolder(folder));
  return folder;
}
