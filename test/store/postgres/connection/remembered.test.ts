/** An older copy of the database is refused by whoever has seen it signed further. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../../src/store/port/store.ts';
import { openSignedHeads } from '../../../../src/store/file/signed-heads.ts';
import { appended, codeOf, event, genesis, projectOf, request } from '../../support/fixture.ts';
import { missing } from '../support/described.ts';
import { ended, World } from '../support/world.ts';

async function sign(store: Store, name = 'a', tree: 'audit' | 'metering' = 'audit'): Promise<string> {
  const projectId = `prj_${name}`;
  const project = await store.project(projectId);
  const origin = (tree === 'audit' ? project?.auditOrigin : project?.meteringOrigin) ?? '';
  const checkpoint = { origin, ...(await store.head(projectId, tree)), extensions: [] };
  return store.saveCheckpoint(projectId, tree, checkpoint, ({ size }) => `note of ${size}`);
}

const add = (store: Store, name = 'a') => appended(store, request([event()], { projectId: `prj_${name}` }));

describe.skipIf(missing !== null)('an older copy of the database', () => {
  it('the start refuses an older copy of the database that lacks the newest signed head', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    const old = await world.copy('old');
    await add(store);
    await sign(store);
    await expect(world.start(old)).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringMatching(
        /^log test\/a\/audit: expected a log of at least 3 leaves, as the signed head says, got 2 leaves; .* restore the newest copy, or, .* start once with gov service serve --rebuild-heads$/,
      ),
    });
    const rebuilt = openSignedHeads(world.dataDir, { rebuild: true });
    await (await world.processes.start({ url: old, heads: rebuilt })).close();
  });

  it('the start refuses a copy of the database without the log or with another history', async () => {
    const world = await World.make();
    const old = await world.copy('old');
    const store = await world.start();
    await add(store);
    await sign(store);
    const other = await world.processes.start({ url: old });
    ended.push(() => other.close());
    await appended(other, request([event({ actor: 'another' }), event()]));
    await expect(world.start(old)).rejects.toThrow(
      /expected root [0-9a-f]{64} at size 2, as the signed head says, got root/,
    );
    await store.createProject(projectOf('c'), genesis('c'));
    await sign(store, 'c');
    await expect(world.start(old)).rejects.toThrow(
      'log test/c/audit: expected a log of at least 1 leaves, as the signed head says, got no such log',
    );
  });

  it('an older copy refuses every use of the projects that lack records, and readiness says so', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    const old = await world.copy('old');
    await add(store);
    await sign(store, 'a', 'metering');
    await sign(store, 'b');
    const behind = await world.start(old);
    expect(behind.condition().reasons).toEqual([]);
    for (const use of [
      () => behind.head('prj_a', 'audit'),
      () => add(behind),
      () => sign(behind),
      () => behind.newestCheckpoint('prj_a', 'metering'),
      () => behind.runs('prj_a', {}, { limit: 1 }),
    ]) {
      expect(await codeOf(use())).toBe('STORAGE_FAULT');
    }
    expect(behind.condition()).toMatchObject({
      writable: true,
      reasons: [
        expect.stringMatching(/^database_behind: the database lacks signed or acknowledged leaves of a log;/),
      ],
    });
    expect(behind.warnings).toEqual([expect.stringMatching(/^database_behind: log test\/a\/metering\/0: /)]);
    await add(behind, 'b');
    expect(await sign(behind, 'b')).toBe('note of 2');
  });

  it('a running process detects an older copy before it stores, and recovers when the copy is gone', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    await world.copy('old');
    await add(store);
    await sign(store);
    await world.swap('old');
    await expect.poll(() => codeOf(store.head('prj_a', 'audit')).catch(() => 'served')).toBe('STORAGE_FAULT');
    expect(await codeOf(add(store))).toBe('STORAGE_FAULT');
    expect(store.condition().reasons.join()).toContain('database_behind');
    await world.swap('old');
    await expect.poll(() => store.probe().then(() => store.condition().reasons)).toEqual([]);
    expect(await add(store)).toMatchObject([{ index: 3 }]);
    expect(await sign(store)).toBe('note of 4');
  });
});

describe.skipIf(missing !== null)('the saved heads of the database', () => {
  it('a process accepts a log that other processes have signed further', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    await sign(store);
    for (let round = 0; round < 300; round += 1) await add(world.processes.first);
    await sign(world.processes.first);
    const again = await world.start();
    expect(await sign(again)).toBe('note of 302');
    await add(store);
    expect(await sign(store)).toBe('note of 303');
    expect(again.condition().reasons).toEqual([]);
  });

  it('the head is saved before it is signed, so that a crash before the signature is harmless', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    const head = await store.head('prj_a', 'audit');
    const crash = store.saveCheckpoint(
      'prj_a',
      'audit',
      { origin: 'test/a/audit', ...head, extensions: [] },
      () => {
        const seen = openSignedHeads(world.dataDir);
        expect(seen.newest()).toEqual({ origin: 'test/a/audit', ...head });
        void seen.close();
        throw new Error('crash before signing');
      },
    );
    await expect(crash).rejects.toThrow();
    expect(await sign(await world.start())).toBe('note of 2');
  });
});
