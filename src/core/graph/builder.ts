/**
 * Builds the committed graph of a run: from its events (`GraphBuilder`), or again from the kept rows of a
 * logged graph (`GraphRows`), which give the same facts when the bodies are long gone.
 * Proven by `test/core/graph/builder.test.ts` (both ways agree on random runs; known answers).
 */
import { CausalChecks } from './causality.ts';
import { compare, type Declaration } from './declaration.ts';
import {
  type EdgeItem,
  edgeRow,
  type GraphChunk,
  type GraphFacts,
  graphRoot,
  type GraphSink,
  isEventForm,
  ListCommitter,
  type NodeItem,
  nodeRow,
  readEdgeRow,
  readNodeRow,
  runNodeId,
} from './rows.ts';
import { GraphUnion } from './union.ts';
import type { JsonObject } from '../json/parse.ts';
import type { RunEvent } from '../event/run-entry.ts';
import { RunIndex } from '../event/run-index.ts';

/** Derives and commits the graph of a run. Memory: that of the derivation, and 8 bytes an edge. */
export class GraphBuilder {
  private readonly runId: string;
  private readonly rows = new CommittingSink(true);
  private readonly union: GraphUnion;

  constructor(runId: string, declaration: Declaration | null = null) {
    this.runId = runId;
    this.union = new GraphUnion(runId, this.rows, declaration);
  }

  /** Adds the run's next event. STORAGE_FAULT where its record cannot be read. Cost: about 15 µs. */
  add(event: RunEvent): void {
    this.union.add(event);
  }

  /** The chunks of rows that are complete since the last call, to be stored. */
  drain(): GraphChunk[] {
    return this.rows.drain();
  }

  /** Ends the run; afterwards `drain` answers the last chunks. */
  finish(): GraphFacts {
    const { unresolved } = this.union.finish();
    this.rows.end();
    // Bound by construction, but for what was declared: the rows were made of these leaves.
    return this.rows.facts(this.runId, {
      events: this.union.events,
      unresolved,
      nodesBoundToLeaves: true,
    });
  }
}

/** Reads the rows of a logged graph, nodes first, and judges them anew. Attacker controlled; never throws. */
export class GraphRows {
  private readonly runId: string;
  private readonly sink = new CommittingSink(false);
  private readonly reader = new RowReader(this.sink);
  private readonly binding: NodeBinding;
  private wellFormed = true;

  /** `run`: the events of the run with their leaf hashes, at least those that the graph covers. */
  constructor(runId: string, run: RunIndex) {
    this.runId = runId;
    this.binding = new NodeBinding(runId, run);
  }

  node(row: string): void {
    const item = readNodeRow(row);
    if (item === null) this.wellFormed = false;
    else this.nodeItem(item);
  }

  edge(row: string): void {
    if (!this.reader.edge(row)) this.wellFormed = false;
  }

  /** A node whose members have the form of a row's; false where it repeats one. */
  nodeItem(item: NodeItem): boolean {
    const added = this.reader.nodeItem(item);
    if (added) this.binding.node(item);
    else this.wellFormed = false;
    return added;
  }

  /** An edge between nodes whose numbers (`GraphSink`) are known. */
  edgeBetween(item: EdgeItem, source: number, target: number): void {
    this.sink.edge(item, source, target);
  }

  /** `unresolved` is what the graph's leaf says: rows cannot tell. */
  finish(unresolved: number): GraphFacts {
    return this.sink.facts(this.runId, {
      events: this.reader.events,
      unresolved,
      nodesBoundToLeaves: this.wellFormed && this.binding.holds,
    });
  }
}

/** Turns rows into the calls that a `GraphSink` gets from a derivation. Attacker controlled; never throws. */
export class RowReader {
  private readonly sink: GraphSink;
  private readonly index = new RunIndex();
  private readonly others = new Map<string, number>();
  /** The edges of an event stand together, so the nodes of the last edge are likely those of the next. */
  private last = { source: '', from: 0, target: '', to: 0 };

  constructor(sink: GraphSink) {
    this.sink = sink;
  }

  /** Event nodes read so far. */
  get events(): number {
    return this.index.length;
  }

  /** False where the row is malformed or repeats a node. */
  node(row: string): boolean {
    const item = readNodeRow(row);
    return item !== null && this.nodeItem(item);
  }

  /** False where the row is malformed or names an unknown node. */
  edge(row: string): boolean {
    const item = readEdgeRow(row);
    if (item === null) return false;
    const { source, target } = item;
    const from = this.findEnd(source);
    const to = this.findEnd(target);
    if (from === null || to === null) return false;
    this.last = { source, from, target, to };
    this.sink.edge(item, from, to);
    return true;
  }

  nodeItem(item: NodeItem): boolean {
    if (this.find(item.id) !== null) return false;
    if (item.index === null) this.others.set(item.id, -1 - this.others.size);
    else this.index.add(item.index, item.id);
    this.sink.node(item, {});
    return true;
  }

  private findEnd(id: string): number | null {
    if (id === this.last.target) return this.last.to;
    return id === this.last.source ? this.last.from : this.find(id);
  }

  private find(id: string): number | null {
    const event = this.index.find(id);
    return event >= 0 ? event : (this.others.get(id) ?? null);
  }
}

class CommittingSink implements GraphSink {
  private readonly nodes: ListCommitter;
  private readonly edges: ListCommitter;
  private readonly checks = new CausalChecks();
  private ended = false;
  private posing = false;

  constructor(keepRows: boolean) {
    this.nodes = new ListCommitter('nodes', keepRows);
    this.edges = new ListCommitter('edges', keepRows);
  }

  node(node: NodeItem, _data: JsonObject): void {
    this.nodes.add(nodeRow(node));
    this.checks.node(node.index !== null);
    // What has an index is held to the run's leaves by `NodeBinding`.
    if (node.index === null && (node.type === 'event' || isEventForm(node.id))) this.posing = true;
  }

  edge(edge: EdgeItem, source: number, target: number): void {
    this.edges.add(edgeRow(edge));
    this.checks.edge(source, target, edge.type === 'contains');
  }

  drain(): GraphChunk[] {
    return [...this.nodes.drain({ end: this.ended }), ...this.edges.drain({ end: this.ended })];
  }

  end(): void {
    this.ended = true;
  }

  facts(
    runId: string,
    known: { readonly events: number; readonly unresolved: number; readonly nodesBoundToLeaves: boolean },
  ): GraphFacts {
    const { events, unresolved, nodesBoundToLeaves } = known;
    const nodes = this.nodes.commitment();
    const edges = this.edges.commitment();
    return {
      nodes,
      edges,
      rootHash: graphRoot(runId, { nodes, edges }).hash,
      events,
      unresolved,
      checks: { ...this.checks.finish(), nodesBoundToLeaves: nodesBoundToLeaves && !this.posing },
    };
  }
}

/**
 * Whether node rows are those of a run: first the run's own node; event nodes are its events in order, each
 * with its leaf index and leaf hash; a node that follows an event and has its leaf hash is a party that the
 * event names; the rest are declared nodes, sorted by id.
 */
class NodeBinding {
  private readonly runId: string;
  private readonly run: RunIndex;
  private nodes = 0;
  private events = 0;
  private leafText = '';
  private declared = '';
  private broken = false;

  constructor(runId: string, run: RunIndex) {
    this.runId = runId;
    this.run = run;
  }

  get holds(): boolean {
    return !this.broken && this.events > 0;
  }

  node(item: NodeItem): void {
    const position = this.nodes++;
    if (position === 0) this.runNode(item);
    else if (item.index !== null) this.eventNode(item);
    else if (this.declared !== '' || item.dataCommitment !== this.leafText) this.declaredNode(item);
  }

  private runNode({ id, index, type, dataCommitment }: NodeItem): void {
    const isRun = id === runNodeId(this.runId) && index === null && type === 'run';
    if (!isRun || dataCommitment !== this.run.hashAt(0)) this.broken = true;
  }

  private eventNode({ id, index, type, dataCommitment }: NodeItem): void {
    const at = this.events++;
    this.leafText = this.run.hashAt(at);
    const isEvent = type === 'event' && id === this.run.idAt(at) && index === this.run.indexAt(at);
    if (!isEvent || dataCommitment !== this.leafText || this.declared !== '') this.broken = true;
  }

  private declaredNode({ id }: NodeItem): void {
    if (compare(id, this.declared) <= 0) this.broken = true;
    this.declared = id;
  }
}
