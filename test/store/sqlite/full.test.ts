/** A disk without space: nothing is half stored, reads go on, writing comes back by itself. */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { openReserve } from '../../../src/store/sqlite/upkeep/reserve.ts';
import { walKeeper } from '../../../src/store/sqlite/upkeep/wal.ts';
import {
  codeOf,
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
} from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';

const mib = 1024 * 1024;
vi.mock('../../../src/store/file/faults.ts', { spy: true });
const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

const big = () => request(Array.from({ length: 50 }, () => event({ metadata: { text: 'x'.repeat(4000) } })));

describe('a database that may not grow', () => {
  it('a database that may not grow refuses writes with STORAGE_FULL, reads, and later recovers', async () => {
    const plane = new TestPlane();
    undo.push(() => plane.drop());
    let db: Database.Database | undefined;
    const store = plane.open({ faults: { before: () => undefined, opened: (opened) => (db = opened) } });
    await store.createProject(projectOf('a'), genesis('a'));
    await store.append(big());
    const { size } = await store.head('prj_a', 'audit');
    const pages = Number(db?.pragma('page_count', { simple: true }));
    db?.pragma(`max_page_count = ${pages + 10}`);
    expect(await codeOf(store.append(big()))).toBe('STORAGE_FULL');
    expect(store.condition()).toMatchObject({
      writable: false,
      reasons: [expect.stringMatching(/^storage_full: /)],
      queued: 0,
    });
    expect(await codeOf(store.append(request([event()])))).toBe('STORAGE_FULL');
    expect((await store.head('prj_a', 'audit')).size).toBe(size);
    expect((await store.leaf('prj_a', size - 1))?.index).toBe(size - 1);
    db?.pragma(`max_page_count = ${2 ** 30}`);
    expect(store.probe()).toBe(true);
    expect((await store.append(big())).outcome).toBe('stored');
    await store.close();
    expect((await plane.fsck()).problems).toEqual([]);
  });
});

const mayMount = process.getuid?.() === 0 && process.platform === 'linux';

describe.skipIf(!mayMount)('a full file system (skipped where not root on Linux: needs a tmpfs)', () => {
  it('a store on a full file system gives up its reserve, still reads, and recovers with space', async () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      return; // root without the right to mount, as in most containers
    }
    undo.push(() => execFileSync('umount', ['-l', folder]));
    const dataDir = join(folder, 'plane');
    const warned: string[] = [];
    const store = openStore({
      dataDir,
      clock: new HandClock(),
      randomBytes: seededBytes('full'),
      reserveBytes: 1024 * 1024,
      onWarning: (text) => warned.push(text),
    });
    await store.createProject(projectOf('a'), genesis('a'));
    const reserve = join(dataDir, 'reserve');
    expect(statSync(reserve).size).toBe((8 * mib) / limits.diskReserveShare);
    let stored = 0;
    for (;;) {
      const code = await codeOf(store.append(big()));
      if (code !== 'none') {
        expect(code).toBe('STORAGE_FULL');
        break;
      }
      stored += 1;
    }
    expect(stored).toBeGreaterThan(0);
    expect(existsSync(reserve)).toBe(false);
    // room for the reserve alone is none: writing would be full again at once, and the reserve written in vain
    expect(store.probe()).toBe(false);
    expect(existsSync(reserve)).toBe(false);
    const filler = join(folder, 'filler');
    fill(filler);
    expect(store.probe()).toBe(false);
    expect(store.condition().writable).toBe(false);
    expect((await store.head('prj_a', 'audit')).size).toBe(1 + 50 * stored);
    expect((await store.leaf('prj_a', 5))?.index).toBe(5);
    expect((await fsckStore({ dataDir, deep: true })).problems).toEqual([]);
    rmSync(filler);
    execFileSync('mount', ['-o', 'remount,size=64m', folder]);
    expect(store.probe()).toBe(true);
    expect(existsSync(reserve)).toBe(true);
    expect((await store.append(big())).outcome).toBe('stored');
    await store.close();
    expect(warned).toEqual([
      'storage_full: the disk is full: reads are served, writing continues by itself once there is space',
      expect.stringMatching(/^the disk has space again: writing continues, after \d+ s; it began at /),
    ]);
    expect((await fsckStore({ dataDir, deep: true })).problems).toEqual([]);
  });

  it('a store that starts on a disk with room for its reserve alone leaves that room, and says so', async () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      return; // as above
    }
    undo.push(() => execFileSync('umount', ['-l', folder]));
    const dataDir = join(folder, 'plane');
    const warned: string[] = [];
    const open = () =>
      openStore({
        dataDir,
        clock: new HandClock(),
        randomBytes: seededBytes('brim'),
        onWarning: (text) => warned.push(text),
      });
    const before = open();
    await before.createProject(projectOf('a'), genesis('a'));
    await before.close();
    const reserve = join(dataDir, 'reserve');
    const most = statSync(reserve).size;
    // what kill -9 leaves: the reserve is given up, and the disk has about as much room as it would take again
    rmSync(reserve);
    const filler = openSync(join(folder, 'filler'), 'w');
    const room = most + 128 * 1024;
    writeSync(filler, Buffer.alloc(statfsSync(folder).bavail * statfsSync(folder).bsize - room));
    closeSync(filler);
    const store = open();
    expect(statfsSync(folder).bavail * statfsSync(folder).bsize).toBeGreaterThan(room / 2);
    expect(existsSync(reserve)).toBe(false);
    expect(warned).toEqual(['the disk has too little space left to keep a reserve']);
    expect((await store.head('prj_a', 'audit')).size).toBe(1);
    await store.close();
  });

  it('a copy of the log that began before space returned is discarded', async () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      return; // as above
    }
    undo.push(() => execFileSync('umount', ['-l', folder]));
    const db = new Database(join(folder, 'log.db'));
    db.pragma('journal_mode = WAL');
    db.pragma('wal_autocheckpoint = 0');
    db.exec('CREATE TABLE t (x BLOB)');
    for (let row = 0; row < 6; row += 1) db.prepare('INSERT INTO t VALUES (zeroblob(1000000))').run();
    fill(join(folder, 'filler'));
    const told = async (heal: boolean): Promise<unknown[]> => {
      const failures: unknown[] = [];
      const keeper = walKeeper(db, (error) => failures.push(error));
      keeper.committed();
      if (heal) keeper.healed();
      await keeper.close();
      return failures;
    };
    expect(await told(false)).toMatchObject([{ code: 'SQLITE_FULL' }]);
    expect(await told(true)).toEqual([]);
    db.close();
  });
});

/** Takes all space that is left. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (const piece = Buffer.alloc(65_536); ;) writeSync(file, piece);
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
  } finally {
    closeSync(file);
  }
}

describe('the reserve', () => {
  it('the reserve of a disk is at most a part of it, so that a small disk which got space again is written again', () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'reserve');
    let [size, free] = [40 * mib, 20 * mib];
    const reserve = openReserve(path, limits.diskReserveBytes, { size: () => size, free: () => free });
    expect(reserve.refill()).toBe(true);
    expect(statSync(path).size).toBe((40 * mib) / limits.diskReserveShare);
    size = 100 * 1024 * mib;
    expect(reserve.refill()).toBe(false);
    free = 1.5 * limits.diskReserveBytes;
    expect(reserve.refill()).toBe(true);
    expect(statSync(path).size).toBe(limits.diskReserveBytes);
  });

  it('the reserve is written once, released, and written again', () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'reserve');
    const reserve = openReserve(path, 3_000_001);
    expect(reserve.fill()).toBe(true);
    expect(statSync(path).size).toBe(3_000_001);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(reserve.fill()).toBe(true);
    reserve.release();
    reserve.release();
    expect(existsSync(path)).toBe(false);
    expect(openReserve(path, 0).fill()).toBe(true);
    expect(existsSync(path)).toBe(false);
  });
});
