/** The write-ahead log is copied while the writer goes on, and starts over before it grows long. */
import { statSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { openReader } from '../../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { event, genesis, projectOf, request, stored } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});

const MiB = 1024 * 1024;
/** About 2 MiB of bodies. */
const heavy = () =>
  request(Array.from({ length: 40 }, () => event({ metadata: { text: 'x'.repeat(50_000) } })));

describe('the write-ahead log', () => {
  it('the write-ahead log stays bounded under load, is gone after a close, and loses nothing', async () => {
    const plane = new TestPlane();
    planes.push(plane);
    const store = plane.open();
    await store.createProject(projectOf('a'), genesis('a'));
    const { main } = storeFiles(plane.dataDir);
    let longest = 0;
    for (let round = 0; round < 60; round += 1) {
      await stored(store, heavy());
      longest = Math.max(longest, statSync(`${main}-wal`).size);
    }
    expect(statSync(main).size).toBeGreaterThan(60 * MiB);
    expect(longest).toBeLessThan(64 * MiB);
    await store.close();
    expect(statSync(`${main}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    expect((await plane.fsck()).problems).toEqual([]);
  });

  it('a reader on another connection sees appended events at once', async () => {
    const plane = new TestPlane();
    planes.push(plane);
    const store = plane.open();
    await store.createProject(projectOf('a'), genesis('a'));
    const reader = openReader(storeFiles(plane.dataDir).main);
    for (let index = 1; index < 20; index += 1) {
      await stored(store, request([event()]));
      expect((await reader.leaf('prj_a', index))?.index).toBe(index);
    }
    reader.close();
    await store.close();
  });
});
