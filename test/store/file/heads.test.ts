/** The second file: a restored backup is found before it signs a second history. */
import { copyFileSync, rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { openHeads } from '../../../src/store/file/heads.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { codeOf, event, request, stored } from '../support/fixture.ts';
import { signHead, TestPlane } from '../support/plane.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
async function filled(): Promise<TestPlane> {
  const plane = await new TestPlane().filled(100);
  planes.push(plane);
  return plane;
}

/** Appends and signs; closes. */
async function goOn(plane: TestPlane): Promise<void> {
  const store = plane.open();
  await stored(store, request([event()]));
  await signHead(store);
  await store.close();
}

describe('the start of a store', () => {
  it('the store refuses to open an older copy of its database and says what to do', async () => {
    const plane = await filled();
    const { main } = storeFiles(plane.dataDir);
    copyFileSync(main, `${main}.backup`);
    await goOn(plane);
    copyFileSync(`${main}.backup`, main);
    expect(() => plane.open()).toThrow(
      /expected a log of at least 102 leaves, got 101 leaves; .* restore the newest/,
    );
    expect(() => plane.open({ rebuildHeads: true })).toThrow('the database is an older copy');
    expect((await plane.fsck()).problems.map(({ kind }) => kind)).toEqual(['heads_mismatch']);
  });

  it('the store refuses to open the database of another log', async () => {
    const plane = await filled();
    const other = new TestPlane();
    planes.push(other);
    const store = other.open();
    await store.close();
    copyFileSync(storeFiles(other.dataDir).main, storeFiles(plane.dataDir).main);
    expect(() => plane.open()).toThrow('got no such log');
  });

  it('the store refuses a rewritten history, even if it is longer', async () => {
    const plane = await filled();
    const other = await filled();
    const store = other.open();
    await stored(store, request([event({ runId: 'another history' })]));
    await store.close();
    const heads = openHeads(storeFiles(plane.dataDir).heads);
    heads.raise('test/a/audit', { size: 102, root: Buffer.alloc(32, 7) });
    heads.close();
    copyFileSync(storeFiles(other.dataDir).main, storeFiles(plane.dataDir).main);
    expect(() => plane.open()).toThrow(/expected root (07)+ at size 102/);
    expect(() => plane.open({ rebuildHeads: true })).toThrow('the log was changed');
  });

  it('the store refuses a lost or older heads file until it is rebuilt on request', async () => {
    const plane = await filled();
    const { heads } = storeFiles(plane.dataDir);
    copyFileSync(heads, `${heads}.backup`);
    await goOn(plane);
    copyFileSync(`${heads}.backup`, heads);
    expect(() => plane.open()).toThrow('the heads file was lost or is an older copy');
    for (const suffix of ['', '-wal', '-shm']) rmSync(heads + suffix, { force: true });
    expect(() => plane.open()).toThrow('expected a signed head of at least 102 leaves, got 0 leaves');
    await plane.open({ rebuildHeads: true }).close();
    await plane.open().close();
    expect((await plane.fsck()).ok).toBe(true);
  });

  it('the store accepts a saved head without a signature, as a crash leaves it', async () => {
    const plane = await filled();
    const store = plane.open();
    await stored(store, request([event()]));
    const head = await store.head('prj_a', 'audit');
    const crash = store.saveCheckpoint(
      'prj_a',
      'audit',
      { origin: 'test/a/audit', ...head, extensions: [] },
      () => {
        throw new Error('crash before signing');
      },
    );
    await expect(crash).rejects.toThrow('crash before signing');
    await store.close();
    await goOn(plane);
    expect((await plane.fsck()).ok).toBe(true);
  });
});

describe('a checkpoint', () => {
  it('the store does not sign a checkpoint when the heads file has another history', async () => {
    const plane = await filled();
    const store = plane.open();
    await stored(store, request([event()]));
    const heads = openHeads(storeFiles(plane.dataDir).heads);
    heads.raise('test/a/audit', { size: 500, root: Buffer.alloc(32, 7) });
    expect(await codeOf(signHead(store))).toBe('STORAGE_FAULT');
    heads.close();
    await store.close();
  });

  it('the store stops signing when it learns of a head that the log lacks, also after a restart', async () => {
    const origin = 'test/a/audit';
    for (const size of [200, 103, 102, 50]) {
      const plane = await filled();
      const store = plane.open();
      await stored(store, request([event()]));
      await signHead(store);
      const heads = openHeads(storeFiles(plane.dataDir).heads);
      const { size: have } = await store.head('prj_a', 'audit');
      const root = Buffer.alloc(32, 7);
      heads.learn({ origin, size, root }, have);
      expect([...heads.all()].find((head) => head.origin === origin)).toEqual({ origin, size, root });
      await stored(store, request([event()]));
      expect(await codeOf(signHead(store))).toBe('STORAGE_FAULT');
      // a smaller one is no news where the larger one is refused
      heads.learn({ origin, size: 40, root }, Math.min(have, size - 1));
      expect(heads.find(origin)?.size).toBe(size);
      expect(() => heads.raise(origin, { size: 10, root })).not.toThrow();
      heads.close();
      await store.close();
      expect(() => plane.open()).toThrow(/older copy|was changed/);
      expect((await plane.fsck()).problems.map(({ kind }) => kind)).toContain('heads_mismatch');
    }
  });

  it('the saved head never moves back to a smaller size', () => {
    const plane = new TestPlane();
    planes.push(plane);
    const heads = openHeads(`${plane.dataDir}/h.db`);
    heads.raise('o', { size: 5, root: Buffer.alloc(32, 5) });
    heads.raise('o', { size: 4, root: Buffer.alloc(32, 4) });
    expect([...heads.all()]).toEqual([{ origin: 'o', size: 5, root: Buffer.alloc(32, 5) }]);
    expect(heads.find('unknown')).toBeNull();
    heads.close();
  });
});
