/**
 * Joins the derived and the declared graph of a run (contract F14). A declared node with the id of a derived node adds
 * nothing, nor does a declared edge that was derived. The other declared nodes and edges follow in their declared order.
 * Proven by `test/core/graphs/builder.test.ts`.
 */
import { type Declaration, declaredCommitment, edgeKey } from './declaration.ts';
import { GraphDerivation } from './derivation.ts';
import type { EdgeItem, GraphSink, NodeItem } from './rows.ts';
import type { JsonObject } from '../json/parse.ts';
import type { RunEvent } from '../events/run-entry.ts';

/** Sends the union to `sink`. Without a declaration it costs no more than the derivation. */
export class GraphUnion {
  readonly #derivation: GraphDerivation;
  readonly #sink: GraphSink;
  readonly #declaration: Declaration | null;
  readonly #once: DeclaredOnce | null;

  constructor(runId: string, sink: GraphSink, declaration: Declaration | null = null) {
    this.#declaration = declaration;
    this.#sink = sink;
    this.#once = declaration === null ? null : new DeclaredOnce(sink, declaration);
    this.#derivation = new GraphDerivation(runId, this.#once ?? sink);
  }

  /** Number of events so far. */
  get events(): number {
    return this.#derivation.events.length;
  }

  /** Adds the next event of the run. Throws STORAGE_FAULT for a malformed record. */
  add(event: RunEvent): void {
    this.#derivation.add(event);
  }

  /** Returns whether a declaration may have edges to this node. */
  has(nodeId: string): boolean {
    return this.#derivation.reference(nodeId) !== null;
  }

  /**
   * Sends what the graph has after these events, and then the declared items. Returns the number of references that name
   * nothing. Later events can still be added.
   */
  end(sink: GraphSink = this.#sink): { readonly unresolved: number } {
    const once = this.#once?.fork(sink) ?? sink;
    const { unresolved } = this.#derivation.end(once);
    return { unresolved: unresolved + this.#addDeclared(once) };
  }

  /** About how many bytes it has in memory, without the declaration. */
  get bytes(): number {
    return this.#derivation.bytes;
  }

  #addDeclared(sink: GraphSink): number {
    if (this.#declaration === null) return 0;
    const { salt, nodes, edges } = this.#declaration;
    const declared = new Map<string, number>();
    for (const node of nodes) {
      if (this.has(node.id)) continue;
      declared.set(node.id, -1 - this.#derivation.otherNodes - declared.size);
      const { id, type, data } = node;
      sink.node({ id, index: null, type, dataCommitment: declaredCommitment(salt, node) }, data);
    }
    const find = (id: string): number | null => this.#derivation.reference(id) ?? declared.get(id) ?? null;
    let unresolved = 0;
    for (const edge of edges) {
      const source = find(edge.source);
      const target = find(edge.target);
      if (source === null || target === null) unresolved++;
      else sink.edge(edge, source, target);
    }
    return unresolved;
  }
}

/** Passes each declared edge once, and merges declared data with derived data. */
class DeclaredOnce implements GraphSink {
  readonly #sink: GraphSink;
  readonly #data: ReadonlyMap<string, JsonObject>;
  readonly #edges: ReadonlySet<string>;
  readonly #drawn: Set<string>;

  constructor(sink: GraphSink, declared: Declaration | DeclaredOnce) {
    this.#sink = sink;
    if (declared instanceof DeclaredOnce) {
      this.#data = declared.#data;
      this.#edges = declared.#edges;
      this.#drawn = new Set(declared.#drawn);
    } else {
      this.#data = new Map(declared.nodes.map(({ id, data }) => [id, data]));
      this.#edges = new Set(declared.edges.map(edgeKey));
      this.#drawn = new Set();
    }
  }

  /** A copy that sends to another sink, and knows the edges that were drawn. */
  fork(sink: GraphSink): DeclaredOnce {
    return new DeclaredOnce(sink, this);
  }

  node(node: NodeItem, data: JsonObject): void {
    const declared = this.#data.get(node.id);
    this.#sink.node(node, declared === undefined ? data : { ...declared, ...data });
  }

  edge(edge: EdgeItem, source: number, target: number): void {
    const key = edgeKey(edge);
    if (this.#edges.has(key)) {
      if (this.#drawn.has(key)) return;
      this.#drawn.add(key);
    }
    this.#sink.edge(edge, source, target);
  }
}
