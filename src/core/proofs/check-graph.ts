/**
 * Checks of the graph in a bundle: its leaf is in the tree of S, and its items are those that the leaf commits to. The
 * graph of a run at S has no leaf there: the statement of its layer commits to its items.
 * If every body is disclosed, the items also follow from the events. Attacker controlled; nothing here throws.
 * Proven by `test/core/proofs/verify.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  type BundleFrame,
  type EdgeList,
  type FrameGraph,
  type IncludedRecord,
  pathHashes,
} from './bundle.ts';
import { GraphDerivation } from '../graphs/derivation.ts';
import {
  type EdgeItem,
  type GraphFacts,
  graphLeafFields,
  type NodeItem,
  posesAsEvent,
} from '../graphs/rows.ts';
import { GraphRows } from '../graphs/builder.ts';
import { isCount } from '../count.ts';
import { canonicalize } from '../json/parse.ts';
import { leafHash, verifyInclusion } from '../merkle/tree.ts';
import { type RunEvent, strictObject } from '../events/run-entry.ts';
import type { RunIndex } from '../events/run-index.ts';
import type { GraphExtent } from './layers.ts';
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

/** A graph that was checked. */
interface CheckedGraph {
  readonly facts: GraphFacts;
  readonly extent: GraphExtent;
}

/** Null without a graph, or if it is not the committed one. */
export function checkGraph(
  { graph }: BundleFrame,
  context: GraphContext,
  checks: CheckList,
): CheckedGraph | null {
  if (graph === undefined) return null;
  const { leaf } = graph;
  const checked =
    leaf === undefined
      ? graphOfLayer(graph, context, checks)
      : graphOfLeaf({ ...graph, leaf }, context, checks);
  if (checked === null) return null;
  const { nodes, edges, events } = checked.facts;
  const { run, evidence, statement } = context;
  const what = leaf === undefined ? 'the run' : `leaf ${leaf.index}`;
  // Without the events the layer cannot be recomputed, but this forgery is visible.
  if (run.length === 0 && statement?.verdict === 'pass' && graph.nodes.some(posesAsEvent)) {
    checks.fail('graph', 'GRAPH_MISMATCH', `a node of ${what} has the id of an event`);
  }
  const part = leaf === undefined || events === evidence.runEvents ? '' : `, its first ${events} events`;
  checks.pass('graph', `${nodes.n} nodes, ${edges.n} edges of ${what}${part}`);
  return checked;
}

/** A graph that its leaf commits to. */
function graphOfLeaf(
  graph: FrameGraph & { readonly leaf: IncludedRecord },
  { evidence, root, run, statement }: GraphContext,
  checks: CheckList,
): CheckedGraph | null {
  const { index, record, inclusion } = graph.leaf;
  const path = pathHashes(inclusion);
  if (!verifyInclusion({ index, size: evidence.treeSize, leaf: leafHash(record), path, root })) {
    checks.fail('graph', 'NOT_INCLUDED', `leaf ${index} has no valid inclusion proof`);
    return null;
  }
  const facts = committedFacts(graph, evidence.runId, run);
  if (facts === null) {
    checks.fail('graph', 'GRAPH_MISMATCH', `the items differ from the commitment of leaf ${index}`);
    return null;
  }
  const claims = statement?.claims;
  if (claims !== undefined && (claims['graphIndex'] !== index || claims['rootHash'] !== facts.rootHash)) {
    checks.fail('graph', 'GRAPH_MISMATCH', `the layer is about another graph than leaf ${index}`);
    return null;
  }
  const through = claims?.['through'];
  return { facts, extent: { graphIndex: index, ...(isCount(through) ? { through } : {}) } };
}

/** The graph of the run at S, which the statement of the layer commits to. */
function graphOfLayer(
  graph: FrameGraph,
  { evidence, run, statement }: GraphContext,
  checks: CheckList,
): CheckedGraph | null {
  const { graphIndex, through, rootHash, unresolved } = statement?.claims ?? {};
  const facts = isCount(unresolved) ? factsOf(graph, evidence.runId, { run, unresolved }) : null;
  if (facts === null || graphIndex !== null || through !== evidence.treeSize || rootHash !== facts.rootHash) {
    checks.fail('graph', 'GRAPH_MISMATCH', 'no statement of causal_consistency commits to the items at S');
    return null;
  }
  return { facts, extent: { graphIndex, through } };
}

/** Returns the facts, null if the leaf does not commit to these items. */
function committedFacts(
  { leaf, ...graph }: FrameGraph & { readonly leaf: IncludedRecord },
  runId: string,
  run: RunIndex,
): GraphFacts | null {
  const fields = strictObject(leaf.record);
  const unresolved = fields?.['unresolved'];
  if (fields === null || typeof unresolved !== 'number') return null;
  const facts = factsOf(graph, runId, { run, unresolved });
  if (facts === null) return null;
  const expected = canonicalize({
    ...graphLeafFields(runId, facts, fields['sealed'] === true),
    type: 'gov.graph/1',
    _sd: [],
    _sd_alg: 'sha-256',
  });
  return expected === leaf.record ? facts : null;
}

/** Returns the facts of the items, null if one is malformed. */
function factsOf(
  { nodes, edges }: Pick<FrameGraph, 'nodes' | 'edges'>,
  runId: string,
  { run, unresolved }: { readonly run: RunIndex; readonly unresolved: number },
): GraphFacts | null {
  const rows = new GraphRows(runId, run);
  const references: number[] = [];
  let events = 0;
  for (const node of nodes) {
    if (!rows.nodeItem(node)) return null;
    references.push(node.index === null ? events - 1 - references.length : events++);
  }
  for (let at = 0; at < edges.length; at++) {
    const item = edgeItem(edges, at, nodes);
    if (item === null) return null;
    rows.edgeBetween(item, references[edges.sourceAt(at)] ?? 0, references[edges.targetAt(at)] ?? 0);
  }
  return rows.finish(unresolved);
}

/** Null if a position is not in the list of nodes. */
function edgeItem(edges: EdgeList, at: number, nodes: readonly NodeItem[]): EdgeItem | null {
  const from = nodes[edges.sourceAt(at)];
  const to = nodes[edges.targetAt(at)];
  return from === undefined || to === undefined
    ? null
    : { source: from.id, target: to.id, type: edges.typeAt(at) };
}

/**
 * Derives the graph from fully disclosed events, one by one; the items in the bundle must begin with the result.
 * Memory: that of `GraphDerivation`.
 */
export class DerivationCheck {
  readonly #derivation: GraphDerivation;
  /** Number of events that the graph covers. */
  readonly #covered: number;
  #events = 0;
  #nodes = 0;
  #edges = 0;
  #same = true;

  constructor(graph: FrameGraph, runId: string) {
    this.#covered = graph.nodes.reduce((count, { index }) => (index === null ? count : count + 1), 0);
    this.#derivation = new GraphDerivation(runId, {
      node: (node) => {
        if (!isSameNode(graph.nodes[this.#nodes++], node)) this.#same = false;
      },
      edge: ({ source, target, type }) => {
        const { nodes, edges } = graph;
        const at = this.#edges++;
        const isSame =
          nodes[edges.sourceAt(at)]?.id === source &&
          nodes[edges.targetAt(at)]?.id === target &&
          edges.typeAt(at) === type;
        if (!isSame) this.#same = false;
      },
    });
  }

  /** Adds the next event of the run, unless the graph does not cover it. */
  add(event: RunEvent): void {
    if (this.#events === this.#covered || !this.#same) return;
    this.#events++;
    this.#try(() => this.#derivation.add(event));
  }

  finish(checks: CheckList): void {
    if (this.#events === 0) return;
    this.#try(() => this.#derivation.end());
    const [nodes, edges] = [this.#nodes, this.#edges];
    if (this.#same)
      checks.pass('graph_derivation', `${nodes} nodes and ${edges} edges follow from the events`);
    else checks.fail('graph_derivation', 'GRAPH_MISMATCH', 'the graph derived from the events differs');
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof GovError)) throw error;
      this.#same = false;
    }
  }
}

const isSameNode = (enclosed: NodeItem | undefined, { id, index, type, dataCommitment }: NodeItem): boolean =>
  enclosed?.id === id &&
  enclosed.index === index &&
  enclosed.type === type &&
  enclosed.dataCommitment === dataCommitment;
