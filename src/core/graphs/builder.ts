/**
 * Builds the committed graph of a run: `GraphBuilder` from its events, `GraphRows` from the stored rows of a logged graph.
 * Both give the same facts, even if the bodies are erased.
 * Proven by `test/core/graphs/builder.test.ts` (both agree on random runs; known answers).
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
import type { RunEvent } from '../events/run-entry.ts';
import { RunIndex } from '../events/run-index.ts';

/** Derives and commits the graph of a run. Memory: the derivation, and 8 bytes an edge. */
export class GraphBuilder {
  readonly #runId: string;
  readonly #rows = new CommittingSink({ keepRows: true });
  readonly #union: GraphUnion;

  constructor(runId: string, declaration: Declaration | null = null) {
    this.#runId = runId;
    this.#union = new GraphUnion(runId, this.#rows, declaration);
  }

  /** Adds the next event of the run. Throws STORAGE_FAULT for a malformed record. Cost: about 15 µs. */
  add(event: RunEvent): void {
    this.#union.add(event);
  }

  /** Returns the chunks of rows that were completed since the last call, to be stored. */
  drain(): GraphChunk[] {
    return this.#rows.drain();
  }

  /**
   * The graph of the events so far, equal to a derivation of these alone: its facts, and the chunks that follow those of
   * `drain`. Later events can still be added. Cost: what the open chunks have, the references that wait and the declaration;
   * about 0.1 µs an edge where a cause was recorded after its effect since the last call.
   */
  at(): { readonly facts: GraphFacts; readonly last: readonly GraphChunk[] } {
    const rows = this.#rows.fork();
    const { unresolved } = this.#union.end(rows);
    // Derived nodes are bound to leaves by construction; `CommittingSink` checks declared nodes.
    const facts = rows.facts(this.#runId, { events: this.events, unresolved, nodesBoundToLeaves: true });
    return { facts, last: rows.drain({ end: true }) };
  }

  /** Number of events so far. */
  get events(): number {
    return this.#union.events;
  }

  /** About how many bytes it has in memory, without the declaration. */
  get bytes(): number {
    return this.#union.bytes + this.#rows.bytes;
  }
}

/** Reads the rows of a logged graph, nodes first, and checks them again. Attacker controlled; never throws. */
export class GraphRows {
  readonly #runId: string;
  readonly #sink = new CommittingSink({ keepRows: false });
  readonly #reader = new RowReader(this.#sink);
  readonly #binding: NodeBinding;
  #wellFormed = true;

  /** `run`: events of the run with their leaf hashes, at least those that the graph covers. */
  constructor(runId: string, run: RunIndex) {
    this.#runId = runId;
    this.#binding = new NodeBinding(runId, run);
  }

  node(row: string): void {
    const item = readNodeRow(row);
    if (item === null) this.#wellFormed = false;
    else this.nodeItem(item);
  }

  edge(row: string): void {
    if (!this.#reader.edge(row)) this.#wellFormed = false;
  }

  /** Adds a well-formed node; returns false if it repeats a node. */
  nodeItem(item: NodeItem): boolean {
    const added = this.#reader.nodeItem(item);
    if (added) this.#binding.node(item);
    else this.#wellFormed = false;
    return added;
  }

  /** Adds an edge between nodes of known numbers (`GraphSink`). */
  edgeBetween(item: EdgeItem, source: number, target: number): void {
    this.#sink.edge(item, source, target);
  }

  /** `unresolved`: the number in the leaf of the graph, since rows do not have it. */
  finish(unresolved: number): GraphFacts {
    return this.#sink.facts(this.#runId, {
      events: this.#reader.events,
      unresolved,
      nodesBoundToLeaves: this.#wellFormed && this.#binding.holds,
    });
  }
}

/** Converts rows to calls of a `GraphSink`, as a derivation makes them. Attacker controlled; never throws. */
export class RowReader {
  readonly #sink: GraphSink;
  readonly #index = new RunIndex();
  readonly #others = new Map<string, number>();
  /** The nodes of the last edge: edges of one event are adjacent, so the next edge likely has the same nodes. */
  #last = { source: '', from: 0, target: '', to: 0 };

  constructor(sink: GraphSink) {
    this.#sink = sink;
  }

  /** Number of event nodes so far. */
  get events(): number {
    return this.#index.length;
  }

  /** Returns false if the row is malformed or repeats a node. */
  node(row: string): boolean {
    const item = readNodeRow(row);
    return item !== null && this.nodeItem(item);
  }

  /** Returns false if the row is malformed or names an unknown node. */
  edge(row: string): boolean {
    const item = readEdgeRow(row);
    if (item === null) return false;
    const { source, target } = item;
    const from = this.#findEnd(source);
    const to = this.#findEnd(target);
    if (from === null || to === null) return false;
    this.#last = { source, from, target, to };
    this.#sink.edge(item, from, to);
    return true;
  }

  nodeItem(item: NodeItem): boolean {
    if (this.#find(item.id) !== null) return false;
    if (item.index === null) this.#others.set(item.id, -1 - this.#others.size);
    else this.#index.add(item.index, item.id);
    this.#sink.node(item, {});
    return true;
  }

  #findEnd(id: string): number | null {
    if (id === this.#last.target) return this.#last.to;
    return id === this.#last.source ? this.#last.from : this.#find(id);
  }

  #find(id: string): number | null {
    const event = this.#index.find(id);
    return event >= 0 ? event : (this.#others.get(id) ?? null);
  }
}

class CommittingSink implements GraphSink {
  readonly #nodes: ListCommitter;
  readonly #edges: ListCommitter;
  readonly #checks: CausalChecks;
  #posing: boolean;

  constructor(from: { readonly keepRows: boolean } | CommittingSink) {
    const isFork = from instanceof CommittingSink;
    this.#nodes = isFork ? from.#nodes.fork() : new ListCommitter('nodes', from.keepRows);
    this.#edges = isFork ? from.#edges.fork() : new ListCommitter('edges', from.keepRows);
    this.#checks = isFork ? from.#checks.fork() : new CausalChecks();
    this.#posing = isFork && from.#posing;
  }

  /** A copy for further items: valid until the next item of this one. */
  fork(): CommittingSink {
    return new CommittingSink(this);
  }

  get bytes(): number {
    return this.#nodes.bytes + this.#edges.bytes + this.#checks.bytes;
  }

  node(node: NodeItem, _data: JsonObject): void {
    this.#nodes.add(nodeRow(node));
    this.#checks.node(node.index !== null);
    // `NodeBinding` compares nodes with an index with the leaves of the run.
    if (node.index === null && (node.type === 'event' || isEventForm(node.id))) this.#posing = true;
  }

  edge(edge: EdgeItem, source: number, target: number): void {
    this.#edges.add(edgeRow(edge));
    this.#checks.edge(source, target, edge.type === 'contains');
  }

  drain(options: { readonly end?: boolean } = {}): GraphChunk[] {
    return [...this.#nodes.drain(options), ...this.#edges.drain(options)];
  }

  facts(
    runId: string,
    known: { readonly events: number; readonly unresolved: number; readonly nodesBoundToLeaves: boolean },
  ): GraphFacts {
    const { events, unresolved, nodesBoundToLeaves } = known;
    const nodes = this.#nodes.commitment();
    const edges = this.#edges.commitment();
    return {
      nodes,
      edges,
      rootHash: graphRoot(runId, { nodes, edges }).hash,
      events,
      unresolved,
      checks: { ...this.#checks.finish(), nodesBoundToLeaves: nodesBoundToLeaves && !this.#posing },
    };
  }
}

/**
 * Checks that node rows belong to a run. The first is the node of the run. Event nodes are its events in order, each with
 * its leaf index and leaf hash. A node after an event with the same leaf hash is a party that the event names. The others
 * are declared nodes, sorted by id.
 */
class NodeBinding {
  readonly #runId: string;
  readonly #run: RunIndex;
  #nodes = 0;
  #events = 0;
  #leafText = '';
  #declared = '';
  #broken = false;

  constructor(runId: string, run: RunIndex) {
    this.#runId = runId;
    this.#run = run;
  }

  get holds(): boolean {
    return !this.#broken && this.#events > 0;
  }

  node(item: NodeItem): void {
    const position = this.#nodes++;
    if (position === 0) this.#runNode(item);
    else if (item.index !== null) this.#eventNode(item);
    else if (this.#declared !== '' || item.dataCommitment !== this.#leafText) this.#declaredNode(item);
  }

  #runNode({ id, index, type, dataCommitment }: NodeItem): void {
    const isRun = id === runNodeId(this.#runId) && index === null && type === 'run';
    if (!isRun || dataCommitment !== this.#run.hashAt(0)) this.#broken = true;
  }

  #eventNode({ id, index, type, dataCommitment }: NodeItem): void {
    const at = this.#events++;
    this.#leafText = this.#run.hashAt(at);
    const isEvent = type === 'event' && id === this.#run.idAt(at) && index === this.#run.indexAt(at);
    if (!isEvent || dataCommitment !== this.#leafText || this.#declared !== '') this.#broken = true;
  }

  #declaredNode({ id }: NodeItem): void {
    if (compare(id, this.#declared) <= 0) this.#broken = true;
    this.#declared = id;
  }
}
