import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ed25519Signer, openCheckpoint, type CheckpointSigner } from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { Checkpoints, openOwn } from '../../../src/service/log/checkpoints.ts';
import { silentLog, type Log } from '../../../src/service/call/log.ts';
import type { Store } from '../../../src/store/port/store.ts';
import type { Project } from '../../../src/store/port/store.ts';
import { openStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';

const project: Project = {
  projectId: 'prj_a',
  organizationId: 'org_a',
  environment: 'production',
  auditOrigin: 'gov.local/a/audit',
  meteringOrigin: 'gov.local/a/metering/0',
};
const { privateKey } = generateKeyPairSync('ed25519');
const leaf = () => draftLeaf('gov.key/1', { random: randomBytes(4).toString('hex') });

let folder: string;
let store: SqliteStore;
let nowMs: number;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gov-checkpoints-'));
  nowMs = 1_767_225_600_000;
  store = openStore({ dataDir: folder, clock: { now: () => nowMs }, randomBytes, reserveBytes: 0 });
  await store.createProject(project, draftLeaf('gov.genesis/1', {}));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const grow = () => store.append({ projectId: 'prj_a', leaves: [leaf()], meter: { op: 'none', units: 0 } });
const signersOf = (origin: string): readonly CheckpointSigner[] => [ed25519Signer(origin, privateKey)];
const make = (signers = signersOf, log: Log = silentLog) =>
  new Checkpoints({ store, now: () => nowMs, log, signers });

describe('checkpoints', () => {
  it('checkpoints are signed for the current head, and once for the same head', async () => {
    const checkpoints = make();
    const first = await checkpoints.sign('prj_a');
    expect(first.checkpoint).toMatchObject({ origin: project.auditOrigin, size: 1 });
    expect((await checkpoints.sign('prj_a')).note).toBe(first.note);
    await grow();
    const second = await checkpoints.sign('prj_a');
    expect(second.checkpoint.size).toBe(2);
    const key = parseVerifierKey(ed25519Signer(project.auditOrigin, privateKey).verifierKey);
    expect(openCheckpoint(second.note, [key], project.auditOrigin).checkpoint).toEqual(second.checkpoint);
    expect(await store.newestCheckpoint('prj_a', 'audit')).toBe(second.note);
  });

  it('concurrent requests for checkpoints never go backwards, and cover everything before them', async () => {
    const checkpoints = make();
    const signed = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        await grow();
        const { size } = await store.head('prj_a', 'audit');
        const { checkpoint } = await checkpoints.sign('prj_a');
        expect(checkpoint.size, `${at}`).toBeGreaterThanOrEqual(size);
        return checkpoint.size;
      }),
    );
    expect(openOwn((await store.newestCheckpoint('prj_a', 'audit')) ?? '').size).toBe(Math.max(...signed));
  });

  it('checkpoints cover both trees of a log that grew, and none when nothing grew', async () => {
    const checkpoints = make();
    await checkpoints.signGrown();
    expect(await store.newestCheckpoint('prj_a', 'metering')).toBeNull();
    checkpoints.grew('prj_a');
    await checkpoints.signGrown();
    for (const tree of ['audit', 'metering'] as const) {
      const { size } = await store.head('prj_a', tree);
      expect(openOwn((await store.newestCheckpoint('prj_a', tree)) ?? '').size).toBe(size);
    }
  });

  it('checkpoints that cannot be signed are stale after ten seconds, and fresh once they can', async () => {
    let broken = true;
    const checkpoints = make((origin) => {
      if (broken) throw new Error('no key');
      return [ed25519Signer(origin, privateKey)];
    });
    checkpoints.grew('prj_a');
    await checkpoints.signGrown();
    expect(checkpoints.fresh()).toBe(true);
    nowMs += 10_001;
    await checkpoints.signGrown();
    expect(checkpoints.fresh()).toBe(false);
    broken = false;
    await checkpoints.signGrown();
    expect(checkpoints.fresh()).toBe(true);
    await checkpoints.stop();
  });

  it('checkpoints wait for work between them, and that work waits for them', async () => {
    const checkpoints = make();
    const { size: before } = await store.head('prj_a', 'audit');
    const first = checkpoints.sign('prj_a');
    let isOver = false;
    const between = checkpoints.between('prj_a', async () => {
      expect(openOwn((await store.newestCheckpoint('prj_a', 'audit')) ?? '').size).toBe(before);
      await grow();
      expect(await store.newestCheckpoint('prj_a', 'metering')).toBeNull();
      isOver = true;
    });
    const after = (['audit', 'metering'] as const).map(async (tree) => {
      const { checkpoint } = await checkpoints.sign('prj_a', tree);
      expect([isOver, checkpoint.size]).toEqual([true, (await store.head('prj_a', tree)).size]);
    });
    await Promise.all([first, between, ...after]);
    await expect(checkpoints.between('prj_a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await checkpoints.sign('prj_a');
  });

  it('checkpoints that fail every second for the same reason are logged once, and again for another reason', async () => {
    const logged: string[] = [];
    let reason = 'full';
    const checkpoints = make(
      () => {
        throw new Error(reason);
      },
      { ...silentLog, error: (_details, text) => logged.push(`${reason}: ${text}`) },
    );
    checkpoints.grew('prj_a');
    for (const why of ['full', 'full', 'full', 'broken', 'broken', 'full']) {
      reason = why;
      await checkpoints.signGrown();
    }
    expect(logged.map((line) => line.slice(0, line.indexOf(':')))).toEqual(['full', 'broken', 'full']);
  });

  it('logs without a checkpoint are looked for at the start, and once a minute', async () => {
    const looks: [number, number][] = [];
    const unsigned: Store['unsigned'] = async (beforeMs, limit) => {
      looks.push([nowMs - beforeMs, limit]);
      return store.unsigned(beforeMs, limit);
    };
    const options = { now: () => nowMs, log: silentLog, signers: signersOf };
    const checkpoints = new Checkpoints({ ...options, store: { ...store, unsigned } });
    const look = async (laterMs: number): Promise<number> => {
      nowMs += laterMs;
      checkpoints.start();
      await checkpoints.stop();
      return looks.length;
    };
    expect(await look(5001)).toBe(1); // whoever made the project would have signed by now
    expect(openOwn((await store.newestCheckpoint('prj_a', 'metering')) ?? '').size).toBe(1);
    expect([await look(59_999), await look(1), await look(59_999), await look(1)]).toEqual([1, 2, 2, 3]);
    expect(looks[0]).toEqual([5000, 500]);
  });
});
