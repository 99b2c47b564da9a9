/** Signed checkpoints: what is kept, found and refused. */
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../../src/core/note/checkpoint.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import { appended, codeOf, event, genesis, projectOf, request } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

const sign = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n\n— test sig\n`;

const headOf = async (store: Store): Promise<Checkpoint> => ({
  origin: 'test/a/audit',
  ...(await store.head('prj_a', 'audit')),
  extensions: [],
});

describe('checkpoints', () => {
  it('checkpoints are found by size after they were saved, and one size is signed once', async () => {
    const { store, reopen, drop } = await open();
    const notes: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      await appended(store, request(Array.from({ length: 10 }, () => event())));
      notes.push(await store.saveCheckpoint('prj_a', 'audit', await headOf(store), sign));
    }
    let signed = 0;
    const again = await store.saveCheckpoint('prj_a', 'audit', await headOf(store), (checkpoint) => {
      signed += 1;
      return sign(checkpoint);
    });
    expect([again, signed]).toEqual([notes[2], 0]);
    const restarted = await reopen();
    expect(await restarted.newestCheckpoint('prj_a', 'audit')).toBe(notes[2]);
    expect(await restarted.checkpointFrom('prj_a', 'audit', 12)).toBe(notes[1]);
    expect(await restarted.checkpointFrom('prj_a', 'audit', 21)).toBe(notes[1]);
    expect(await restarted.checkpointFrom('prj_a', 'audit', 32)).toBeNull();
    expect(await restarted.checkpointBelow('prj_a', 'audit', 21)).toBe(notes[0]);
    expect(await restarted.checkpointBelow('prj_a', 'audit', 11)).toBeNull();
    expect(await restarted.newestCheckpoint('prj_a', 'metering')).toBeNull();
    await drop();
  });

  it('checkpoints include their witness lines, and the most cosigned one is found', async () => {
    const { store, reopen, drop } = await open();
    const notes: string[] = [];
    const sizes: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      await appended(store, request([event()]));
      const head = await headOf(store);
      sizes.push(head.size);
      notes.push(await store.saveCheckpoint('prj_a', 'audit', head, sign));
    }
    const by = (name: string, line = `— ${name} sig\n`) => ({ key: `${name}+0a0b0c0d`, line });
    expect(await store.witnessedCheckpoint('prj_a', 'audit', 0)).toBeNull();
    await store.saveCosignatures('prj_a', 'audit', sizes[1] ?? 0, [by('w2')]);
    await store.saveCosignatures('prj_a', 'audit', sizes[2] ?? 0, [by('w2'), by('w1')]);
    await store.saveCosignatures('prj_a', 'audit', sizes[2] ?? 0, [by('w1', '— w1 again\n')]);
    await store.saveCosignatures('prj_a', 'audit', sizes[3] ?? 0, [by('w3'), by('w1')]);
    const restarted = await reopen();
    const cosigned = [
      notes[0],
      `${notes[1]}— w2 sig\n`,
      `${notes[2]}— w1 sig\n— w2 sig\n`,
      `${notes[3]}— w1 sig\n— w3 sig\n`,
    ];
    for (const [at, size] of sizes.entries()) {
      expect(await restarted.checkpointFrom('prj_a', 'audit', size)).toBe(cosigned[at]);
    }
    expect(await restarted.newestCheckpoint('prj_a', 'audit')).toBe(cosigned[3]);
    expect(await restarted.checkpointBelow('prj_a', 'audit', sizes[3] ?? 0)).toBe(cosigned[2]);
    expect(await restarted.witnessedCheckpoint('prj_a', 'audit', 0)).toBe(cosigned[2]);
    expect(await restarted.witnessedCheckpoint('prj_a', 'audit', sizes[3] ?? 0)).toBe(cosigned[3]);
    expect(await restarted.witnessedCheckpoint('prj_a', 'audit', 1 + (sizes[3] ?? 0))).toBeNull();
    expect(await restarted.witnessedCheckpoint('prj_a', 'metering', 0)).toBeNull();
    await drop();
  });

  it('missing checkpoints are found until both trees have them', async () => {
    const { store, clock, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const unsigned = async (from = store, limit = 10) =>
      (await from.unsigned(clock.ms + 1, limit)).toSorted();
    const signBoth = async (name: string) => {
      for (const tree of ['audit', 'metering'] as const) {
        const origin = tree === 'audit' ? `test/${name}/audit` : `test/${name}/metering/0`;
        const head = await store.head(`prj_${name}`, tree);
        await store.saveCheckpoint(`prj_${name}`, tree, { origin, ...head, extensions: [] }, sign);
      }
    };
    expect(await unsigned()).toEqual(['prj_a', 'prj_b']);
    expect(await unsigned(store, 1)).toHaveLength(1);
    expect(await store.unsigned(clock.ms, 10)).toEqual([]); // somebody is appending, who will sign
    await store.saveCheckpoint('prj_a', 'audit', await headOf(store), sign);
    expect(await unsigned()).toEqual(['prj_a', 'prj_b']);
    await signBoth('a');
    expect(await unsigned()).toEqual(['prj_b']);
    await signBoth('b');
    expect(await unsigned()).toEqual([]);
    await appended(store, request([event()]));
    expect(await unsigned(await reopen())).toEqual(['prj_a']);
    await drop();
  });

  it('a checkpoint of an older head of this log is still accepted', async () => {
    const { store, drop } = await open();
    await appended(store, request([event()]));
    const older = await headOf(store);
    await appended(store, request([event()]));
    await store.saveCheckpoint('prj_a', 'audit', await headOf(store), sign);
    expect(await store.saveCheckpoint('prj_a', 'audit', older, sign)).toBe(sign(older));
    await drop();
  });

  it('a checkpoint of a head that the store did not return is refused and not signed', async () => {
    const { store, drop } = await open();
    await appended(store, request([event()]));
    const head = await headOf(store);
    const attempts: Checkpoint[] = [
      { ...head, root: Buffer.alloc(32, 1) },
      { ...head, size: head.size + 1 },
      { ...head, origin: 'test/b/audit' },
    ];
    for (const attempt of attempts) {
      const refused = store.saveCheckpoint('prj_a', 'audit', attempt, () => {
        throw new Error('it was signed');
      });
      expect(await codeOf(refused)).toBe('CONFLICT');
    }
    expect(await store.newestCheckpoint('prj_a', 'audit')).toBeNull();
    await drop();
  });
});
