/** fsck on whole logs: of several projects, beside a writer, with signatures. */
import { generateKeyPairSync } from 'node:crypto';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ed25519Signer, formatTrust, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../src/core/note/signed.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import {
  codeOf,
  event,
  genesis,
  newFolder,
  dropFolder,
  projectOf,
  request,
  stored,
} from '../support/fixture.ts';
import { createPolicy, decideApproval, movePolicy, openApproval } from '../support/governance.ts';
import { TestPlane } from '../support/plane.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});
function newPlane(): TestPlane {
  const plane = new TestPlane();
  undo.push(() => plane.drop());
  return plane;
}

describe('fsck', () => {
  it('fsck finds no problem in a whole log and reports its counts and its progress', async () => {
    const plane = await newPlane().filled(2500);
    const seen: number[] = [];
    const report = await fsck({
      dataDir: plane.dataDir,
      deep: true,
      onProgress: ({ done, of }) => {
        expect(of).toBe(2501 + 51);
        seen.push(done);
      },
    });
    expect(report).toEqual({
      ok: true,
      problems: [],
      found: 0,
      projects: 1,
      leaves: 2501 + 51,
      checkpoints: 2,
      unopened: 0,
      deep: true,
    });
    expect(seen).toEqual([1000, 2000, 2501, 2552]);
  });

  it('fsck finds summaries of a long run that were changed, removed or added', async () => {
    const long = await newPlane().filled(3200); // three runs of a block and some events
    expect((await long.fsck()).problems).toEqual([]);
    const problemsAfter = async (statement: string) => {
      const copy = long.copy();
      undo.push(() => copy.drop());
      copy.sql(statement);
      return (await copy.fsck()).problems.map(({ position, kind }) => `${position} ${kind}`);
    };
    for (const change of ['last_ms = last_ms - 1', 'events = 1', 'type_no = type_no + 9']) {
      expect(await problemsAfter(`UPDATE run_block SET ${change} WHERE run_no = 2`)).toEqual([
        'prj_a/run_block/2/0 counter_mismatch',
      ]);
    }
    expect(await problemsAfter('DELETE FROM run_block WHERE run_no = 3')).toEqual([
      'prj_a/run_block/3/0 counter_mismatch',
    ]);
    expect(await problemsAfter('INSERT INTO run_block VALUES (1, 1, 1, 1, 5, 0, 9)')).toEqual([
      'prj_a/run_block counter_mismatch',
    ]);
  });

  it('fsck finds no problem while a writer appends', async () => {
    const plane = newPlane();
    const store = plane.open();
    await store.createProject(projectOf('a'), genesis('a'));
    await store.createProject(projectOf('b'), genesis('b'));
    const writing = { on: true };
    const writer = (async () => {
      for (let round = 0; writing.on; round += 1) {
        const projectId = round % 2 === 0 ? 'prj_a' : 'prj_b';
        const drafts = Array.from({ length: 1 + (round % 30) }, (_, at) => event({ runId: `r${at % 4}` }));
        await stored(store, request(drafts, { projectId }));
        const status = round % 2 === 0 ? 'active' : 'disabled';
        await stored(store, round === 0 ? createPolicy('1') : movePolicy('1', status, { revision: round }));
        await stored(store, openApproval(`${round}`));
        await stored(store, decideApproval(`${round}`, 'approved'));
      }
    })();
    for (let time = 0; time < 8; time += 1) {
      const report = await plane.fsck();
      expect(report.problems).toEqual([]);
      expect(report.projects).toBe(2);
    }
    writing.on = false;
    await writer;
    await store.close();
    expect((await plane.fsck()).ok).toBe(true);
  });

  it('fsck --deep checks the signatures of checkpoints against the trust file of the plane', async () => {
    const plane = newPlane();
    const store = plane.open();
    await store.createProject(projectOf('a'), genesis('a'));
    const key = generateKeyPairSync('ed25519').privateKey;
    const other = generateKeyPairSync('ed25519').privateKey;
    const sign = async (tree: 'audit' | 'metering', signingKey: typeof key): Promise<void> => {
      await stored(store, request([event()]));
      const origin = `test/a/${tree === 'audit' ? 'audit' : 'metering/0'}`;
      const head = await store.head('prj_a', tree);
      await store.saveCheckpoint('prj_a', tree, { origin, ...head, extensions: [] }, (checkpoint) =>
        signCheckpoint(checkpoint, [ed25519Signer(origin, signingKey)]),
      );
    };
    const origin = 'test/a/audit';
    const keys = [parseVerifierKey(ed25519Signer(origin, key).verifierKey)];
    writeFileSync(join(plane.dataDir, 'trust'), formatTrust({ origin, keys, witnesses: [], quorum: 0 }));
    await sign('audit', key);
    await sign('metering', key);
    expect((await fsck({ dataDir: plane.dataDir, deep: true })).problems).toEqual([]);
    await sign('audit', other);
    expect((await fsck({ dataDir: plane.dataDir })).ok).toBe(true);
    const { problems } = await fsck({ dataDir: plane.dataDir, deep: true });
    expect(problems).toMatchObject([{ position: 'prj_a/audit/checkpoint/4', kind: 'checkpoint_signature' }]);
    await store.close();
  });

  it('fsck returns NOT_FOUND for a folder without a database', async () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    expect(await codeOf(fsck({ dataDir: folder }))).toBe('NOT_FOUND');
  });

  it('fsck reports pages that it cannot read and continues with the rest', async () => {
    const plane = await newPlane().filled(300);
    const [root] = plane.query<{ rootpage: number }>(
      "SELECT rootpage FROM sqlite_schema WHERE name = 'run_event'",
    );
    const file = openSync(join(plane.dataDir, 'gov.db'), 'r+');
    writeSync(file, Buffer.alloc(8192, 0xff), 0, 8192, (root!.rootpage - 1) * 8192);
    closeSync(file);
    const { ok, problems } = await plane.fsck();
    expect(ok).toBe(false);
    expect(problems.some(({ kind }) => kind === 'file_corrupt')).toBe(true);
  });

  it('fsck lists a thousand problems and counts the others', async () => {
    const plane = await newPlane().filled(700);
    plane.sql("UPDATE leaf SET record = record || ' '");
    const { problems, found } = await plane.fsck();
    expect(problems).toHaveLength(1000);
    expect(found).toBeGreaterThan(1400);
  });
});
