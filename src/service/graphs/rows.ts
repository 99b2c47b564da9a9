/**
 * Reads the stored rows of a logged graph in parts; `derive.ts` writes them. Proven by
 * `test/service/graphs/handlers.engines.test.ts`.
 */
import { inflateRawSync } from 'node:zlib';
import type { StoreReader } from '../../store/port/store.ts';

export async function* graphRows(
  reader: StoreReader,
  graph: {
    readonly projectId: string;
    readonly graphId: string;
    readonly list: 'nodes' | 'edges';
    /** The first part; default 0. */
    readonly from?: number;
  },
): AsyncGenerator<string[], void, undefined> {
  const { projectId, graphId, list, from } = graph;
  for await (const { items } of reader.graphParts(projectId, graphId, list, from)) {
    yield inflateRawSync(items).toString('utf8').split('\n');
  }
}
