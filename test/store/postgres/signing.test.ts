/** Checkpoints of logs that several processes append to and sign. */
import { generateKeyPairSync } from 'node:crypto';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { ed25519Signer, openCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { Checkpoints, openOwn } from '../../../src/service/log/checkpoints.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { fsckPostgres } from '../../../src/store/postgres/write/fsck.ts';
import { appended, event, genesis, projectOf, request } from '../support/fixture.ts';
import { missing, Processes, server } from './support/described.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const trees = ['audit', 'metering'] as const;

/** As in a process of its own, whose clock is so far off: its notes of one head differ from those of others. */
const signing = (store: Store, { clock }: Processes, aheadMs = 0): Checkpoints =>
  new Checkpoints({
    store,
    now: () => clock.ms + aheadMs,
    log: silentLog,
    signers: (origin) => [ed25519Signer(origin, privateKey)],
  });

async function assertSigned(store: Store, name: string): Promise<void> {
  for (const tree of trees) {
    const origin = tree === 'audit' ? `test/${name}/audit` : `test/${name}/metering/0`;
    const key = parseVerifierKey(ed25519Signer(origin, privateKey).verifierKey);
    const { checkpoint } = openCheckpoint(
      (await store.newestCheckpoint(`prj_${name}`, tree)) ?? '',
      [key],
      origin,
    );
    expect(checkpoint).toMatchObject(await store.head(`prj_${name}`, tree));
  }
}

async function marks({ database }: Processes): Promise<number> {
  const client = new Client({ connectionString: database.superuser });
  await client.connect();
  const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM gov.grown');
  await client.end();
  return Number(rows[0]?.n);
}

describe.skipIf(missing !== null)('two processes that sign', () => {
  it('two processes that sign the same head keep one note of it', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start()];
    for (let round = 0; round < 10; round += 1) {
      await appended(stores[round % 2]!, request([event(), event()]));
      const signed = await Promise.all(
        stores.map((store, at) => signing(store, processes, at * 1000).sign('prj_a')),
      );
      expect(new Set(signed.map(({ checkpoint }) => checkpoint.size))).toEqual(
        new Set([1 + 2 * (round + 1)]),
      );
      expect(new Set(signed.map(({ note }) => note)).size).toBe(1);
    }
    await processes.drop();
  });

  it('two processes that append and sign never contradict each other and sign every head', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start()];
    const signers = stores.map((store) => signing(store, processes));
    const appending = new Set(stores);
    await Promise.all([
      ...stores.map(async (store, at) => {
        for (let round = 0; round < 40; round += 1) {
          await appended(store, request([event()]));
          signers[at]!.grew('prj_a');
        }
        appending.delete(store);
      }),
      ...signers.map(async (checkpoints) => {
        let before = 0;
        while (appending.size > 0) {
          await checkpoints.signGrown();
          const { checkpoint } = await checkpoints.sign('prj_a');
          expect(checkpoint.size).toBeGreaterThanOrEqual(before);
          before = checkpoint.size;
        }
      }),
    ]);
    await Promise.all(signers.map((checkpoints) => checkpoints.signGrown()));
    await assertSigned(stores[0]!, 'a');
    expect(await marks(processes)).toBe(0);
    const report = await fsckPostgres({ url: processes.database.serving, deep: true });
    expect([report.problems, report.checkpoints > 2]).toEqual([[], true]);
    await processes.drop();
  });

  it('a process signs the heads that an ended process left unsigned, at its start and later', async () => {
    const processes = await Processes.on(server);
    const ended = await processes.start();
    for (const name of ['b', 'c']) await ended.createProject(projectOf(name), genesis(name));
    const checkpoints = signing(processes.first, processes);
    const stillActive = await processes.first.unsigned(processes.clock.ms, 10);
    processes.clock.ms += 10_000;
    checkpoints.start();
    await expect.poll(() => marks(processes), { timeout: 5000 }).toBe(0);
    for (const name of ['a', 'b', 'c']) await assertSigned(processes.first, name);
    await appended(ended, request([event()], { projectId: 'prj_b' }));
    processes.clock.ms += 60_000;
    await expect.poll(() => marks(processes)).toBe(0);
    await assertSigned(processes.first, 'b');
    expect(stillActive).toEqual([]);
    expect(openOwn((await ended.newestCheckpoint('prj_c', 'audit'))!).size).toBe(1);
    await checkpoints.stop();
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('the mark of a grown log', () => {
  it('the mark of a grown log stays while a commit that relies on it is not finished', async () => {
    const processes = await Processes.on(server);
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const slow = await processes.start({
      faults: {
        before: async (step) => {
          if (step !== 'write') return;
          reached.resolve();
          await held.promise;
        },
      },
    });
    const waiting = appended(slow, request([event()]));
    await reached.promise;
    await signing(processes.first, processes).sign('prj_a');
    await signing(processes.first, processes).sign('prj_a', 'metering');
    expect(await marks(processes)).toBe(1);
    held.resolve();
    await waiting;
    expect(await processes.first.unsigned(processes.clock.ms + 1, 10)).toEqual(['prj_a']);
    await processes.drop();
  });
});
