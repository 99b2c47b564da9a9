import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CausalChecks } from '../../../src/core/graphs/causality.ts';

/** Edges between `events` event nodes (0 …) and `others` other nodes (-1 …). */
function judge(
  nodes: { events: number; others: number },
  edges: readonly (readonly [number, number, 'contains' | 'causes'])[],
) {
  const checks = new CausalChecks();
  for (let at = 0; at < nodes.events; at++) checks.node(true);
  for (let at = 0; at < nodes.others; at++) checks.node(false);
  for (const [source, target, type] of edges) checks.edge(source, target, type === 'contains');
  return checks.finish();
}

describe('causal checks', () => {
  it('causal checks accept a chain and refuse a cycle, a loop, and an effect before its cause', () => {
    const nodes = { events: 3, others: 1 };
    expect(
      judge(nodes, [
        [0, 1, 'causes'],
        [1, 2, 'causes'],
      ]),
    ).toEqual({ acyclic: true, causesBeforeEffects: true });
    expect(
      judge(nodes, [
        [0, 1, 'causes'],
        [1, 0, 'causes'],
      ]),
    ).toEqual({ acyclic: false, causesBeforeEffects: false });
    expect(judge(nodes, [[1, 1, 'causes']])).toEqual({ acyclic: false, causesBeforeEffects: false });
    expect(judge(nodes, [[2, 0, 'causes']])).toEqual({ acyclic: true, causesBeforeEffects: false });
  });

  it('causal checks ignore the order of containment, but detect cycles in it', () => {
    const nodes = { events: 3, others: 1 };
    // a span that is recorded when it ends: its parts come first and lead to it
    expect(
      judge(nodes, [
        [0, 1, 'causes'],
        [1, 2, 'causes'],
        [2, 0, 'contains'],
        [2, 1, 'contains'],
      ]),
    ).toEqual({
      acyclic: true,
      causesBeforeEffects: true,
    });
    expect(
      judge(nodes, [
        [0, 1, 'contains'],
        [1, 0, 'contains'],
      ]).acyclic,
    ).toBe(false);
  });

  it('causal checks detect cycles through nodes that are not events', () => {
    const nodes = { events: 2, others: 2 };
    const chain = [
      [0, -1, 'causes'],
      [-1, -2, 'causes'],
    ] as const;
    expect(judge(nodes, chain).acyclic).toBe(true);
    expect(judge(nodes, [...chain, [-2, 0, 'causes']])).toEqual({
      acyclic: false,
      causesBeforeEffects: true,
    });
  });

  it('causal checks agree with a depth-first search on random graphs', () => {
    const edge = fc.tuple(
      fc.integer({ min: -4, max: 7 }),
      fc.integer({ min: -4, max: 7 }),
      fc.constant('causes' as const),
    );
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 14 }), (edges) => {
        const reach = (from: number, to: number, seen = new Set<number>()): boolean =>
          edges.some(([source, target]) => {
            if (source !== from || seen.has(target)) return false;
            if (target === to) return true;
            seen.add(target);
            return reach(target, to, seen);
          });
        const cyclic = edges.some(([source, target]) => source === target || reach(target, source));
        expect(judge({ events: 8, others: 4 }, edges).acyclic).toBe(!cyclic);
      }),
      { seed: 3 },
    );
  });

  it('causal checks handle a chain of 300,000 events without a stack overflow', () => {
    const edges = Array.from({ length: 299_999 }, (_, at) => [at, at + 1, 'causes'] as const);
    expect(judge({ events: 300_000, others: 0 }, edges)).toEqual({
      acyclic: true,
      causesBeforeEffects: true,
    });
    expect(judge({ events: 300_000, others: 0 }, [...edges, [299_999, 0, 'causes']]).acyclic).toBe(false);
  });
});
