/**
 * Checks of the graph in a bundle: its leaf is in the tree of S, and its items are those that the leaf commits to.
 * If every body is disclosed, the items also follow from the events. Attacker controlled; nothing here throws.
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
  /** All events of the run with their hashes; empty if the bundle does not have all of them. */
  readonly run: RunIndex;
  /** The statement of `causal_consistency`, if the proof has one. */
  readonly statement: Statement | undefined;
}

/** Returns the facts of the graph; null without a graph, or if it is not the logged one. */
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
    checks.fail('graph', 'NOT_INCLUDED', `leaf ${index} has no valid inclusion proof`);
    return null;
  }
  const facts = factsOf(graph, evidence.runId, run);
  if (facts === null) {
    checks.fail('graph', 'GRAPH_MISMATCH', `the items differ from the commitment of leaf ${index}`);
    return null;
  }
  const claims = statement?.claims;
  if (claims !== undefined && (claims['graphIndex'] !== index || claims['rootHash'] !== facts.rootHash)) {
    checks.fail('graph', 'GRAPH_MISMATCH', `the layer is about another graph than leaf ${index}`);
    return null;
  }
  // Without the events the layer cannot be recomputed, but this forgery is visible.
  if (run.length === 0 && statement?.verdict === 'pass' && graph.nodes.some(posesAsEvent)) {
    checks.fail('graph', 'GRAPH_MISMATCH', `a node of leaf ${index} has the id of an event`);
  }
  checks.pass('graph', `${facts.nodes.n} nodes, ${facts.edges.n} edges of leaf ${index}`);
  return { facts, graphIndex: index };
}

/** Returns the facts, null if the leaf does not commit to these items. */
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

/** Null if a position is not in the list of nodes. No destructuring: an iterator is slow for many edges. */
function edgeItem(edge: BundleEdge, nodes: readonly NodeItem[]): EdgeItem | null {
  const from = nodes[edge[0]];
  const to = nodes[edge[1]];
  return from === undefined || to === undefined ? null : { source: from.id, target: to.id, type: edge[2] };
}

/** Derives the graph from fully disclosed events; the items in the bundle must begin with the result. */
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
  else checks.fail('graph_derivation', 'GRAPH_MISMATCH', 'the graph derived from the events differs');
}

const isSameNode = (enclosed: NodeItem | undefined, { id, index, type, dataCommitment }: NodeItem): boolean =>
  enclosed?.id === id &&
  enclosed.index === index &&
  enclosed.type === type &&
  enclosed.dataCommitment === dataCommitment;
