/** Kills, restores of the folder of the client, and rotated keys: an honest log is never accused. */
import { cpSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import type { Finding } from '../../../src/client/sending/keeper.ts';
import { Folder } from '../../cli/push/harness.ts';
import { emptyDirectory, govHere } from '../../cli/support/tool.ts';
import { answeredReceipts, deliverHere, HeldSpool, RestoredPlane, sentEvent } from '../support/held.ts';

const rounds = 100;

/** Numbers from 0 to below 1, the same in each run. */
function seededNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A copy as a killed process leaves it: the newest acknowledgement may be torn. */
function copyKilled(from: string, to: string, random: () => number): void {
  cpSync(from, to, { recursive: true, filter: (path) => !basename(path).startsWith('lock') });
  const newest = readdirSync(to)
    .filter((name) => name.endsWith('.acks'))
    .toSorted()
    .at(-1);
  if (newest === undefined) return;
  const path = join(to, newest);
  truncateSync(path, Math.max(0, statSync(path).size - Math.floor(random() * 900)));
}

it('no finding after 100 kills with restores of the folder and rotations, and gov receipts check ends with 0', async () => {
  const folder = new Folder();
  onTestFinished(() => folder.remove());
  const plane = await RestoredPlane.start();
  onTestFinished(() => plane.end());
  const client = plane.client();
  const random = seededNumbers(20_261_129);
  const found: Finding[] = [];
  const happened = { checks: 0, restores: 0, rotations: 0, sentAgain: 0 };
  const at = (round: number): string => join(folder.path, String(round));
  for (let round = 0; round < rounds; round++) {
    const held = new HeldSpool(at(round));
    for (; held.queue.waitingEvents > 0; happened.sentAgain++) {
      const batch = (await held.queue.take(0))!;
      await held.queue.settle(0, batch, await deliverHere(batch, client));
    }
    for (let n = 0; n < 1 + random() * 2; n++) {
      const events = [sentEvent(round * 10 + n)];
      await held.acknowledge(events, await answeredReceipts(client, events));
    }
    if (random() < 0.5) {
      const keeper = held.keeper(client);
      await keeper.check();
      await keeper.close(0);
      happened.checks++;
    }
    found.push(...held.found);
    const isRestored = random() < 0.2;
    if (isRestored) happened.restores++;
    if (!isRestored) copyKilled(at(round), at(round + 1), random);
    held.close();
    if (isRestored) copyKilled(at(Math.floor(random() * round)), at(round + 1), random);
    if (random() < 0.05) {
      await rotateKeys(plane.dataDir);
      await retireKeys(plane.dataDir);
      happened.rotations++;
    }
  }
  expect(found).toEqual([]);
  expect(Math.min(...Object.values(happened))).toBeGreaterThan(2);
  const options = {
    env: { GOV_CONFIG_DIR: emptyDirectory(), GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key },
    cwd: folder.path,
    now: Date.now(),
  };
  expect((await govHere(['trust', 'fetch', '-O', 'keys'], options)).code).toBe(0);
  // the folder of each process, with receipts of all keys
  for (let round = 0; round <= rounds; round += 10) {
    const words = ['receipts', 'check', `--spool=${at(round)}`, '--trust', 'keys', '-o', 'json'];
    const { code, stdout } = await govHere(words, options);
    expect([code, stdout]).toEqual([
      0,
      expect.not.stringMatching(/broken|lost_admitted|content_differs|refused/),
    ]);
  }
}, 300_000);
