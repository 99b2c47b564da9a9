/** fsck accepts a missing record only below a gov.prune/1 leaf whose root is the tree's; the next start does too. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { draftPrune } from '../../../src/core/decided/prune.ts';
import { hashText } from '../../../src/core/hash.ts';
import { merkleRoot } from '../../../src/core/merkle/tree.ts';
import { appended, event, request, stored } from '../support/fixture.ts';
import { digestsOf, erasing } from '../support/erasing.ts';
import { unmetered } from '../support/governance.ts';
import { signHead, TestPlane } from '../support/plane.ts';

const planes: TestPlane[] = [];
let original: TestPlane;
const below = 40;
/** Index of the gov.prune/1 leaf. */
let leaf = 0;

beforeAll(async () => {
  original = await new TestPlane().filled(60);
  const store = original.open();
  await appended(store, request([event({ runId: 'gov.system' })]));
  const digests = [...digestsOf((await store.leaf('prj_a', 7))!).values()];
  await appended(store, erasing([{ index: 7, digests }]));
  const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: below });
  const root = merkleRoot(leaves.map(({ hash }) => hash));
  const record = {
    minIndex: below,
    rootAtMinIndex: hashText(root),
    archiveHash: `sha256:${'0'.repeat(64)}`,
    archiveSize: 1,
    reasonCode: 'test',
    prunedAt: '2026-01-01T00:00:00.000Z',
  };
  const effects = [{ kind: 'prune', minIndex: below, root, leaf: 0 }] as const;
  const { assigned } = await stored(store, unmetered([draftPrune(record)], effects));
  leaf = assigned[0]!.outcome === 'appended' ? assigned[0]!.index : 0;
  await store.dropPruned('prj_a', { from: 0, to: below });
  await signHead(store);
  await store.close();
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => original.drop());

function pruned(): TestPlane {
  const plane = original.copy();
  planes.push(plane);
  return plane;
}
const found = async (plane: TestPlane): Promise<string[]> =>
  (await plane.fsck()).problems.map(({ position, kind }) => `${position} ${kind}`).sort();

describe('fsck of a pruned log', () => {
  it('fsck finds no problem in a pruned log, and the log accepts more events', async () => {
    expect(await found(pruned())).toEqual([]);
    const store = pruned().open();
    expect((await appended(store, request([event()])))[0]!.index).toBe(leaf + 1);
    await store.close();
    expect(pruned().query('SELECT count(*) AS n FROM leaf WHERE idx < 40')).toEqual([{ n: 1 }]);
  });

  it.each([
    [
      'a record that is missing above',
      'DELETE FROM leaf WHERE idx = 45',
      ['prj_a/audit/45 record_missing', 'prj_a/run_event run_mismatch'],
    ],
    ['the first leaf, which is no event', 'DELETE FROM leaf WHERE idx = 0', ['prj_a/run_event run_mismatch']],
    [
      'a pruning that claims more',
      'UPDATE prune SET min_index = 50; DELETE FROM leaf WHERE idx = 45',
      () => [
        ...Array.from({ length: 39 }, (_, at) => `prj_a/audit/${at + 1} record_missing`),
        'prj_a/audit/45 record_missing',
        'prj_a/audit/62 erasure_mismatch',
        `prj_a/audit/${leaf} prune_mismatch`,
        `prj_a/prune/${leaf} prune_mismatch`,
        'prj_a/run_event run_mismatch',
      ],
    ],
    [
      'another root',
      'UPDATE prune SET root = zeroblob(32)',
      () => [
        ...Array.from({ length: 39 }, (_, at) => `prj_a/audit/${at + 1} record_missing`),
        'prj_a/audit/62 erasure_mismatch',
        `prj_a/audit/${leaf} prune_mismatch`,
        `prj_a/prune/${leaf} prune_mismatch`,
        'prj_a/run_event run_mismatch',
      ],
    ],
    [
      'a changed hash of what is gone',
      'UPDATE tile SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE tree = 0 AND level = 0 AND part = 1',
      () => [
        'prj_a/audit/checkpoint/51 root_mismatch',
        'prj_a/audit/checkpoint/61 root_mismatch',
        `prj_a/audit/checkpoint/${leaf + 1} root_mismatch`,
        'prj_a/audit/head root_mismatch',
        'prj_a/metering/1 meter_ref',
        `prj_a/prune/${leaf} root_mismatch`,
      ],
    ],
    [
      'a system event below that is gone',
      'DELETE FROM leaf WHERE idx = 61; UPDATE prune SET min_index = 62',
      () => [`prj_a/run/gov.system run_mismatch`],
    ],
  ])('fsck of a pruned log reports %s', async (_, change, expected) => {
    const plane = pruned();
    plane.sql(change);
    const wanted = typeof expected === 'function' ? expected() : expected;
    const problems = await found(plane);
    for (const each of wanted) expect(problems).toContain(each);
  });
});

describe('the triggers of a pruned log', () => {
  it.each([
    'DELETE FROM leaf WHERE idx = 45',
    'DELETE FROM leaf WHERE idx = 0',
    'DELETE FROM body WHERE idx = 45',
    "DELETE FROM client_event WHERE client_event_id = 'c50'",
    'DELETE FROM prune',
    'UPDATE prune SET min_index = 99',
  ])('the triggers of a pruned log refuse %s', (statement) => {
    expect(() => pruned().guarded(statement)).toThrow(/append-only/);
  });
});
