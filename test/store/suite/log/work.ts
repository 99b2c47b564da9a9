/** Effects: proofs, graphs and their seals; staged graph rows. */
import { describe, expect, it } from 'vitest';
import { declarationHash } from '../../../../src/core/graphs/declaration.ts';
import { draftLeaf } from '../../../../src/core/events/record.ts';
import type { Store, StoredGraph, StoredProof } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { appended, codeOf, event, request, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

const none = { op: 'none', units: 0 } as const;

type ProofDraft = Omit<StoredProof, 'leafIndex'>;

const proof = (id: string, more: Partial<ProofDraft> = {}): ProofDraft => ({
  proofId: `prf_${id}`,
  runId: 'r1',
  createdMs: startMs,
  proof: '{}',
  preimage: 'gov.proof/v1\n{}',
  statements: { event_integrity: 'one', 'x-9': 'three', causal_consistency: 'two' },
  treeSize: 1,
  graphIndex: null,
  ...more,
});

const graph = (id: string): Omit<StoredGraph, 'leafIndex'> => ({
  graphId: `grp_${id}`,
  runId: 'r1',
  events: 1,
  declarationHash: null,
  rootHash: `sha256:${id}`,
  summary: '{}',
});

/** Of a graph that was derived with this declaration. */
const sealOf = (declaration: string | null): Effect => ({
  kind: 'sealGraph',
  runId: 'r1',
  rootHash: 'sha256:1',
  declarationHash: declaration === null ? null : declarationHash(declaration),
  leaf: 0,
});
const seal = sealOf(null);

/** Effects that come with a leaf of their own. */
const withEffects = (store: Store, ...effects: Effect[]) =>
  store.append(request([draftLeaf('gov.proof/1', { n: 1 })], { meter: none, effects }));

describe('proofs', () => {
  it('a proof is stored with its leaf and read back whole, with its statements in order', async () => {
    const { store, reopen, drop } = await open();
    await appended(store, request([event()]));
    await stored(
      store,
      request([draftLeaf('gov.proof/1', { n: 1 }), draftLeaf('gov.proof/1', { n: 2 })], {
        meter: { op: 'compliance_proof', units: 1 },
        effects: [{ kind: 'saveProof', proof: proof('1', { graphIndex: 7 }), leaf: 1 }],
      }),
    );
    const again = await reopen();
    const read = await again.proof('prj_a', 'prf_1');
    expect(read).toEqual({ ...proof('1', { graphIndex: 7 }), leafIndex: 3 });
    expect(Object.keys(read!.statements)).toEqual(['event_integrity', 'x-9', 'causal_consistency']);
    expect(await again.proof('prj_a', 'prf_none')).toBeNull();
    expect((await again.run('prj_a', 'r1'))?.proofs).toBe(1);
    await drop();
  });

  it('a proof has the index of the graph that is logged with it', async () => {
    const { store, drop } = await open();
    const graphLeaf = { kind: 'saveGraph', graph: graph('1'), leaf: 1 } as const;
    await stored(
      store,
      request([draftLeaf('gov.proof/1', { n: 1 }), draftLeaf('gov.graph/1', { n: 2 })], {
        meter: none,
        effects: [graphLeaf, { kind: 'saveProof', proof: proof('1'), leaf: 0, graphLeaf: 1 }],
      }),
    );
    const read = await store.proof('prj_a', 'prf_1');
    expect(read).toEqual({ ...proof('1'), leafIndex: 1, graphIndex: 2 });
    expect(await store.graphAt('prj_a', 2)).toEqual({ ...graph('1'), leafIndex: 2 });
    await drop();
  });

  it('proofs are listed newest first, by run, in pages', async () => {
    const { store, drop } = await open();
    const effects = [3, 1, 2, 5, 4].map((n): Effect => {
      const runId = n === 5 ? 'r2' : 'r1';
      return { kind: 'saveProof', proof: proof(`${n}`, { createdMs: startMs + (n >> 1), runId }), leaf: 0 };
    });
    await withEffects(store, ...effects);
    const ids = async (filter: { runId?: string }, after?: { ms: number; id: string }) =>
      (await store.proofs('prj_a', filter, { ...(after === undefined ? {} : { after }), limit: 3 })).map(
        ({ proofId }) => proofId,
      );
    expect(await ids({})).toEqual(['prf_5', 'prf_4', 'prf_3']);
    expect(await ids({}, { ms: startMs + 1, id: 'prf_3' })).toEqual(['prf_2', 'prf_1']);
    expect(await ids({ runId: 'r1' })).toEqual(['prf_4', 'prf_3', 'prf_2']);
    expect(await ids({ runId: 'r2' })).toEqual(['prf_5']);
    await drop();
  });
});

describe('graphs', () => {
  it('a graph can be declared until it is sealed once', async () => {
    const { store, drop } = await open();
    const declare = (declaration: string): Effect => ({
      kind: 'declareGraph',
      runId: 'r1',
      declaration,
      atMs: startMs,
    });
    await withEffects(store, declare('first'));
    await withEffects(store, declare('second'));
    const save: Effect = { kind: 'saveGraph', graph: graph('1'), leaf: 0 };
    for (const other of [null, 'first']) {
      expect(await codeOf(withEffects(store, save, sealOf(other)))).toBe('CONFLICT');
      const fromHash = other === null ? null : declarationHash(other);
      expect(await codeOf(withEffects(store, { ...declare('third'), fromHash } as Effect))).toBe('CONFLICT');
    }
    await withEffects(store, save, sealOf('second'));
    expect(await codeOf(withEffects(store, declare('third')))).toBe('GRAPH_SEALED');
    expect(await codeOf(withEffects(store, { ...save, graph: graph('2') } as Effect))).toBe('GRAPH_SEALED');
    expect(await codeOf(withEffects(store, seal))).toBe('GRAPH_SEALED');
    expect(await store.graphState('prj_a', 'r1')).toEqual({
      declaration: 'second',
      declaredMs: startMs,
      sealed: { rootHash: 'sha256:1', atMs: startMs },
      newest: { ...graph('1'), leafIndex: 3 },
    });
    expect(await store.graphState('prj_a', 'none')).toEqual({
      declaration: null,
      declaredMs: null,
      sealed: null,
      newest: null,
    });
    await appended(store, request([event()]));
    expect((await store.run('prj_a', 'r1'))?.sealed).toBe(true);
    await drop();
  });

  it('a sealed graph refuses a whole request alone, with its other effects and its leaf', async () => {
    const { store, drop } = await open();
    await withEffects(store, seal);
    const { size } = await store.head('prj_a', 'audit');
    const results = await Promise.allSettled([
      withEffects(store, { kind: 'saveProof', proof: proof('before'), leaf: 0 }),
      withEffects(store, { kind: 'saveProof', proof: proof('refused'), leaf: 0 }, seal),
      withEffects(store, { kind: 'saveProof', proof: proof('after'), leaf: 0 }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store.proof('prj_a', 'prf_refused')).toBeNull();
    expect(await store.proof('prj_a', 'prf_before')).not.toBeNull();
    expect(await store.proof('prj_a', 'prf_after')).not.toBeNull();
    expect((await store.head('prj_a', 'audit')).size).toBe(size + 2);
    await drop();
  });

  it('graphs keep their rows in parts, and the start removes parts that no leaf names', async () => {
    const { store, reopen, drop } = await open();
    const part = (list: 'nodes' | 'edges', number: number) => ({
      list,
      part: number,
      items: Buffer.from(`${list} ${number}`),
    });
    for (const number of [0, 1, 2]) await store.stageGraphPart('prj_a', 'grp_1', part('nodes', number));
    await store.stageGraphPart('prj_a', 'grp_1', part('edges', 0));
    await store.stageGraphPart('prj_a', 'grp_lost', part('nodes', 0));
    await withEffects(store, { kind: 'saveGraph', graph: graph('1'), leaf: 0 });
    const again = await reopen();
    const read = async (graphId: string, list: 'nodes' | 'edges') => {
      const texts: string[] = [];
      for await (const { items } of again.graphParts('prj_a', graphId, list)) {
        texts.push(Buffer.from(items).toString());
      }
      return texts;
    };
    expect(await read('grp_1', 'nodes')).toEqual(['nodes 0', 'nodes 1', 'nodes 2']);
    expect(await read('grp_1', 'edges')).toEqual(['edges 0']);
    expect(await read('grp_lost', 'nodes')).toEqual([]);
    expect(await again.graphAt('prj_a', 1)).toEqual({ ...graph('1'), leafIndex: 1 });
    expect(await again.graphAt('prj_a', 2)).toBeNull();
    await drop();
  });
});
