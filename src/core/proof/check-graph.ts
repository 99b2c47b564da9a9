/**
 * The graph that a bundle encloses: its leaf is in the tree of S, its items are those that the leaf committed to,
 * and, where every body is disclosed, they are what the events say. Attacker controlled; nothing here throws.
 * Proven by `test/core/proof/verify.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { type Bundle, type BundleEdge, type BundleGraph, pathHashes } from './bundle.ts';
import { GraphDerivation } from '../graph/derivation.ts';
import {
  type EdgeItem,
  type GraphFacts,
  graphLeafFields,
  type NodeItem,
  posesAsEvent,
} from '../graph/rows.ts';
import { GraphRows } from '../graph/builder.ts';
import { canonicalize } from '../json/parse.ts';
import { leafHash, verifyInclusion } from '../merkle/tree.ts';
import { type RunEvent, strictObject } from '../event/run-entry.ts';
import type { RunIndex } from '../event/run-index.ts';
import type { Evidence, Statement } from './statement.ts';
import type { CheckList } from './verdict.ts';

export interface GraphContext {
  readonly evidence: Evidence;
  /** The root of checkpoint S, 32 bytes. */
  readonly root: Uint8Array;
  /** All events of the run with their hashes; empty where they are not all enclosed. */
  readonly run: RunIndex;
  /** The statement of `causal_consistency`, if the proof has one. */
  readonly statement: Statement | undefined;
}

/** What the enclosed items amount to; null without a graph, or where it is not the logged one. */
export function checkGraph(
  { graph }: Bundle,
  context: GraphContext,
  checks: CheckList,
): { readonly facts: GraphFacts; readonly graphIndex: number } | null {
  if (graph === undefined) return null;
  const { index, record, inclusion } = graph.leaf;
  const { evidence, root, run, statement } = context;
  const path = pathHashes(inclusion);
  if (!verifyInclusion({ index, size: evidence.treeSize, leaf: leafHash(record), path, root })) {
    checks.fail('graph', 'NOT_INCLUDED', `leaf ${index} is not shown to be in the tree`);
    return null;
  }
  const facts = factsOf(graph, evidence.runId, run);
  if (facts === null) {
    checks.fail('graph', 'GRAPH_MISMATCH', `the items are not those that leaf ${index} commits to`);
    return null;
  }
  const claims = statement?.claims;
  if (claims !== undefined && (claims['graphIndex'] !== index || claims['rootHash'] !== facts.rootHash)) {
    checks.fail('graph', 'GRAPH_MISMATCH', `the layer speaks of another graph than that of leaf ${index}`);
    return null;
  }
  // Without the events the layer cannot be computed again, but this much of it can be seen.
  if (run.length === 0 && statement?.verdict === 'pass' && graph.nodes.some(posesAsEvent)) {
    checks.fail('graph', 'GRAPH_MISMATCH', `a node of leaf ${index} poses as an event`);
  }
  checks.pass('graph', `${facts.nodes.n} nodes, ${facts.edges.n} edges of leaf ${index}`);
  return { facts, graphIndex: index };
}

/** Null where the leaf is not the leaf of these items. */
function factsOf({ leaf, nodes, edges }: BundleGraph, runId: string, run: RunIndex): GraphFacts | null {
  const fields = strictObject(leaf.record);
  const unresolved = fields?.['unresolved'];
  if (fields === null || typeof unresolved !== 'number') return null;
  const rows = new GraphRows(runId, run);
  const references: number[] = [];
  let events = 0;
  for (const node of nodes) {
    if (!rows.nodeItem(node)) return null;
    references.push(node.index === null ? events - 1 - references.length : events++);
  }
  for (const edge of edges) {
    const item = edgeItem(edge, nodes);
    if (item === null) return null;
    rows.edgeBetween(item, references[edge[0]] ?? 0, references[edge[1]] ?? 0);
  }
  const facts = rows.finish(unresolved);
  const expected = canonicalize({
    ...graphLeafFields(runId, facts, fields['sealed'] === true),
    type: 'gov.graph/1',
    _sd: [],
    _sd_alg: 'sha-256',
  });
  return expected === leaf.record ? facts : null;
}

/** Null where a position is beyond the nodes. There are many edges: destructuring goes through an iterator. */
function edgeItem(edge: BundleEdge, nodes: readonly NodeItem[]): EdgeItem | null {
  const from = nodes[edge[0]];
  const to = nodes[edge[1]];
  return from === undefined || to === undefined ? null : { source: from.id, target: to.id, type: edge[2] };
}

/** Derives the graph again from fully disclosed events: it must be what the enclosed items begin with. */
export function checkDerivation({ graph }: Bundle, events: readonly RunEvent[], checks: CheckList): void {
  const runId = events[0]?.clear?.runId;
  if (graph === undefined || runId === undefined) return;
  let nodes = 0;
  let edges = 0;
  let same = true;
  const derivation = new GraphDerivation(runId, {
    node: (node) => {
      if (!isSameNode(graph.nodes[nodes++], node)) same = false;
    },
    edge: ({ source, target, type }) => {
      const enclosed = graph.edges[edges++];
      const isSame =
        enclosed !== undefined &&
        graph.nodes[enclosed[0]]?.id === source &&
        graph.nodes[enclosed[1]]?.id === target &&
        enclosed[2] === type;
      if (!isSame) same = false;
    },
  });
  try {
    for (const event of events) derivation.add(event);
    derivation.finish();
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    same = false;
  }
  if (same) checks.pass('graph_derivation', `${nodes} nodes and ${edges} edges follow from the events`);
  else checks.fail('graph_derivation', 'GRAPH_MISMATCH', 'the events say another graph');
}

const isSameNode = (enclosed: NodeItem | undefined, { id, index, type, dataCommitment }: NodeItem): boolean =>
  enclosed?.id === id &&
  enclosed.index === index &&
  enclosed.type === type &&
  enclosed.dataCommitment === dataCommitment;
