/** An asynchronous standby takes over: a client with a spool sends the acknowledged events again that the standby lacks. */
import { join } from 'node:path';
import { Client as Database } from 'pg';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../../src/client/create.ts';
import { Folder } from '../../cli/push/harness.ts';
import { startRelay } from '../../store/postgres/support/relay.ts';
import { startServer, type Server } from '../../store/postgres/support/server.ts';
import { startService } from '../../support/hosted.ts';
import { answeredReceipts, deliverHere, HeldSpool, sentEvent } from '../support/held.ts';

const server = await startServer();
const isOurs = !('missing' in server) && server.standby !== null;
if (!('missing' in server)) afterAll(() => server.stop());

/** Whether the standby has everything that the primary has. */
async function isReplicated(url: string): Promise<boolean> {
  const database = new Database(url);
  await database.connect();
  const { rows } = await database.query(
    'select replay_lsn >= pg_current_wal_lsn() as yes from pg_stat_replication',
  );
  await database.end();
  return rows[0]?.yes === true;
}

describe.skipIf(!isOurs)('a client with a spool at an asynchronous standby that takes over', () => {
  it('acknowledged events that the standby lacks are sent again, and each is stored once', async () => {
    const { database, standby: make, crash, url } = server as Server;
    const folder = new Folder();
    onTestFinished(() => folder.remove());
    const own = await database();
    const standby = await make!();
    const address = await startRelay(Number(new URL(own.serving).port));
    onTestFinished(() => address.close());
    const serving = Object.assign(new URL(own.serving), { port: String(address.port) }).href;
    const service = await startService({ file: { database: serving, connections: 4 } });
    const { keys } = await service.signUp('tenant');
    const client = createClient({ baseUrl: service.baseUrl, apiKey: keys.production, env: {}, retries: 0 });
    const held = new HeldSpool(join(folder.path, 'spool'));
    const send = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n++)
        await held.acknowledge([sentEvent(n)], await answeredReceipts(client, [sentEvent(n)]));
    };
    await send(0, 5);
    await expect.poll(() => isReplicated(url), { timeout: 20_000 }).toBe(true);
    standby.freeze();
    await send(5, 15);
    await standby.takeOver();
    address.move(Number(new URL(standby.url).port));
    const others = Array.from({ length: 20 }, (_, n) => sentEvent(n, 'others'));
    const isRecorded = async (): Promise<boolean> =>
      client.createEvents({ body: { events: others }, idempotencyKey: 'others' }).then(
        () => true,
        () => false,
      );
    await expect.poll(isRecorded, { timeout: 30_000 }).toBe(true);

    const keeper = held.keeper(client);
    await keeper.check();
    expect(held.found.filter(({ kind }) => kind === 'lost')).toHaveLength(10);
    expect([held.queue.waitingEvents, held.spool.held().length]).toEqual([10, 10]);
    for (let left = 10; left > 0; left--) {
      const batch = (await held.queue.take(0))!;
      await held.queue.settle(0, batch, await deliverHere(batch, client));
    }
    const { body } = await client.listEvents({ query: { runId: 'held' } });
    expect(body.events.map(({ clientEventId }) => clientEventId).toSorted()).toEqual(
      Array.from({ length: 15 }, (_, n) => sentEvent(n).clientEventId).toSorted(),
    );
    await keeper.close(0);
    held.close();
    await service.end();
    await standby.stop();
    await crash!(); // starts the first server again, which the end of the test stops
    await own.drop();
  }, 180_000);
});
