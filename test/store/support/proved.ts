/** Proofs and graphs as store tests make them, each with the leaf that commits to it. */
import { deflateRawSync } from 'node:zlib';
import {
  edgeRow,
  graphLeafFields,
  graphRoot,
  ListCommitter,
  nodeRow,
} from '../../../src/core/graphs/rows.ts';
import { canonicalText } from '../../../src/core/json/parse.ts';
import { composeProof, proofLeafFields } from '../../../src/core/proofs/binding.ts';
import { draftLeaf, type OtherDraft } from '../../../src/core/events/record.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import type { AppendRequest, Store, StoredGraph, StoredProof } from '../../../src/store/port/store.ts';
import { startMs, stored } from './fixture.ts';
import { unmetered } from './governance.ts';

interface Proved {
  readonly leaf: OtherDraft;
  readonly row: Omit<StoredProof, 'leafIndex'>;
}

/** A proof of two layers. */
export function proved(id: string, runId = 'r1'): Proved {
  const statements = { event_integrity: `one of ${id}`, causal_consistency: `two of ${id}` };
  const layers = Object.entries(statements).map(([name, statement]) => ({ name, statement, verified: true }));
  const about = { proofId: `prf_${id}`, runId, schemaVersion: '1.0', timestamp: formatTimestamp(startMs) };
  const { proof, preimage } = composeProof({ ...about, layers });
  const made = { proofId: proof.proofId, runId, createdMs: startMs, treeSize: 1, graphIndex: null };
  return {
    leaf: draftLeaf('gov.proof/1', proofLeafFields(proof), { runId }),
    row: { ...made, proof: canonicalText(proof), preimage, statements },
  };
}

export function logProof(id: string, runId = 'r1'): AppendRequest {
  const { leaf, row } = proved(id, runId);
  return unmetered([leaf], [{ kind: 'saveProof', proof: row, leaf: 0 }]);
}

interface GraphRows {
  readonly nodes: readonly string[];
  readonly edges: readonly string[];
}

export const noRows: GraphRows = { nodes: [], edges: [] };

const dataCommitment = `sha256:${'0'.repeat(64)}`;
const twoRows: GraphRows = {
  nodes: ['a', 'b'].map((id) => nodeRow({ dataCommitment, id, index: null, type: 'model' })),
  edges: [edgeRow({ source: 'a', target: 'b', type: 'used' })],
};

interface GraphOf {
  readonly runId?: string;
  readonly sealed?: boolean;
  readonly rows?: GraphRows;
}

/** The graph of a run: two nodes and an edge, where nothing else is said. */
export function graphed(id: string, { runId = 'r1', sealed = false, rows = twoRows }: GraphOf = {}) {
  const [nodes, edges] = (['nodes', 'edges'] as const).map((list) => {
    const committer = new ListCommitter(list, true);
    for (const row of rows[list]) committer.add(row);
    return { committed: committer.commitment(), chunks: committer.drain({ end: true }) };
  }) as [Committed, Committed];
  const lists = { nodes: nodes.committed, edges: edges.committed };
  const rootHash = graphRoot(runId, lists).hash;
  const facts = { ...lists, rootHash, events: 1, unresolved: 0 };
  const summary = JSON.stringify({ ...lists, unresolved: 0 });
  const made = { graphId: `grp_${id}`, runId, events: 1, declarationHash: null };
  const row: Omit<StoredGraph, 'leafIndex'> = { ...made, rootHash, summary };
  const leaf = draftLeaf('gov.graph/1', graphLeafFields(runId, facts, sealed), { runId });
  return { leaf, row, chunks: [...nodes.chunks, ...edges.chunks] };
}

interface Committed {
  readonly committed: ReturnType<ListCommitter['commitment']>;
  readonly chunks: ReturnType<ListCommitter['drain']>;
}

/** Stages the rows of a graph and logs it. */
export async function logGraph(
  store: Store,
  id: string,
  { projectId = 'prj_a', ...of }: GraphOf & { readonly projectId?: string } = {},
): Promise<void> {
  const { leaf, row, chunks } = graphed(id, of);
  for (const { list, part, rows } of chunks) {
    await store.stageGraphPart(projectId, row.graphId, { list, part, items: deflateRawSync(rows) });
  }
  const { runId, rootHash } = row;
  const seal =
    of.sealed === true
      ? [{ kind: 'sealGraph', runId, rootHash, declarationHash: null, leaf: 0 } as const]
      : [];
  const effects = [{ kind: 'saveGraph', graph: row, leaf: 0 } as const, ...seal];
  await stored(store, unmetered([leaf], effects, { projectId }));
}
