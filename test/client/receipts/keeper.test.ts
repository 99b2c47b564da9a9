import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/create.ts';
import { limits } from '../../../src/contract/limits.ts';
import { Folder } from '../../cli/push/harness.ts';
import { deliverHere, HeldSpool, recorded, RestoredPlane, sentEvent } from '../support/held.ts';

let folder: Folder;
let plane: RestoredPlane;
beforeEach(async () => {
  folder = new Folder();
  plane = await RestoredPlane.start();
});
afterEach(async () => {
  await plane.end();
  folder.remove();
});
const directory = (): string => join(folder.path, 'spool');

describe('a spool with receipts', () => {
  it('acknowledged batches stay until the log is proven to have kept them, then only the tree stays', async () => {
    const held = new HeldSpool(directory());
    const client = plane.client();
    for (const n of [1, 2, 3]) {
      const events = [sentEvent(2 * n), sentEvent(2 * n + 1)];
      await held.acknowledge(events, await recorded(client, events));
    }
    expect(held.spool.held()).toHaveLength(3);
    const keeper = held.keeper(client);
    await keeper.close();
    expect([held.spool.held(), held.found]).toEqual([[], []]);
    expect(held.kept()).toMatchObject({ contradicted: [] });
    held.close();
    expect(readdirSync(directory())).toEqual(['kept.json']);
  });

  it('a killed process leaves receipts that the next one checks, at any length of the file', async () => {
    const held = new HeldSpool(directory());
    const client = plane.client();
    for (const n of [1, 2]) await held.acknowledge([sentEvent(n)], await recorded(client, [sentEvent(n)]));
    held.close();
    const acks = join(directory(), '00000001.acks');
    const bytes = readFileSync(acks);
    const first = bytes.indexOf(0x0a) + 1;
    for (const cut of [bytes.length, bytes.length - 1, first + 9, first, first - 1]) {
      truncateSync(acks, cut);
      const again = new HeldSpool(directory());
      const whole = cut === bytes.length ? 2 : cut >= first ? 1 : 0;
      expect([again.spool.held().length, again.queue.waitingEvents], `cut at ${cut}`).toEqual([
        whole,
        2 - whole,
      ]);
      again.close();
    }
  });

  it('events that a log lost with its whole directory are sent again, and stored once', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    const held = new HeldSpool(directory());
    const mine = [1, 2, 3, 4].map((n) => sentEvent(n));
    for (const each of mine) await held.acknowledge([each], await recorded(plane.client(), [each]));
    await plane.restore();
    const client = plane.client();
    await recorded(
      client,
      [5, 6, 7, 8, 9].map((n) => sentEvent(n, 'others')),
    );
    const keeper = held.keeper(client);
    await keeper.check();
    expect(held.found.filter(({ kind }) => kind === 'lost')).toHaveLength(4);
    // they are queued once, and stay as evidence
    await keeper.check();
    expect([held.queue.waitingEvents, held.spool.held().length]).toEqual([4, 4]);
    for (let left = 4; left > 0; left--) {
      const batch = await held.queue.take(0);
      const { body } = await client.createEvents({
        body: { events: [...(batch?.events ?? [])] },
        idempotencyKey: batch?.key,
      });
      await held.queue.settle(0, batch!, { results: body.results, duplicates: 0 });
    }
    const { body } = await client.listEvents({ query: { runId: 'held' } });
    expect(body.events.map(({ clientEventId }) => clientEventId).toSorted()).toEqual(
      mine.map(({ clientEventId }) => clientEventId),
    );
    await keeper.close(0);
    held.close();
  });

  it('a process killed between a resend and its mark stores events without clientEventId once', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    const held = new HeldSpool(directory());
    const { clientEventId: _id, ...mine } = sentEvent(1);
    await held.acknowledge([mine], await recorded(plane.client(), [mine]));
    await plane.restore();
    const client = plane.client();
    await recorded(
      client,
      [5, 6, 7, 8, 9].map((n) => sentEvent(n, 'others')),
    );
    const killed = held.keeper(client, Date.now, () => {
      throw new Error('killed');
    });
    await killed.close();
    expect(held.found.map(({ kind }) => kind)).toEqual(['unchecked']);
    held.close();
    const again = new HeldSpool(directory());
    await again.keeper(client).close();
    expect([again.queue.waitingEvents, again.found]).toEqual([2, [{ kind: 'lost', events: 1 }]]);
    for (let left = 2; left > 0; left--) {
      const batch = await again.queue.take(0);
      const delivered = await deliverHere(batch!, client);
      await again.queue.settle(0, batch!, delivered);
    }
    again.close();
    const { body } = await client.listEvents({ query: { runId: 'held' } });
    expect(body.events.map(({ metadata }) => metadata)).toEqual([mine.metadata]);
  });

  it('an older service, a service that is away and one that refuses the key break nothing', async () => {
    const held = new HeldSpool(directory());
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    for (const client of [
      createClient({ baseUrl: 'http://127.0.0.1:9/api/v1', env: {}, retries: 0 }),
      createClient({ baseUrl: plane.baseUrl, apiKey: 'gov_nobody', env: {}, retries: 0 }),
      createClient({
        baseUrl: plane.baseUrl.replace('/api/v1', '/api/v0'),
        apiKey: plane.key,
        env: {},
        retries: 0,
      }),
    ])
      await held.keeper(client).close();
    expect(held.found.map(({ kind }) => kind)).toEqual(['unchecked', 'unchecked', 'unchecked']);
    expect(held.spool.held()).toHaveLength(1);
    held.close();
  });

  it('receipts stay limits.heldDays, and not longer', async () => {
    const held = new HeldSpool(directory());
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    const away = createClient({ baseUrl: 'http://127.0.0.1:9/api/v1', env: {}, retries: 0 });
    const days = (count: number) => () => Date.now() + count * 86_400_000;
    await held.keeper(away, days(limits.heldDays - 0.01)).close();
    expect(held.spool.held()).toHaveLength(1);
    await held.keeper(away, days(limits.heldDays + 0.01)).close();
    expect(held.spool.held()).toEqual([]);
    held.close();
  });

  it('receipts hold at most limits.heldBytes of batches, and the oldest go first', async () => {
    const held = new HeldSpool(directory());
    const receipts = await recorded(plane.client(), [sentEvent(1)]);
    const large = (n: number, chars: number) => ({ ...sentEvent(n), metadata: { text: 'x'.repeat(chars) } });
    await held.acknowledge([large(0, 1000)], receipts);
    const part = limits.heldBytes / 8;
    for (let n = 1; n < 8; n++) await held.acknowledge([large(n, part - 2000)], receipts);
    const used = (): number => held.spool.held().reduce((sum, { length }) => sum + length, 0);
    const { length } = held.spool.held()[1]!;
    // a line of as many digits as the others, so that the bytes around the text are the same
    await held.acknowledge([large(8, limits.heldBytes - used() - (length - part + 2000))], receipts);
    expect([used(), held.spool.held().length]).toEqual([limits.heldBytes, 9]);
    await held.acknowledge([large(9, 1)], receipts);
    expect(
      held.spool
        .held()
        .map((each) => each.length)
        .indexOf(length),
    ).toBe(0);
    expect(held.spool.held()).toHaveLength(9);
    held.close();
    expect(existsSync(join(directory(), '00000001.queue'))).toBe(true);
  });
});
