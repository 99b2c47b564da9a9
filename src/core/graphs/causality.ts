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
  readonly #edges = new EdgeArray();
  /** By non-event node: whether edges leave it, and whether edges enter it. */
  readonly #others: number[] = [];
  #through = false;
  /** Whether every edge between events leads to a larger leaf index; event numbers follow leaf indexes. */
  inOrder = true;

  add(source: number, target: number): void {
    this.#edges.add(source, target);
    if (source < 0) this.#mark(-1 - source, LEFT);
    if (target < 0) this.#mark(-1 - target, ENTERED);
    else if (source >= target) this.inOrder = false;
  }

  /**
   * Fast path: if edges between events are in order, and every other node has only outgoing or only incoming edges, then
   * the former nodes, the events and the latter nodes form an order of all nodes. Derived graphs so need no search.
   */
  isAcyclic(count: NodeCount): boolean {
    return (this.inOrder && !this.#through) || isAcyclic(this.#edges, count);
  }

  #mark(other: number, how: number): void {
    const marked = (this.#others[other] ?? 0) | how;
    this.#others[other] = marked;
    if (marked === (LEFT | ENTERED)) this.#through = true;
  }
}

/** Checks edges between numbered nodes; `GraphSink` defines the numbers. */
export class CausalChecks {
  #events = 0;
  #others = 0;
  readonly #containment = new Relation();
  readonly #causation = new Relation();

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
    const count: NodeCount = { events: this.#events, others: this.#others };
    return {
      acyclic: this.#containment.isAcyclic(count) && this.#causation.isAcyclic(count),
      causesBeforeEffects: this.#causation.inOrder,
    };
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
