/** Proofs and graphs that were changed or taken away below SQL's guards are found by fsck with their leaf. */
import { deflateRawSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { draftPrune } from '../../../src/core/decided/prune.ts';
import { hashText } from '../../../src/core/hash.ts';
import { merkleRoot } from '../../../src/core/merkle/tree.ts';
import { stored } from '../support/fixture.ts';
import { unmetered } from '../support/governance.ts';
import { TestPlane } from '../support/plane.ts';
import { graphed, logGraph, logProof, noRows } from '../support/proved.ts';

const planes: TestPlane[] = [];
let original: TestPlane;
/** After ten events: proofs at 11 and 12, a graph of run r1 at 13, one that seals r2 at 14, one without rows at 15. */
beforeAll(async () => {
  original = await new TestPlane().filled(10);
  const store = original.open();
  await stored(store, logProof('1'));
  await stored(store, logProof('2', 'r2'));
  await logGraph(store, '1');
  await logGraph(store, '2', { runId: 'r2', sealed: true });
  await logGraph(store, '3', { runId: 'r0', rows: noRows });
  await store.close();
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => original.drop());

function copy(): TestPlane {
  const plane = original.copy();
  planes.push(plane);
  return plane;
}

const found = async (plane: TestPlane, deep = true): Promise<string[]> =>
  (await plane.fsck(deep)).problems.map(({ position, kind }) => `${position} ${kind}`);

const proofAt = (id: number): string => `prj_a/proof/prf_${id} proof_mismatch`;
const graphAt = (place: string): string => `prj_a/${place} graph_mismatch`;
const other = deflateRawSync('{}').toString('hex');
const large = deflateRawSync(Buffer.alloc(20_000_000)).toString('hex');

describe('fsck of changed proofs and graphs', () => {
  it.each([
    ['a proof taken away', 'DELETE FROM proof WHERE leaf_index = 11', [proofAt(1)]],
    ...[
      ['of another run', "run_id = 'r2'"],
      ['of another time', 'created_ms = created_ms + 1'],
      ['with another hash', "proof = replace(proof, 'sha256:', 'sha256:0')"],
      ['with another verdict', "proof = replace(proof, 'true', 'false')"],
      ['that is not one', "proof = '{'"],
      ['in another spelling', "proof = proof || ' '"],
      ['with another text of its hash', "preimage = preimage || ' '"],
      ['with another statement', "statements = replace(statements, 'two of', 'one of')"],
      ['without statements', "statements = '[]'"],
      ['with statements that are none', "statements = '{'"],
    ].map(([what, change]): [string, string, string[]] => [
      `a proof ${what}`,
      `UPDATE proof SET ${change} WHERE proof_id = 'prf_1'`,
      [proofAt(1)],
    ]),
    [
      'a proof of the leaf of another',
      "UPDATE proof SET leaf_index = 12 WHERE proof_id = 'prf_1'",
      Array(2).fill(proofAt(1)),
    ],
    [
      'a proof under another id',
      "UPDATE proof SET proof_id = 'prf_9' WHERE proof_id = 'prf_1'",
      [proofAt(1), proofAt(9)],
    ],
    [
      'a proof that nobody logged',
      "INSERT INTO proof SELECT project, 'prf_9', run_id, created_ms, proof, preimage, statements, tree_size, graph_index, 5 FROM proof WHERE proof_id = 'prf_1'",
      [proofAt(9)],
    ],
    ['a graph taken away', "DELETE FROM graph WHERE graph_id = 'grp_1'", [graphAt('audit/13')]],
    ...[
      ['of another run', "run_id = 'r2'"],
      ['of more events', 'events = 2'],
      ['with another root', "root_hash = 'sha256:0'"],
      ['with another summary', `summary = replace(summary, '"unresolved":0', '"unresolved":1')`],
      ['without a summary', "summary = ''"],
    ].map(([what, change]): [string, string, string[]] => [
      `a graph ${what}`,
      `UPDATE graph SET ${change} WHERE graph_id = 'grp_1'`,
      [graphAt('graph/grp_1')],
    ]),
    [
      'a graph of a leaf that is none',
      "UPDATE graph SET leaf_index = 5 WHERE graph_id = 'grp_1'",
      [graphAt('audit/13'), graphAt('graph/grp_1')],
    ],
    ['a seal taken away', 'DELETE FROM run_graph', [graphAt('run_graph/r2')]],
    [
      'a seal that was opened',
      'UPDATE run_graph SET sealed_hash = NULL, sealed_ms = NULL',
      [graphAt('run_graph/r2')],
    ],
    ['a seal without its time', 'UPDATE run_graph SET sealed_ms = NULL', [graphAt('run_graph/r2')]],
    ['a seal of another graph', "UPDATE run_graph SET sealed_hash = 'x'", [graphAt('run_graph/r2')]],
    [
      'a seal that nobody logged',
      "INSERT INTO run_graph VALUES (1, 'r1', NULL, NULL, 'x', 1)",
      [graphAt('run_graph/r1')],
    ],
  ])('fsck finds %s and reports its position', async (_, statements, expected) => {
    const plane = copy();
    expect(await found(plane)).toEqual([]);
    plane.sql(statements);
    expect(await found(plane)).toEqual(expected);
    expect(await found(plane, false)).toEqual(expected);
  });

  it('fsck reports a missing proof or graph with its leaf and with what to do', async () => {
    const plane = copy();
    plane.sql('DELETE FROM proof WHERE leaf_index = 11; DELETE FROM graph WHERE leaf_index = 13');
    const { problems } = await plane.fsck();
    expect(problems.map(({ expected, got }) => ({ expected, got }))).toEqual([
      {
        expected: expect.stringMatching(/^the proof of run r1 that leaf 11 logs as sha256:[0-9a-f]{64}$/),
        got: 'none: restore it from a backup',
      },
      {
        expected: `the graph of run r1 that leaf 13 logs as ${graphed('1').row.rootHash}`,
        got: 'none: restore it from a backup',
      },
    ]);
  });
});

describe('fsck of graph rows', () => {
  it.each([
    ['taken away', "DELETE FROM graph_part WHERE graph_id = 'grp_1' AND list = 'edges'", 'edges'],
    ['that are others', `UPDATE graph_part SET items = x'${other}' WHERE list = 'nodes'`, 'nodes'],
    ['that cannot be read', "UPDATE graph_part SET items = x'ff' WHERE list = 'nodes'", 'nodes'],
    [
      'that are more than a part has',
      `UPDATE graph_part SET items = x'${large}' WHERE list = 'nodes'`,
      'nodes',
    ],
    [
      'that are too many',
      "INSERT INTO graph_part SELECT project, graph_id, list, 1, items FROM graph_part WHERE graph_id = 'grp_1'",
      'nodes',
    ],
  ])('fsck --deep finds graph rows %s', async (_, statements, list) => {
    const plane = copy();
    plane.sql(statements);
    expect(await found(plane)).toContain(graphAt(`graph/grp_1/${list}`));
    expect(await found(plane, false)).toEqual([]);
  });

  it('fsck accepts graph rows that no leaf names, as a crash leaves them', async () => {
    const plane = copy();
    plane.sql(
      "INSERT INTO graph_part SELECT project, 'grp_9', list, part, items FROM graph_part WHERE graph_id = 'grp_1'",
    );
    expect(await found(plane)).toEqual([]);
  });
});

describe('fsck of a pruned log with proofs', () => {
  it('fsck accepts a pruned log with its proofs and graphs, and reports those that are missing', async () => {
    const plane = copy();
    const store = plane.open();
    const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: 16 });
    const root = merkleRoot(leaves.map(({ hash }) => hash));
    const record = {
      minIndex: 16,
      rootAtMinIndex: hashText(root),
      archiveHash: `sha256:${'0'.repeat(64)}`,
      archiveSize: 1,
      reasonCode: 'test',
      prunedAt: '2026-01-01T00:00:00.000Z',
    };
    const effects = [{ kind: 'prune', minIndex: 16, root, leaf: 0 }] as const;
    await stored(store, unmetered([draftPrune(record)], effects));
    await store.dropPruned('prj_a', { from: 0, to: 16 });
    await store.close();
    expect(plane.query('SELECT count(*) AS n FROM leaf')).toEqual([{ n: 7 }]);
    expect(await found(plane)).toEqual([]);
    plane.sql('DELETE FROM proof; DELETE FROM graph WHERE leaf_index = 13');
    expect(await found(plane)).toEqual([proofAt(1), proofAt(2), graphAt('audit/13')]);
  });
});
