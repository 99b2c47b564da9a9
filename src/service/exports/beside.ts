/**
 * Reads proofs and graphs for an export and checks each stored row against its leaf before anybody gets it.
 * Proven by `test/service/exports/altered.long.test.ts`.
 */
import {
  graphEnd,
  graphMiddle,
  graphStart,
  rootOfGraph,
  rowOfLeaf,
  type ExportLeaf,
} from '../../core/exports/row.ts';
import { graphRoot } from '../../core/graphs/rows.ts';
import { hashText } from '../../core/hash.ts';
import { ListRoot } from '../../core/merkle/list-root.ts';
import type { Leaf, StoredGraph } from '../../store/port/store.ts';
import type { ExportSelection, LeafPages } from './exporting.ts';
import { graphRows } from '../graphs/rows.ts';
import { timeRange } from '../call/pages.ts';
import { contradiction, missingLeaf } from '../log/contradiction.ts';
import type { TaskContext } from '../call/work.ts';

/** Rows of a page; each includes its proof or graph. */
const largePage = 16;

export async function* proofs({ reader, breathe }: TaskContext, exporting: ExportSelection): LeafPages {
  const { projectId, filters, treeSize } = exporting;
  const { startMs = -Infinity, endMs = Infinity } = timeRange(filters, 'body');
  const filter = { beforeIndex: treeSize, ...(filters.runId === undefined ? {} : { runId: filters.runId }) };
  for (let after: number | undefined; ;) {
    const page = { limit: largePage, ...(after === undefined ? {} : { after }) };
    const found = await reader.loggedProofs(projectId, filter, page);
    for (const { leafIndex, proof, createdMs } of found) {
      if (createdMs < startMs || createdMs > endMs) continue;
      const leaf = { ...(await leafAt(reader, projectId, leafIndex)), stored: proof };
      if (!isLogged(leaf, proof)) throw contradiction('the proof', { index: leafIndex });
      yield [leaf];
    }
    after = found.at(-1)?.leafIndex;
    if (found.length < largePage || after === undefined) return;
    await breathe();
  }
}

function isLogged(leaf: ExportLeaf, proof: string): boolean {
  try {
    return rowOfLeaf('compliance_proofs', leaf, proof) !== null;
  } catch {
    return false; // not even a proof
  }
}

/** The newest logged graph of each run. */
export async function* graphs(context: TaskContext, exporting: ExportSelection): LeafPages {
  const { reader, breathe } = context;
  const { projectId, filters, treeSize } = exporting;
  const filter = { beforeIndex: treeSize, ...(filters.runId === undefined ? {} : { runId: filters.runId }) };
  for (let after: number | undefined; ;) {
    const page = { limit: largePage, ...(after === undefined ? {} : { after }) };
    const found = await reader.loggedGraphs(projectId, filter, page);
    for (const graph of found) {
      const leaf = await leafAt(reader, projectId, graph.leafIndex);
      if (rootOfGraph(leaf, graph.runId) !== graph.rootHash)
        throw contradiction('the graph', { index: graph.leafIndex });
      yield [{ ...leaf, pieces: () => piecesOf(context, projectId, graph) }];
    }
    after = found.at(-1)?.leafIndex;
    if (found.length < largePage || after === undefined) return;
    await breathe();
  }
}

/**
 * Writes the row of a graph in parts: a graph of 100,000 nodes is 50 MB. STORAGE_FAULT after the last part where the
 * rows do not have the logged root.
 */
async function* piecesOf(
  { reader, breathe }: TaskContext,
  projectId: string,
  graph: StoredGraph,
): AsyncGenerator<string, void, undefined> {
  const { graphId, runId, leafIndex } = graph;
  const roots = { nodes: new ListRoot(), edges: new ListRoot() };
  yield graphStart(graph);
  for (const list of ['nodes', 'edges'] as const) {
    if (list === 'edges') yield graphMiddle;
    let separator = '';
    for await (const rows of graphRows(reader, { projectId, graphId, list })) {
      for (const row of rows) roots[list].add(`\0${row}`);
      yield separator + rows.join(',');
      separator = ',';
      await breathe();
    }
  }
  const committed = (root: ListRoot) => ({ n: root.size, root: hashText(root.root()) });
  const { hash } = graphRoot(runId, { nodes: committed(roots.nodes), edges: committed(roots.edges) });
  if (hash !== graph.rootHash) throw contradiction('the graph', { index: leafIndex });
  yield graphEnd;
}

async function leafAt(reader: TaskContext['reader'], projectId: string, index: number): Promise<Leaf> {
  const leaf = await reader.leaf(projectId, index);
  if (leaf !== null) return leaf;
  throw missingLeaf(index);
}
