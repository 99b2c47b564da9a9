/**
 * The graph of a run in memory, to return it whole or the lineage of a node (contract F13, F16). It is compact (about
 * 250 bytes an event, 9 an edge), so that a service may cache recent graphs; `bytes` is its size. It contains actions and
 * names: drop it when a body of its run is erased. Proven by `test/core/graphs/lineage.test.ts`; measured by
 * `bench/proof.ts`.
 */
import type { GraphEdge, GraphNode } from '../../contract/graphs.ts';
import { limits } from '../../contract/limits.ts';
import { adjacency, type Adjacency, at, EdgeArray, nodeNumber } from './causality.ts';
import type { EdgeItem, GraphSink, NodeItem } from './rows.ts';
import type { JsonObject } from '../json/parse.ts';
import { RunIndex } from '../events/run-index.ts';

/** Part of a graph; `truncated` if it has more than `limits.graphNodesAnswered` nodes or `graphEdgesAnswered` edges. */
export interface GraphAnswer {
  readonly nodes: GraphNode[];
  readonly edges: GraphEdge[];
  readonly truncated: boolean;
}

/** Data of event nodes. Types and actions repeat, so they are stored by number. */
interface EventColumns {
  readonly eventTypes: number[];
  readonly actions: number[];
  readonly timestamps: string[];
}

const heldByDefault = { nodes: limits.graphNodesHeld, edges: limits.graphEdgesHeld };

/** A sink that stores the graph, up to `limits.graphNodesHeld` and `graphEdgesHeld`. */
export class RunGraph implements GraphSink {
  readonly #events = new RunIndex();
  readonly #columns: EventColumns = { eventTypes: [], actions: [], timestamps: [] };
  readonly #words = new WordTable();
  readonly #others: GraphNode[] = [];
  readonly #otherIds = new Map<string, number>();
  /** References in list order. */
  #order = new Int32Array(256);
  readonly #edgeList = new EdgeArray();
  readonly #edgeTypes: number[] = [];
  #lists: { readonly outgoing: Adjacency; readonly incoming: Adjacency } | null = null;
  #textChars = 0;
  #cut = false;
  readonly #max: { readonly nodes: number; readonly edges: number };

  constructor(max: { readonly nodes: number; readonly edges: number } = heldByDefault) {
    this.#max = max;
  }

  /** Number of nodes. */
  get size(): number {
    return this.#events.length + this.#others.length;
  }

  /** Whether the limit is reached, so that the caller can stop. */
  get full(): boolean {
    return this.#cut;
  }

  /** Estimated memory in bytes, adjacency included. */
  get bytes(): number {
    const perNode = 64 * this.#events.length + 300 * this.#others.length + 4 * this.#order.length;
    const lists = 8 * (this.size + this.#edgeList.length);
    return this.#events.bytes + perNode + 2 * this.#textChars + this.#edgeList.bytes * 2 + lists;
  }

  node({ id, index, type }: NodeItem, data: JsonObject): void {
    if (this.#cut || this.size >= this.#max.nodes) {
      this.#cut = true;
      return;
    }
    const reference = index === null ? this.#addOther({ id, type, data }) : this.#addEvent(id, index, data);
    if (this.size > this.#order.length) {
      const larger = new Int32Array(this.#order.length * 2);
      larger.set(this.#order);
      this.#order = larger;
    }
    this.#order[this.size - 1] = reference;
  }

  edge({ type }: EdgeItem, source: number, target: number): void {
    if (this.#edgeTypes.length >= this.#max.edges) this.#cut = true;
    if (this.#cut || !this.#holds(source) || !this.#holds(target)) return;
    this.#edgeList.add(source, target);
    this.#edgeTypes.push(this.#words.number(type));
    this.#lists = null;
  }

  /**
   * Sets the data of an event node of a graph that was read from rows. `position`: of the event in its run.
   */
  describe(position: number, data: { eventType: string; action: string; timestamp: string }): void {
    if (position < this.#events.length) this.#setColumns(position, data);
  }

  /** Returns whether the graph has this node. */
  has(nodeId: string): boolean {
    return this.#find(nodeId) !== null;
  }

  /** Returns the graph in list order, up to the limits. */
  answer(): GraphAnswer {
    const nodes = Math.min(this.size, limits.graphNodesAnswered);
    const chosen = new Uint8Array(this.size);
    for (let position = 0; position < nodes; position++) chosen[this.#numberAt(position)] = 1;
    return this.#collect(chosen, nodes < this.size);
  }

  /**
   * Returns a node with all its ancestors and descendants, and the edges between them; null for an unknown node. A
   * truncated result has the nearest nodes. Cycles are walked once. Cost: linear; the first call builds the adjacency. The
   * node id is attacker controlled.
   */
  lineage(nodeId: string): GraphAnswer | null {
    const start = this.#find(nodeId);
    if (start === null) return null;
    const number = nodeNumber(start, this.#events.length);
    const { outgoing, incoming } = this.#adjacencies();
    const chosen = new Uint8Array(this.size);
    const budget = { left: limits.graphNodesAnswered - 1 };
    chosen[number] = 1;
    const complete = [incoming, outgoing].map((list) => walk(list, number, chosen, budget));
    return this.#collect(chosen, complete.includes(false));
  }

  #adjacencies(): { readonly outgoing: Adjacency; readonly incoming: Adjacency } {
    const count = { events: this.#events.length, others: this.#others.length };
    this.#lists ??= {
      outgoing: adjacency(this.#edgeList, count, 'source'),
      incoming: adjacency(this.#edgeList, count, 'target'),
    };
    return this.#lists;
  }

  /** Returns the chosen nodes and the edges between them, in list order. */
  #collect(chosen: Uint8Array, truncated: boolean): GraphAnswer {
    const nodes: GraphNode[] = [];
    // An edge reuses the strings of its nodes: making the ids again would cost more than everything else.
    const ids = Array.from<string | undefined>({ length: this.size });
    for (let position = 0; position < this.size; position++) {
      const number = this.#numberAt(position);
      if (chosen[number] !== 1) continue;
      const node = this.#nodeAt(at(this.#order, position));
      ids[number] = node.id;
      nodes.push(node);
    }
    const edges: GraphEdge[] = [];
    const events = this.#events.length;
    let more = truncated || this.#cut;
    for (let edge = 0; edge < this.#edgeList.length; edge++) {
      const source = ids[nodeNumber(this.#edgeList.source(edge), events)];
      const target = ids[nodeNumber(this.#edgeList.target(edge), events)];
      if (source === undefined || target === undefined) continue;
      if (edges.length === limits.graphEdgesAnswered) {
        more = true;
        break;
      }
      const type = this.#words.word(this.#edgeTypes[edge] ?? 0);
      edges.push({ source, target, type });
    }
    return { nodes, edges, truncated: more };
  }

  #numberAt(position: number): number {
    return nodeNumber(at(this.#order, position), this.#events.length);
  }

  #addEvent(id: string, index: number, data: JsonObject): number {
    const position = this.#events.add(index, id);
    this.#setColumns(position, data);
    return position;
  }

  #setColumns(position: number, { eventType, action, timestamp }: JsonObject): void {
    const text = (value: unknown): string => (typeof value === 'string' ? value : '');
    this.#columns.eventTypes[position] = this.#words.number(text(eventType));
    this.#columns.actions[position] = this.#words.number(text(action));
    this.#columns.timestamps[position] = text(timestamp);
    this.#textChars += text(timestamp).length;
  }

  #addOther(node: GraphNode): number {
    const reference = -1 - this.#others.length;
    this.#others.push(node);
    this.#otherIds.set(node.id, reference);
    this.#textChars += JSON.stringify(node.data).length + 2 * node.id.length;
    return reference;
  }

  #holds(reference: number): boolean {
    return reference >= 0 ? reference < this.#events.length : -1 - reference < this.#others.length;
  }

  #find(nodeId: string): number | null {
    const event = this.#events.find(nodeId);
    return event >= 0 ? event : (this.#otherIds.get(nodeId) ?? null);
  }

  #nodeAt(reference: number): GraphNode {
    const other = reference >= 0 ? undefined : this.#others[-1 - reference];
    if (other !== undefined) return other;
    const eventType = this.#words.word(this.#columns.eventTypes[reference] ?? 0);
    const action = this.#words.word(this.#columns.actions[reference] ?? 0);
    const timestamp = this.#columns.timestamps[reference] ?? '';
    const sequence = this.#events.indexAt(reference);
    return {
      id: this.#events.idAt(reference),
      type: 'event',
      data: timestamp === '' ? { sequence } : { eventType, action, timestamp, sequence },
    };
  }
}

/** Walks breadth first, so that a truncated result has the nearest nodes. Returns false if the budget ran out. */
function walk(list: Adjacency, start: number, chosen: Uint8Array, budget: { left: number }): boolean {
  const seen = new Uint8Array(chosen.length);
  const queue = new Int32Array(chosen.length);
  let queued = 1;
  queue[0] = start;
  seen[start] = 1;
  for (let taken = 0; taken < queued; taken++) {
    const node = at(queue, taken);
    for (let next = at(list.starts, node); next < at(list.starts, node + 1); next++) {
      const neighbour = at(list.neighbours, next);
      if (seen[neighbour] === 1) continue;
      seen[neighbour] = 1;
      if (chosen[neighbour] !== 1) {
        if (budget.left === 0) return false;
        budget.left--;
        chosen[neighbour] = 1;
      }
      queue[queued++] = neighbour;
    }
  }
  return true;
}

/** Repeated words by number; 0 is the empty word. */
class WordTable {
  readonly #numbers = new Map<string, number>([['', 0]]);
  readonly #wordList: string[] = [''];

  number(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    this.#numbers.set(word, this.#wordList.length);
    this.#wordList.push(word);
    return this.#wordList.length - 1;
  }

  word(number: number): string {
    return this.#wordList[number] ?? '';
  }
}
