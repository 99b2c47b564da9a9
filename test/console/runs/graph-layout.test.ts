import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { box, layOut, nearest, related, withoutParties } from '../../../src/console/runs/graph-layout.ts';

const node = (id: string, type = 'event') => ({ id, type, data: {} });
const edge = (source: string, target: string, type = 'causes') => ({ source, target, type });
const depthOf = (layout: ReturnType<typeof layOut>) =>
  Object.fromEntries(layout.nodes.map(({ node: { id }, y }) => [id, y / (box.height + box.gapY)]));

describe('the layers of a causal graph', () => {
  it('an effect is below all its causes, and a cause without causes directly above its first effect', () => {
    const layout = layOut({
      nodes: ['a', 'b', 'c', 'd'].map((id) => node(id)),
      edges: [edge('a', 'b'), edge('b', 'c'), edge('d', 'c')],
    });
    expect(depthOf(layout)).toEqual({ a: 0, b: 1, c: 2, d: 1 });
    expect(layout.height).toBe(3 * box.height + 2 * box.gapY);
  });

  it('a declared graph with a cycle, a loop and an edge to nowhere is drawn', () => {
    const layout = layOut({
      nodes: ['a', 'b', 'c'].map((id) => node(id)),
      edges: [edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('a', 'a'), edge('a', 'x')],
    });
    expect(depthOf(layout)).toEqual({ a: 0, b: 1, c: 2 });
    expect(layout.edges).toHaveLength(3);
  });

  it('no graph has nodes that overlap or lie outside the drawing, and every edge of an acyclic one leads down', () => {
    const graphs = fc.integer({ min: 1, max: 40 }).chain((size) =>
      fc.record({
        size: fc.constant(size),
        pairs: fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 80 }),
      }),
    );
    fc.assert(
      fc.property(graphs, ({ size, pairs }) => {
        const nodes = Array.from({ length: size }, (_, at) => node(`n${at}`));
        const edges = pairs.filter(([a, b]) => a < b).map(([a, b]) => edge(`n${a}`, `n${b}`));
        const layout = layOut({ nodes, edges });
        expect(layout.nodes).toHaveLength(size);
        const depth = depthOf(layout);
        for (const { source, target } of edges) expect(depth[source]).toBeLessThan(depth[target] ?? 0);
        for (const [at, a] of layout.nodes.entries()) {
          expect(a.x).toBeGreaterThanOrEqual(0);
          expect(a.x + box.width).toBeLessThanOrEqual(layout.width + 1);
          for (const b of layout.nodes.slice(at + 1)) {
            const isApart = Math.abs(a.x - b.x) >= box.width || Math.abs(a.y - b.y) >= box.height;
            expect(isApart).toBe(true);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the nodes that are drawn', () => {
  it('parties of events and the run are left out, and a declared node with another edge stays', () => {
    const graph = withoutParties({
      nodes: [
        node('run', 'run'),
        node('agent:a', 'agent'),
        node('e1'),
        node('p', 'policy'),
        node('m', 'model'),
      ],
      edges: [edge('run', 'e1', 'contains'), edge('agent:a', 'e1', 'produces'), edge('m', 'p', 'feeds')],
    });
    expect(graph.nodes.map(({ id }) => id)).toEqual(['e1', 'p', 'm']);
    expect(graph.edges).toEqual([edge('m', 'p', 'feeds')]);
  });

  it('a graph of more nodes than shown keeps those nearest to the chosen one', () => {
    const nodes = Array.from({ length: 100 }, (_, at) => node(`n${at}`));
    const edges = nodes.slice(1).map(({ id }, at) => edge(`n${at}`, id));
    const kept = (id: string | null, most: number) =>
      nearest({ nodes, edges }, { id, most }).nodes.map((each) => each.id);
    expect(kept('n50', 5)).toEqual(['n48', 'n49', 'n50', 'n51', 'n52']);
    expect(kept('unknown', 2)).toEqual(['n0', 'n1']);
    expect(kept(null, 100)).toHaveLength(100);
    expect(kept(null, 99)).toHaveLength(99);
  });

  it('the lineage of a node has its causes and its effects, not the other effects of its causes', () => {
    const edges = [edge('a', 'b'), edge('b', 'c'), edge('a', 'x'), edge('y', 'c')];
    expect(related(edges, 'b')).toEqual({ before: new Set(['a']), after: new Set(['c']) });
    expect(related([...edges, edge('c', 'a')], 'b').before).toEqual(new Set(['a', 'c', 'y']));
  });
});
