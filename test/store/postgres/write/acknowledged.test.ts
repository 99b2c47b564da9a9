/** An older copy of the database takes over: what processes acknowledged and it lacks is counted and named. */
import { describe, expect, it } from 'vitest';
import { draftLoss, readLoss } from '../../../../src/core/decided/loss.ts';
import { readLosses } from '../../../../src/store/acked/losses.ts';
import { fsckPostgres } from '../../../../src/store/postgres/write/fsck.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import { appended, codeOf, dropFolder, event, newFolder, request } from '../../support/fixture.ts';
import { missing } from '../support/described.ts';
import { ended, World } from '../support/world.ts';

const add = (store: Store, count = 1) =>
  appended(store, request(Array.from({ length: count }, () => event())));

/** The losses in the log, with the index of each leaf. */
async function losses(store: Store) {
  const { size } = await store.head('prj_a', 'audit');
  const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: size });
  return leaves.flatMap(({ index, record }) => {
    const loss = readLoss(record);
    return loss === null ? [] : [{ index, ...loss }];
  });
}

/** Waits until the process has noticed that its connections ended. */
const settled = (store: Store) =>
  expect
    .poll(() =>
      store.head('prj_a', 'audit').then(
        ({ size }) => size,
        () => 0,
      ),
    )
    .toBeGreaterThan(0);

describe.skipIf(missing !== null)('acknowledged leaves that the database lost', () => {
  it('the next append is a leaf with their number, once, and recording continues', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store, 5);
    await world.copy('old');
    world.processes.clock.ms += 10;
    await add(store, 3);
    await add(store, 4);
    const acked = await store.head('prj_a', 'audit');
    world.processes.clock.ms += 1000;
    await world.swap('old');
    await settled(store);
    await expect.poll(() => losses(store)).toHaveLength(1);
    expect(await losses(store)).toEqual([
      {
        index: 6,
        at: '2026-01-01T00:00:01.010Z',
        from: 6,
        lost: 7,
        acked: {
          size: 13,
          root: `sha256:${acked.root.toString('hex')}`,
          at: '2026-01-01T00:00:00.010Z',
        },
      },
    ]);
    expect(store.warnings).toEqual([
      expect.stringMatching(/^acknowledged_lost: project prj_a lacks 7 .* from leaf 6 to 12: /),
    ]);
    expect(readLosses(world.dataDir)).toMatchObject([{ projectId: 'prj_a', from: 6, lost: 7 }]);
    expect(await add(store, 9)).toMatchObject({ 0: { index: 7 }, length: 9 });
    await store.close();
    const again = await world.start();
    expect(await add(again)).toMatchObject([{ index: 16 }]);
    expect(await losses(again)).toHaveLength(1);
    await again.close();
    expect(readLosses(world.dataDir)).toHaveLength(1);
    expect((await fsckPostgres({ url: world.processes.database.serving, deep: true })).problems).toEqual([]);
  });

  it('of two processes each records only what the other did not know', async () => {
    const world = await World.make();
    const other = newFolder();
    ended.push(() => dropFolder(other));
    const one = await world.start();
    const two = await world.start(undefined, { dataDir: other });
    await add(one, 2);
    await world.copy('old');
    world.processes.clock.ms += 10;
    await add(one, 4);
    world.processes.clock.ms += 10;
    await add(two, 3);
    world.processes.clock.ms += 1000;
    await world.swap('old');
    await settled(one);
    await expect.poll(() => losses(one)).toHaveLength(1);
    world.processes.clock.ms += 10;
    await settled(two);
    await add(two);
    expect(await losses(two)).toMatchObject([
      { index: 3, from: 3, lost: 4, acked: { size: 7 } },
      { from: 7, lost: 3, acked: { size: 10 } },
    ]);
    expect(readLosses(world.dataDir)).toMatchObject([{ lost: 4 }]);
    expect(readLosses(other)).toMatchObject([{ lost: 3 }]);
  });

  it('counts exactly although a process that lost nothing has written first', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store, 2);
    await world.copy('old');
    world.processes.clock.ms += 10;
    await add(store, 6);
    await store.close();
    world.processes.clock.ms += 1000;
    await world.swap('old');
    await add(world.processes.first, 50);
    const again = await world.start();
    await add(again);
    expect(await losses(again)).toMatchObject([{ index: 53, from: 3, lost: 6, acked: { size: 9 } }]);
  });

  it('a log that grew to the same size in another copy is read again', async () => {
    const world = await World.make();
    const { first } = world.processes;
    const store = await world.start();
    await add(first, 2);
    await world.copy('old');
    await add(first, 3);
    await world.swap('old');
    await settled(store);
    await appended(store, request(['x', 'y', 'z'].map((actor) => event({ actor }))));
    await settled(first);
    expect(await add(first)).toMatchObject([{ index: 6 }]);
    expect((await fsckPostgres({ url: world.processes.database.serving, deep: true })).problems).toEqual([]);
  });

  it('a crash between the leaf and its note records nothing twice', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store, 2);
    await world.copy('old');
    world.processes.clock.ms += 10;
    await add(store, 6);
    await store.close();
    world.processes.clock.ms += 1000;
    await world.swap('old');
    const root = `sha256:${'00'.repeat(32)}`;
    const acked = { size: 9, root, at: '2026-01-01T00:00:00.010Z' };
    const leaf = draftLoss({ from: 3, lost: 6, acked }, world.processes.clock.ms);
    await appended(world.processes.first, request([leaf], { meter: { op: 'none', units: 0 } }));
    world.processes.clock.ms += 10;
    const again = await world.start();
    await add(again);
    expect(await losses(again)).toHaveLength(1);
    expect(readLosses(world.dataDir)).toMatchObject([{ lost: 6 }]);
  });

  it('with onLoss refuse the log is refused until its leaves are back', async () => {
    const world = await World.make();
    const store = await world.start(undefined, { onLoss: 'refuse' });
    await add(store, 2);
    await world.copy('old');
    await add(store, 6);
    await world.swap('old');
    await expect.poll(() => codeOf(store.head('prj_a', 'audit')).catch(() => '')).toBe('STORAGE_FAULT');
    await expect.poll(() => store.condition().reasons.join()).toContain('database_behind');
    await expect(add(store)).rejects.toThrow(
      /^log test\/a\/audit: expected the 9 acknowledged leaves, got another copy/,
    );
    await world.swap('old');
    await expect.poll(() => store.probe().then(() => store.condition().reasons)).toEqual([]);
    expect(await add(store)).toMatchObject([{ index: 9 }]);
    expect(await losses(store)).toEqual([]);
  });

  it('no restart and no lost connection alone records a loss', async () => {
    const world = await World.make();
    for (let round = 0; round < 10; round += 1) {
      const store = await world.start();
      await add(store, 1 + (round % 3));
      if (round % 2 === 0) {
        await world.cut();
        await settled(store);
      }
      await add(world.processes.first);
      await add(store);
      await store.close();
    }
    expect(await losses(world.processes.first)).toEqual([]);
    expect(readLosses(world.dataDir)).toEqual([]);
  });
});
