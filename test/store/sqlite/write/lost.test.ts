/** The database file of a directory is replaced by an older copy: what was acknowledged and is gone is counted and named. */
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readLoss } from '../../../../src/core/decided/loss.ts';
import { readLosses } from '../../../../src/store/acked/losses.ts';
import { fsckStore } from '../../../../src/store/fsck/run.ts';
import type { SqliteStore } from '../../../../src/store/sqlite/store.ts';
import { appended, dropFolder, event, newFolder, request } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';

async function filled(): Promise<TestPlane> {
  const plane = await new TestPlane().filled(60);
  onTestFinished(() => plane.drop());
  return plane;
}

async function add(plane: TestPlane, count: number): Promise<void> {
  const store = plane.open();
  plane.clock.ms += 1000;
  await appended(store, request(Array.from({ length: count }, () => event())));
  await store.close();
}

const main = ({ dataDir }: TestPlane): string => join(dataDir, 'gov.db');

async function losses(store: SqliteStore) {
  const { size } = await store.head('prj_a', 'audit');
  const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: size });
  return leaves.flatMap(({ index, record }) => {
    const loss = readLoss(record);
    return loss === null ? [] : [{ index, ...loss }];
  });
}

describe('an older copy of the database file', () => {
  it.each([{ thread: false }, { thread: true }])(
    'the start records what is gone, once, and recording continues ($thread)',
    async ({ thread }) => {
      const plane = await filled();
      copyFileSync(main(plane), `${main(plane)}.old`);
      await add(plane, 5);
      await add(plane, 2);
      copyFileSync(`${main(plane)}.old`, main(plane));
      plane.clock.ms += 1000;
      const warnings: string[] = [];
      const store = plane.open({ thread, onWarning: (text) => warnings.push(text) });
      await expect
        .poll(() => losses(store))
        .toMatchObject([{ index: 61, from: 61, lost: 7, acked: { size: 68 } }]);
      expect(await appended(store, request([event()]))).toMatchObject([{ index: 62 }]);
      await store.close();
      expect(warnings).toContainEqual(expect.stringMatching(/^acknowledged_lost: project prj_a lacks 7 /));
      expect(readLosses(plane.dataDir)).toMatchObject([{ projectId: 'prj_a', from: 61, lost: 7 }]);
      await add(plane, 1);
      const again = plane.open();
      expect(await losses(again)).toHaveLength(1);
      await again.close();
      expect(await fsckStore({ dataDir: plane.dataDir, deep: true })).toMatchObject({
        ok: true,
        problems: [],
      });
    },
  );

  it('a failed write leaves the loss to the next append', async () => {
    const plane = await filled();
    copyFileSync(main(plane), `${main(plane)}.old`);
    await add(plane, 3);
    copyFileSync(`${main(plane)}.old`, main(plane));
    let commits = 0;
    const before = (name: string): void => {
      if (name === 'begin' && (commits += 1) === 1) {
        throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
      }
    };
    const store = plane.open({ faults: { before } });
    await expect.poll(() => store.condition().writable).toBe(false);
    expect(store.probe()).toBe(true);
    expect(await appended(store, request([event()]))).toMatchObject([{ index: 62 }]);
    expect(await losses(store)).toMatchObject([{ index: 61, lost: 3 }]);
    await store.close();
  });

  it('a crash between the leaf and its note records nothing twice', async () => {
    const plane = await filled();
    copyFileSync(main(plane), `${main(plane)}.old`);
    await add(plane, 3);
    const acked = readFileSync(join(plane.dataDir, 'acked.bin'));
    copyFileSync(`${main(plane)}.old`, main(plane));
    await add(plane, 1);
    writeFileSync(join(plane.dataDir, 'acked.bin'), acked);
    rmSync(join(plane.dataDir, 'losses.ndjson'));
    await add(plane, 1);
    const store = plane.open();
    expect(await losses(store)).toMatchObject([{ index: 61, lost: 3 }]);
    await store.close();
    expect(readLosses(plane.dataDir)).toMatchObject([{ lost: 3 }]);
  });

  it('with onLoss refuse the store is not opened until the newest copy is back', async () => {
    const plane = await filled();
    copyFileSync(main(plane), `${main(plane)}.old`);
    await add(plane, 5);
    copyFileSync(main(plane), `${main(plane)}.new`);
    copyFileSync(`${main(plane)}.old`, main(plane));
    expect(() => plane.open({ onLoss: 'refuse' })).toThrow(
      /^log test\/a\/audit: expected the 66 acknowledged leaves, got another copy of the database, with 61 leaves;/,
    );
    copyFileSync(`${main(plane)}.new`, main(plane));
    const store = plane.open({ onLoss: 'refuse' });
    expect(await losses(store)).toEqual([]);
    await store.close();
  });
});

describe('no false alarm', () => {
  it('a restored copy of the whole directory records no loss, nor does a lost acked.bin', async () => {
    const plane = await filled();
    const copy = newFolder();
    onTestFinished(() => dropFolder(copy));
    cpSync(plane.dataDir, copy, { recursive: true });
    await add(plane, 5);
    rmSync(plane.dataDir, { recursive: true });
    cpSync(copy, plane.dataDir, { recursive: true });
    await add(plane, 1);
    rmSync(join(plane.dataDir, 'acked.bin'));
    await add(plane, 1);
    const store = plane.open();
    expect(await losses(store)).toEqual([]);
    await store.close();
    expect(readLosses(plane.dataDir)).toEqual([]);
  });
});
