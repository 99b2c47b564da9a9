/**
 * The derived graph of a run and the declared one beside it, as one graph (contract F14): a declared node with
 * the id of a derived one is that node, a declared edge that was derived is that edge; what remains of the
 * declaration follows in its own order. Proven by `test/core/graph/builder.test.ts`.
 */
import { type Declaration, declaredCommitment, edgeKey } from './declaration.ts';
import { GraphDerivation } from './derivation.ts';
import type { EdgeItem, GraphSink, NodeItem } from './rows.ts';
import type { JsonObject } from '../json/parse.ts';
import type { RunEvent } from '../event/run-entry.ts';

/** Feeds `sink` with the union. Without a declaration it costs nothing beside the derivation. */
export class GraphUnion {
  private readonly derivation: GraphDerivation;
  private readonly sink: GraphSink;
  private readonly declaration: Declaration | null;

  constructor(runId: string, sink: GraphSink, declaration: Declaration | null = null) {
    this.declaration = declaration;
    this.sink = declaration === null ? sink : new DeclaredOnce(sink, declaration);
    this.derivation = new GraphDerivation(runId, this.sink);
  }

  /** Events added so far. */
  get events(): number {
    return this.derivation.events.length;
  }

  /** Adds the run's next event; STORAGE_FAULT where its record cannot be read. */
  add(event: RunEvent): void {
    this.derivation.add(event);
  }

  /** Whether a declaration may have edges to this node. */
  has(nodeId: string): boolean {
    return this.derivation.reference(nodeId) !== null;
  }

  /** Ends the run and adds what was only declared. Returns the references that name nothing. */
  finish(): { readonly unresolved: number } {
    const { unresolved } = this.derivation.finish();
    return { unresolved: unresolved + this.addDeclared() };
  }

  private addDeclared(): number {
    if (this.declaration === null) return 0;
    const { salt, nodes, edges } = this.declaration;
    const declared = new Map<string, number>();
    for (const node of nodes) {
      if (this.has(node.id)) continue;
      declared.set(node.id, -1 - this.derivation.otherNodes - declared.size);
      const { id, type, data } = node;
      this.sink.node({ id, index: null, type, dataCommitment: declaredCommitment(salt, node) }, data);
    }
    const find = (id: string): number | null => this.derivation.reference(id) ?? declared.get(id) ?? null;
    let unresolved = 0;
    for (const edge of edges) {
      const source = find(edge.source);
      const target = find(edge.target);
      if (source === null || target === null) unresolved++;
      else this.sink.edge(edge, source, target);
    }
    return unresolved;
  }
}

/** Lets each declared edge through once, and shows declared data beside derived data. */
class DeclaredOnce implements GraphSink {
  private readonly sink: GraphSink;
  private readonly data: ReadonlyMap<string, JsonObject>;
  private readonly edges: ReadonlySet<string>;
  private readonly drawn = new Set<string>();

  constructor(sink: GraphSink, declaration: Declaration) {
    this.sink = sink;
    this.data = new Map(declaration.nodes.map(({ id, data }) => [id, data]));
    this.edges = new Set(declaration.edges.map(edgeKey));
  }

  node(node: NodeItem, data: JsonObject): void {
    const declared = this.data.get(node.id);
    this.sink.node(node, declared === undefined ? data : { ...declared, ...data });
  }

  edge(edge: EdgeItem, source: number, target: number): void {
    const key = edgeKey(edge);
    if (this.edges.has(key)) {
      if (this.drawn.has(key)) return;
      this.drawn.add(key);
    }
    this.sink.edge(edge, source, target);
  }
}
