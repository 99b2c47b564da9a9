/** The kept rows of a logged graph, a part at a time; the other half of `derive.ts`. */
import { inflateRawSync } from 'node:zlib';
import type { StoreReader } from '../../store/port/store.ts';

export async function* graphRows(
  reader: StoreReader,
  graph: { readonly projectId: string; readonly graphId: string; readonly list: 'nodes' | 'edges' },
): AsyncGenerator<string[], void, undefined> {
  const { projectId, graphId, list } = graph;
  for await (const { items } of reader.graphParts(projectId, graphId, list)) {
    yield inflateRawSync(items).toString('utf8').split('\n');
  }
}
