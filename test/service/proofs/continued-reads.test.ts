/** What a proof reads of a run that an earlier proof of the same thread has read: later leaves alone, while none is lost. */
import { expect, it } from 'vitest';
import { tasks } from '../../../src/service/tasks.ts';
import type { LayersInput, TaskContext } from '../../../src/service/call/work.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { appended, event, request } from '../../store/support/fixture.ts';
import { createPolicy, evaluation, unmetered } from '../../store/support/governance.ts';
import { dropPlanes, masterKey, recorded } from '../../store/support/subjects.ts';

dropPlanes();

const of = { projectId: 'prj_a', runId: 'r1' };

/** A plane with events of a run at the leaves 1 to 4, and a context of tasks that notes which leaves of runs they read. */
async function noting() {
  const { plane, store } = await recorded();
  const reader = openReader(storeFiles(plane.dataDir).main, masterKey);
  const seen = new Set<number>();
  const context: TaskContext = {
    reader: {
      ...reader,
      runLeaves: async (...asked) => noted(await reader.runLeaves(...asked)),
      leavesOf: async (...asked) => noted(await reader.leavesOf(...asked)),
    },
    // the tasks of this test call no other
    host: { stage: async () => {} } as unknown as TaskContext['host'],
    breathe: async () => {},
  };
  const noted = <Each extends { readonly index: number }>(leaves: Each[]): Each[] => {
    for (const { index } of leaves) seen.add(index);
    return leaves;
  };
  const reads = async <Result>(work: () => Promise<Result>): Promise<readonly [Result, number[]]> => {
    seen.clear();
    const result = await work();
    return [result, [...seen].sort((a, b) => a - b)];
  };
  return { plane, store, reader, context, reads };
}

it('the graph and the checks of the next proof read later events alone, with the result of a read of all', async () => {
  const { plane, store, reader, context, reads } = await noting();
  const graph = async (proves: boolean) => {
    const { size: treeSize } = await reader.head('prj_a', 'audit');
    return tasks.deriveGraph(context, { ...of, graphId: 'grp_1', treeSize, proves });
  };
  expect((await reads(() => graph(true)))[1]).toEqual([1, 2, 3, 4]);
  await appended(store, request([event(), event({ runId: 'r2' }), event()]));
  const [continued, later] = await reads(() => graph(true));
  expect(later).toEqual([5, 7]);
  const [{ facts }, all] = await reads(() => graph(false));
  expect(all).toEqual([1, 2, 3, 4, 5, 7]);
  expect(continued.facts).toEqual(facts);
  expect(continued.integrity?.run).toMatchObject({ runEvents: 6, firstIndex: 1, lastIndex: 7 });
  await store.close();
  plane.sql('DELETE FROM body WHERE idx = 4');
  const lost = 'leaf 4 of the audit log lacks a field that was not erased';
  await expect(graph(true)).rejects.toThrow(lost);
  await expect(graph(true)).rejects.toThrow(lost);
  reader.close();
});

it('policy compliance of the next proof reads later leaves alone, and names the leaf of a lost field', async () => {
  const { plane, store, reader, context, reads } = await noting();
  await appended(store, createPolicy('1'));
  await appended(store, unmetered([evaluation('1')]));
  const compliance = async (): Promise<string> => {
    const { size: treeSize } = await reader.head('prj_a', 'audit');
    const input: LayersInput = {
      ...of,
      layers: ['policy_compliance'],
      treeSize,
      origin: 'example.com/a/audit',
      keys: [],
      nonces: { policy_compliance: 'AAAAAAAAAAAAAAAAAAAAAA' },
      witnesses: { quorum: 0 },
      graph: null,
      events: 9,
    };
    const { layers } = await tasks.layers(context, input);
    return layers[0]!.statement;
  };
  const decided = (read: readonly number[], from: number): number[] => read.filter((index) => index > from);
  const [, first] = await reads(compliance);
  expect(decided(first, 4)).toContain(6);
  await appended(store, unmetered([evaluation('2')]));
  const [statement, later] = await reads(compliance);
  expect(later).toContain(7);
  expect(later).not.toContain(6);
  expect(statement).toContain('"n":2');
  await store.close();
  plane.sql('DELETE FROM body WHERE idx = 4');
  await expect(compliance()).rejects.toThrow('leaf 4 of the audit log lacks a field that was not erased');
  reader.close();
});
