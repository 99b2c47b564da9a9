/** The signed heads that a lane sends to a receiver, over a real store. */
import { expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { openTrustedCheckpoint, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { ed25519Signer, parseVerifierKey } from '../../../src/core/note/signed.ts';
import { targetOf } from '../../../src/host/forwards/config.ts';
import { Lane } from '../../../src/host/forwards/lane.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { privateKey } from '../../core/proofs/log.ts';
import {
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
  stored,
} from '../../store/support/fixture.ts';

it('a receiver that is up to date gets the newest signed head, at most every few minutes', async () => {
  const dataDir = newFolder();
  const clock = new HandClock();
  const store = openStore({ dataDir, clock, randomBytes: seededBytes('heads'), reserveBytes: 0 });
  await store.createProject(projectOf('a'), genesis('a'));
  const origin = projectOf('a').auditOrigin;
  const signer = ed25519Signer(origin, privateKey('heads'));
  const trust = { origin, keys: [parseVerifierKey(signer.verifierKey)], witnesses: [], quorum: 0 };
  const sign = async (): Promise<number> => {
    const { size, root } = await store.head('prj_a', 'audit');
    const checkpoint = { origin, size, root, extensions: [] };
    await store.saveCheckpoint('prj_a', 'audit', checkpoint, () => signCheckpoint(checkpoint, [signer]));
    return size;
  };
  const heads: number[] = [];
  const file = { name: 'siem', to: 'https://siem.example/in', from: 'start', content: 'none' } as const;
  const source = { projectId: 'prj_a', organizationId: 'org_a', environment: 'production', origin } as const;
  const lane = new Lane(targetOf(file, { from: 'test', dataDir }), source, {
    store,
    now: () => clock.now(),
    random: () => 1,
    log: silentLog,
    hostname: 'here',
    owner: 'one',
    isShared: false,
    open: async () => ({
      send: async ({ lines }) => {
        for (const { text } of lines) {
          const { eventType, data } = JSON.parse(text);
          if (eventType === 'gov.forward.head')
            heads.push(openTrustedCheckpoint(data.checkpoint, trust).checkpoint.size);
        }
        return { ok: true, isKept: true };
      },
      close: () => {},
    }),
  });

  await stored(store, request([event()]));
  expect(await lane.turn()).toMatchObject({ next: 'later' });
  expect(heads).toEqual([]);
  const first = await sign();
  await lane.turn();
  await stored(store, request([event()]));
  const second = await sign();
  await lane.turn();
  expect(heads).toEqual([first]);
  clock.ms += limits.forwardHeadSeconds * 1000;
  await lane.turn();
  expect((await lane.turn()).next).toBe('wait');
  expect(heads).toEqual([first, second]);
  await store.close();
  dropFolder(dataDir);
});
