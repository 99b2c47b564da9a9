/** A server that is killed under load: what was acknowledged is there, nothing is there by half, and writing heals. */
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openAcked } from '../../../src/store/acked/heads.ts';
import { readLosses } from '../../../src/store/acked/losses.ts';
import { openSignedHeads } from '../../../src/store/file/signed-heads.ts';
import { fsckPostgres } from '../../../src/store/postgres/write/fsck.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { appended, dropFolder, event, newFolder, request } from '../support/fixture.ts';
import { Processes } from './support/described.ts';
import { startServer, type Server } from './support/server.ts';

interface Became {
  readonly acknowledged: Map<string, number>;
  readonly refused: Set<string>;
}

/** Appends until told to stop; ids of events by what became of them. */
async function load(store: Store, name: string, writing: { on: boolean; became: Became }): Promise<void> {
  const { became } = writing;
  for (let round = 0; writing.on; round += 1) {
    const made = [0, 1, 2].map((at) => event({ runId: `r${at}`, clientEventId: `${name}-${round}-${at}` }));
    const ids = made.map(({ clientEventId }) => clientEventId ?? '');
    try {
      const places = await appended(store, request(made));
      places.forEach(({ index }, at) => became.acknowledged.set(ids[at]!, index));
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(?:STORAGE_FAULT|OVERLOADED)$/) });
      for (const id of ids) became.refused.add(id);
      // until the server is back
      await vi.waitFor(() => store.head('prj_a', 'audit'), { timeout: 30_000, interval: 20 });
    }
  }
}

const server = await startServer();
const isOurs = !('missing' in server) && server.crash !== null;
if (!('missing' in server)) afterAll(() => server.stop());

describe.skipIf(!isOurs)('a server killed under load', () => {
  it('a server killed under load has every acknowledged event once, and only whole requests', async () => {
    const processes = await Processes.on(server as Server);
    const [own, other] = [newFolder(), newFolder()];
    onTestFinished(() => [own, other].forEach(dropFolder));
    const remembering = (folder: string) =>
      processes.start({ heads: openSignedHeads(folder), acked: openAcked(folder) });
    const stores = [await remembering(own), await remembering(other)];
    const [acknowledged, refused] = [new Map<string, number>(), new Set<string>()];
    const writing = { on: true, became: { acknowledged, refused } };
    const loads = stores.map((store, at) => load(store, `p${at}`, writing));
    // a crash before anything was sent is not noticed by the caller
    for (let time = 0; time < 3 || (refused.size === 0 && time < 20); time += 1) {
      const { size } = await stores[0]!.head('prj_a', 'audit');
      await expect
        .poll(async () => (await stores[1]!.head('prj_a', 'audit')).size)
        .toBeGreaterThan(size + 20);
      await (server as Server).crash!();
    }
    await expect
      .poll(() => stores.every((store) => store.condition().writable), { timeout: 10_000 })
      .toBe(true);
    const { size: recovered } = await stores[0]!.head('prj_a', 'audit');
    await expect
      .poll(async () => (await stores[0]!.head('prj_a', 'audit')).size)
      .toBeGreaterThan(recovered + 20);
    writing.on = false;
    await Promise.all(loads);
    expect(refused.size).toBeGreaterThan(0);
    const found = new Map<string, number>();
    const { size } = await stores[0]!.head('prj_a', 'audit');
    for (const { index, disclosures } of await stores[0]!.leaves('prj_a', 'audit', { from: 1, to: size })) {
      const [, id] = /"\/clientEventId","([^"]+)"/.exec(disclosures ?? '') ?? [];
      expect(found.has(id!)).toBe(false);
      found.set(id!, index);
    }
    for (const [id, index] of acknowledged) expect([id, found.get(id)]).toEqual([id, index]);
    for (const id of found.keys()) expect(acknowledged.has(id) || refused.has(id)).toBe(true);
    const rounds = new Map<string, number>();
    for (const id of found.keys()) rounds.set(id.slice(0, -2), (rounds.get(id.slice(0, -2)) ?? 0) + 1);
    expect(new Set(rounds.values())).toEqual(new Set([3]));
    expect((await fsckPostgres({ url: processes.database.serving, deep: true })).problems).toEqual([]);
    expect([...readLosses(own), ...readLosses(other)]).toEqual([]);
    await processes.drop();
  }, 60_000);
});
