/**
 * The causal checks of the edges of a graph, in flat memory (8 bytes an edge) and without recursion.
 *
 * Containment and causation are separate relations: a span that ends after its parts may be recorded after them, so a
 * cycle through both relations is no contradiction. Each relation must be acyclic by itself. Between events, every edge
 * except `contains` must lead from a smaller leaf index to a larger one.
 * Proven by `test/core/graphs/causality.test.ts`.
 */

/** A growing list of number pairs. */
export class EdgeArray {
  #pairs = new Int32Array(256);
  length = 0;

  /** A list that begins with these edges, in the same memory: valid until the next `add` of this one. Cost: nothing. */
  fork(): EdgeArray {
    const list = new EdgeArray();
    list.#pairs = this.#pairs;
    list.length = this.length;
    return list;
  }

  get bytes(): number {
    return this.#pairs.byteLength;
  }

  add(source: number, target: number): void {
    if (this.length * 2 === this.#pairs.length) {
      const larger = new Int32Array(this.#pairs.length * 2);
      larger.set(this.#pairs);
      this.#pairs = larger;
    }
    this.#pairs[this.length * 2] = source;
    this.#pairs[this.length * 2 + 1] = target;
    this.length++;
  }

  source(edge: number): number {
    return this.#pairs[edge * 2] ?? 0;
  }

  target(edge: number): number {
    return this.#pairs[edge * 2 + 1] ?? 0;
  }
}

const LEFT = 1;
const ENTERED = 2;

/** One relation between numbered nodes; `GraphSink` defines the numbers. */
class Relation {
  readonly #edges: EdgeArray;
  /** By non-event node: whether edges leave it, and whether edges enter it. Those of a fork differ from `#before`. */
  readonly #others: number[] = [];
  readonly #before: readonly number[];
  #through = false;
  /** The largest event that an edge leaves. */
  #lastSource = -1;
  /** Whether the edges up to the newest search have no cycle, and whether a later edge may close one. */
  #acyclic = true;
  #mayClose = false;
  /** Whether every edge between events leads to a larger leaf index; event numbers follow leaf indexes. */
  inOrder = true;

  constructor(edges = new EdgeArray(), before: readonly number[] = []) {
    this.#edges = edges;
    this.#before = before;
  }

  get bytes(): number {
    return this.#edges.bytes + 8 * this.#others.length;
  }

  /** A copy for further edges: valid until the next `add` of this one. */
  fork(count: NodeCount): Relation {
    const copy = new Relation(this.#edges.fork(), this.#others);
    copy.#acyclic = this.isAcyclic(count);
    copy.#mayClose = this.#mayClose;
    copy.#through = this.#through;
    copy.#lastSource = this.#lastSource;
    copy.inOrder = this.inOrder;
    return copy;
  }

  add(source: number, target: number): void {
    this.#edges.add(source, target);
    // an edge from a node that no edge enters, or to a node that no edge leaves, is on no cycle
    const isStart = source < 0 && (this.#marks(source) & ENTERED) === 0;
    const isEnd = target < 0 ? (this.#marks(target) & LEFT) === 0 : target > this.#lastSource;
    if (source === target || !(isStart || isEnd)) this.#mayClose = true;
    if (source < 0) this.#mark(source, LEFT);
    else this.#lastSource = Math.max(this.#lastSource, source);
    if (target < 0) this.#mark(target, ENTERED);
    else if (source >= target) this.inOrder = false;
  }

  /**
   * Fast path: if edges between events are in order, and every other node has only outgoing or only incoming edges, then
   * the former nodes, the events and the latter nodes form an order of all nodes. Derived graphs so need no search, unless
   * causes are recorded after their effects; then one search after each such edge.
   */
  isAcyclic(count: NodeCount): boolean {
    if (this.inOrder && !this.#through) return true;
    if (this.#mayClose && this.#acyclic) this.#acyclic = isAcyclic(this.#edges, count);
    this.#mayClose = false;
    return this.#acyclic;
  }

  #marks(reference: number): number {
    const other = -1 - reference;
    return this.#others[other] ?? this.#before[other] ?? 0;
  }

  #mark(reference: number, how: number): void {
    const marked = this.#marks(reference) | how;
    this.#others[-1 - reference] = marked;
    if (marked === (LEFT | ENTERED)) this.#through = true;
  }
}

/** Checks edges between numbered nodes; `GraphSink` defines the numbers. */
export class CausalChecks {
  #events = 0;
  #others = 0;
  readonly #containment: Relation;
  readonly #causation: Relation;

  constructor({ containment = new Relation(), causation = new Relation() } = {}) {
    this.#containment = containment;
    this.#causation = causation;
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.#containment.bytes + this.#causation.bytes;
  }

  /** A copy for further edges: valid until the next `edge` of this one. */
  fork(): CausalChecks {
    const count = this.#count;
    const copy = new CausalChecks({
      containment: this.#containment.fork(count),
      causation: this.#causation.fork(count),
    });
    copy.#events = this.#events;
    copy.#others = this.#others;
    return copy;
  }

  node(isEvent: boolean): void {
    if (isEvent) this.#events++;
    else this.#others++;
  }

  edge(source: number, target: number, contains: boolean): void {
    if (contains) this.#containment.add(source, target);
    else this.#causation.add(source, target);
  }

  /** Returns the results. Cost: at most linear in nodes and edges, about 0.1 µs an edge. */
  finish(): { readonly acyclic: boolean; readonly causesBeforeEffects: boolean } {
    const count = this.#count;
    return {
      acyclic: this.#containment.isAcyclic(count) && this.#causation.isAcyclic(count),
      causesBeforeEffects: this.#causation.inOrder,
    };
  }

  get #count(): NodeCount {
    return { events: this.#events, others: this.#others };
  }
}

/** Outgoing or incoming edges by node in compressed rows: those of node n are at [starts[n], starts[n+1]). */
export interface Adjacency {
  readonly starts: Int32Array;
  readonly neighbours: Int32Array;
}

/** Returns a non-negative number for a reference: events first, then the others. */
export const nodeNumber = (reference: number, events: number): number =>
  reference >= 0 ? reference : events - 1 - reference;

/** Number of nodes of each kind. */
export interface NodeCount {
  readonly events: number;
  readonly others: number;
}

/** Sorts edges by their source or target, by counting sort. */
export function adjacency(edges: EdgeArray, count: NodeCount, by: 'source' | 'target'): Adjacency {
  const nodes = count.events + count.others;
  const near = (edge: number): number =>
    nodeNumber(by === 'source' ? edges.source(edge) : edges.target(edge), count.events);
  const far = (edge: number): number =>
    nodeNumber(by === 'source' ? edges.target(edge) : edges.source(edge), count.events);
  const starts = new Int32Array(nodes + 1);
  for (let edge = 0; edge < edges.length; edge++) raise(starts, near(edge) + 1, 1);
  for (let node = 0; node < nodes; node++) raise(starts, node + 1, at(starts, node));
  const next = starts.slice();
  const neighbours = new Int32Array(edges.length);
  for (let edge = 0; edge < edges.length; edge++) {
    const node = near(edge);
    neighbours[at(next, node)] = far(edge);
    raise(next, node, 1);
  }
  return { starts, neighbours };
}

/** Kahn 1962: a graph is acyclic if every node can be taken after all its predecessors. */
function isAcyclic(edges: EdgeArray, count: NodeCount): boolean {
  const nodes = count.events + count.others;
  const waitsFor = new Int32Array(nodes);
  for (let edge = 0; edge < edges.length; edge++) {
    raise(waitsFor, nodeNumber(edges.target(edge), count.events), 1);
  }
  const { starts, neighbours } = adjacency(edges, count, 'source');
  const queue = new Int32Array(nodes);
  let queued = 0;
  for (let node = 0; node < nodes; node++) if (waitsFor[node] === 0) queue[queued++] = node;
  for (let taken = 0; taken < queued; taken++) {
    const node = at(queue, taken);
    for (let next = at(starts, node); next < at(starts, node + 1); next++) {
      const target = at(neighbours, next);
      raise(waitsFor, target, -1);
      if (waitsFor[target] === 0) queue[queued++] = target;
    }
  }
  return queued === nodes;
}

/** Returns the entry at an index within the array. */
export const at = (array: Int32Array, index: number): number => array[index] ?? 0;

function raise(array: Int32Array, index: number, by: number): void {
  array[index] = at(array, index) + by;
}
