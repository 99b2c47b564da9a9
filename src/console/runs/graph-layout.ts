/**
 * Draws a causal graph in layers from top to bottom (Sugiyama, Tagawa and Toda 1981): breaks cycles, layers nodes by
 * their longest path, orders each layer by the mean of its neighbours, and places it below them. A small replacement for
 * d3-dag (35 KB compressed) for graphs of at most `shownNodes` nodes. Tested by `test/console/runs/graph-layout.test.ts`.
 */
import type { GraphEdge, GraphNode } from '../../contract/graphs.ts';

/** A larger graph shows the nodes that are nearest to one of them. */
export const shownNodes = 150;

export const box = { width: 190, height: 44, gapX: 24, gapY: 38 } as const;

interface NodeBox {
  readonly node: GraphNode;
  /** Of the top left corner. */
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly nodes: readonly NodeBox[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
  readonly height: number;
}

interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

const parties = new Set(['agent', 'human', 'tool', 'model', 'data', 'run']);

/**
 * Leaves out the parties of events, which every event has, and the run, which contains every event: the events name them.
 * A declared node with another edge stays.
 */
export function withoutParties({ nodes, edges }: Graph): Graph {
  const typeOf = new Map(nodes.map(({ id, type }) => [id, type]));
  const kept = new Set(nodes.filter(({ type }) => !parties.has(type)).map(({ id }) => id));
  for (const { source, target } of edges) {
    const [from, to] = [typeOf.get(source), typeOf.get(target)];
    if (from === 'event' || to === 'event' || from === 'run') continue;
    kept.add(source);
    kept.add(target);
  }
  return within({ nodes, edges }, kept);
}

/** The nodes nearest to one node, over edges in any direction; at most `most`. An unknown id starts with the first node. */
export function nearest(
  { nodes, edges }: Graph,
  { id, most }: { readonly id: string | null; readonly most: number },
): Graph {
  if (nodes.length <= most) return { nodes, edges };
  const neighbours = neighboursOf(edges);
  const start = nodes.find((node) => node.id === id) ?? nodes[0];
  const kept = new Set(start === undefined ? [] : [start.id]);
  for (const at of kept) {
    for (const next of neighbours(at)) if (kept.size < most) kept.add(next);
  }
  return within({ nodes, edges }, kept);
}

function within({ nodes, edges }: Graph, kept: ReadonlySet<string>): Graph {
  return {
    nodes: nodes.filter(({ id }) => kept.has(id)),
    edges: edges.filter(({ source, target }) => kept.has(source) && kept.has(target)),
  };
}

/** The ends of the edges of each node, one way. */
function endsOf(
  edges: readonly GraphEdge[],
  [from, to]: readonly ['source', 'target'] | readonly ['target', 'source'],
): ReadonlyMap<string, readonly string[]> {
  const ends = new Map<string, string[]>();
  for (const edge of edges) {
    const list = ends.get(edge[from]);
    if (list === undefined) ends.set(edge[from], [edge[to]]);
    else list.push(edge[to]);
  }
  return ends;
}

function neighboursOf(edges: readonly GraphEdge[]): (id: string) => readonly string[] {
  const [after, before] = [endsOf(edges, ['source', 'target']), endsOf(edges, ['target', 'source'])];
  return (id) => [...(before.get(id) ?? []), ...(after.get(id) ?? [])];
}

export interface RelatedNodes {
  /** What led to the node. */
  readonly before: ReadonlySet<string>;
  /** What followed from it. */
  readonly after: ReadonlySet<string>;
}

/** The lineage of a node, over edges in their direction, without the node itself. */
export function related(edges: readonly GraphEdge[], id: string): RelatedNodes {
  const reached = (next: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> => {
    const found = new Set([id]);
    for (const at of found) for (const each of next.get(at) ?? []) found.add(each);
    found.delete(id);
    return found;
  };
  return {
    before: reached(endsOf(edges, ['target', 'source'])),
    after: reached(endsOf(edges, ['source', 'target'])),
  };
}

/** Places every node. Cost: linear in nodes and edges, times the number of rounds. Nodes keep their order where they can. */
export function layOut({ nodes, edges }: Graph): Layout {
  const ids = new Set(nodes.map(({ id }) => id));
  const known = edges.filter(({ source, target }) => ids.has(source) && ids.has(target) && source !== target);
  const layers = layersOf(nodes, withoutCycles(nodes, known));
  const neighbours = neighboursOf(known);
  const centers = centersOf(layers, neighbours);
  const causes = endsOf(known, ['target', 'source']);
  for (const layer of layers) align(layer, { centers, near: (id) => causes.get(id) ?? [] });
  const left = Math.min(0, ...[...centers.values()].map((center) => center - box.width / 2));
  const right = Math.max(box.width, ...[...centers.values()].map((center) => center + box.width / 2));
  const placed = layers.flatMap((layer, depth) =>
    layer.map((node) => ({
      node,
      x: Math.round((centers.get(node.id) ?? 0) - box.width / 2 - left),
      y: depth * (box.height + box.gapY),
    })),
  );
  const height = Math.max(0, layers.length * (box.height + box.gapY) - box.gapY);
  return { nodes: placed, edges: known, width: Math.round(right - left), height };
}

/** Leaves out the edges that close a cycle, which a declared graph may have. */
function withoutCycles(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): GraphEdge[] {
  const leaving = Map.groupBy(edges, ({ source }) => source);
  const state = new Map<string, 'open' | 'done'>();
  const kept: GraphEdge[] = [];
  for (const { id } of nodes) {
    if (state.has(id)) continue;
    const path = [{ id, at: 0 }];
    state.set(id, 'open');
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const edge = leaving.get(top.id)?.[top.at];
      top.at += 1;
      if (edge === undefined) {
        state.set(top.id, 'done');
        path.pop();
        continue;
      }
      const seen = state.get(edge.target);
      if (seen === 'open') continue;
      kept.push(edge);
      if (seen === 'done') continue;
      state.set(edge.target, 'open');
      path.push({ id: edge.target, at: 0 });
    }
  }
  return kept;
}

/** Each node one layer below the lowest of its causes; a node without causes directly above its first effect. */
function layersOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): GraphNode[][] {
  const depth = new Map(nodes.map(({ id }) => [id, 0]));
  const entering = new Map(nodes.map(({ id }) => [id, 0]));
  const leaving = endsOf(edges, ['source', 'target']);
  for (const { target } of edges) entering.set(target, (entering.get(target) ?? 0) + 1);
  const sources = nodes.filter(({ id }) => entering.get(id) === 0).map(({ id }) => id);
  const ready = [...sources];
  for (const id of ready) {
    for (const target of leaving.get(id) ?? []) {
      depth.set(target, Math.max(depth.get(target) ?? 0, (depth.get(id) ?? 0) + 1));
      const left = (entering.get(target) ?? 0) - 1;
      entering.set(target, left);
      if (left === 0) ready.push(target);
    }
  }
  for (const id of sources) {
    const below = (leaving.get(id) ?? []).map((target) => depth.get(target) ?? 0);
    if (below.length > 0) depth.set(id, Math.min(...below) - 1);
  }
  const layers: GraphNode[][] = [];
  for (const node of nodes) (layers[depth.get(node.id) ?? 0] ??= []).push(node);
  return layers.filter((layer) => layer !== undefined);
}

const rounds = 4;

/** Orders each layer by the mean of its neighbours, down and up again, and moves it as near to them as its boxes allow. */
function centersOf(
  layers: GraphNode[][],
  neighbours: (id: string) => readonly string[],
): Map<string, number> {
  const centers = new Map<string, number>();
  for (const layer of layers) {
    for (const [at, { id }] of layer.entries()) centers.set(id, (at - (layer.length - 1) / 2) * step);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const layer of round % 2 === 0 ? layers : layers.toReversed())
      align(layer, { centers, near: neighbours });
  }
  return centers;
}

const step = box.width + box.gapX;

interface AlignContext {
  readonly centers: Map<string, number>;
  readonly near: (id: string) => readonly string[];
}

/** Orders one layer by the mean of the nodes near each, and centers it on the mean of all. */
function align(layer: GraphNode[], { centers, near }: AlignContext): void {
  const wishes = new Map<string, number>();
  for (const { id } of layer) {
    const nodes = near(id);
    const sum = nodes.reduce((total, each) => total + (centers.get(each) ?? 0), 0);
    wishes.set(id, nodes.length === 0 ? (centers.get(id) ?? 0) : sum / nodes.length);
  }
  layer.sort((a, b) => (wishes.get(a.id) ?? 0) - (wishes.get(b.id) ?? 0));
  const mean = [...wishes.values()].reduce((sum, each) => sum + each, 0) / layer.length;
  for (const [at, { id }] of layer.entries()) centers.set(id, mean + (at - (layer.length - 1) / 2) * step);
}
