/**
 * An asynchronous standby takes over under load: the acknowledged leaves that it lacks are counted exactly, and recording
 * continues.
 */
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readLoss } from '../../../src/core/decided/loss.ts';
import { openAcked } from '../../../src/store/acked/heads.ts';
import { lostLeaves, readLosses } from '../../../src/store/acked/losses.ts';
import { openSignedHeads } from '../../../src/store/file/signed-heads.ts';
import { fsckPostgres } from '../../../src/store/postgres/write/fsck.ts';
import type { PostgresStore } from '../../../src/store/postgres/store.ts';
import { appended, dropFolder, event, newFolder, request } from '../support/fixture.ts';
import { Processes } from './support/described.ts';
import { startRelay } from './support/relay.ts';
import { startServer, type Server } from './support/server.ts';

const server = await startServer();
const isOurs = !('missing' in server) && server.standby !== null;
if (!('missing' in server)) afterAll(() => server.stop());

interface Load {
  on: boolean;
  readonly acknowledged: Map<string, number>;
}

async function append(store: PostgresStore, name: string, load: Load): Promise<void> {
  for (let round = 0; load.on; round += 1) {
    const clientEventId = `${name}-${round}`;
    try {
      const [place] = await appended(store, request([event({ clientEventId })]));
      load.acknowledged.set(clientEventId, place?.index ?? -1);
    } catch {
      await vi.waitFor(() => store.head('prj_a', 'audit'), { timeout: 30_000, interval: 20 });
    }
  }
}

describe.skipIf(!isOurs)('an asynchronous standby that takes over', () => {
  it('the log and the processes name each acknowledged leaf that it lacks', async () => {
    const { standby: make, crash } = server as Server;
    const processes = await Processes.on(server as Server);
    const clock = { now: Date.now };
    const standby = await make!();
    const primary = new URL(processes.database.serving);
    const address = await startRelay(Number(primary.port));
    onTestFinished(() => address.close());
    const url = Object.assign(new URL(primary), { port: String(address.port) }).href;
    const folders = [newFolder(), newFolder()];
    onTestFinished(() => folders.forEach(dropFolder));
    const stores = await Promise.all(
      folders.map(async (folder) =>
        processes.start({ url, clock, heads: openSignedHeads(folder), acked: openAcked(folder) }),
      ),
    );
    const load: Load = { on: true, acknowledged: new Map() };
    const loads = stores.flatMap((store, at) =>
      ['x', 'y'].map((caller) => append(store, `${at}${caller}`, load)),
    );
    await expect.poll(() => load.acknowledged.size).toBeGreaterThan(200);
    standby.freeze();
    const before = load.acknowledged.size;
    await expect.poll(() => load.acknowledged.size).toBeGreaterThan(before + 200);
    await standby.takeOver();
    const acknowledged = new Map(load.acknowledged);
    const heads = folders.map((folder) => {
      const acked = openAcked(folder);
      const head = acked.find('prj_a');
      acked.close();
      return head?.size ?? 0;
    });
    const promoted = Object.assign(new URL(processes.database.serving), { port: new URL(standby.url).port });
    const direct = await processes.start({ url: promoted.href, clock });
    const kept = (await direct.head('prj_a', 'audit')).size;
    address.move(Number(promoted.port));
    await expect
      .poll(() => load.acknowledged.size, { timeout: 20_000 })
      .toBeGreaterThan(acknowledged.size + 100);
    load.on = false;
    await Promise.all(loads);

    const { size } = await direct.head('prj_a', 'audit');
    const leaves = await direct.leaves('prj_a', 'audit', { from: 1, to: size });
    const losses = leaves.flatMap(({ record }) => readLoss(record) ?? []);
    const found = new Map(
      leaves.map(({ index, disclosures }) => [
        /"\/clientEventId","([^"]+)"/.exec(disclosures ?? '')?.[1] ?? '',
        index,
      ]),
    );
    const gone = [...acknowledged].filter(([id, index]) => found.get(id) !== index);
    expect(gone.length).toBeGreaterThan(100);
    expect(lostLeaves(losses.map((loss) => ({ projectId: 'prj_a', ...loss })))).toBe(
      Math.max(...heads) - kept,
    );
    // the newest acknowledgements may not have reached the callers
    expect(Math.max(...heads) - kept - gone.length).toBeLessThanOrEqual(4);
    expect(Math.max(...heads) - kept).toBeGreaterThanOrEqual(gone.length);
    expect(losses[0]?.from).toBe(kept);
    expect(folders.flatMap((folder) => readLosses(folder)).length).toBeGreaterThan(0);
    expect((await fsckPostgres({ url: promoted.href, deep: true })).problems).toEqual([]);
    await Promise.all([...stores, direct].map((store) => store.close()));
    await standby.stop();
    await crash!(); // starts the first server again, which the end of the test stops
    await processes.drop();
  }, 120_000);
});
