/** Declared graphs against derived ones: each status, the order of steps, drift, and real derivations. */
import { describe, expect, it } from 'vitest';
import type { GraphEdge } from '../../../src/contract/graphs.ts';
import { limits } from '../../../src/contract/limits.ts';
import { GraphDerivation } from '../../../src/core/graphs/derivation.ts';
import type { GraphSink } from '../../../src/core/graphs/rows.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { ReplayCollector } from '../../../src/core/replay/collector.ts';
import { type ExpectedGraph, type ExpectedNode, GraphComparison } from '../../../src/core/replay/graph.ts';
import type { RunEvent } from '../../../src/core/events/run-entry.ts';
import { ProofLog, recordSampleRun } from '../proofs/log.ts';

const at = '2026-01-01T00:00:00.000Z';
const node = (id: string, type = 'agent', data?: JsonObject): ExpectedNode =>
  data === undefined ? { id, type } : { id, type, data };
const edge = (source: string, target: string, type = 'calls'): GraphEdge => ({ source, target, type });

function compare(declared: ExpectedGraph, derived: ExpectedGraph) {
  const collector = new ReplayCollector();
  const comparison = new GraphComparison(declared, collector, at);
  for (const { id, type, data = {} } of derived.nodes) comparison.node({ id, type }, data);
  for (const each of derived.edges) comparison.edge(each);
  comparison.finish();
  return collector.finish();
}
const told = ({ steps }: ReturnType<typeof compare>): string[] =>
  steps.map(({ status, eventId, eventType, action }) => `${status} ${eventId} ${eventType} ${action}`);
const drifts = ({ driftDiagnostics }: ReturnType<typeof compare>): string[] =>
  driftDiagnostics.map(
    ({ field, expected, actual, severity }) => `${severity} ${field} ${expected}|${actual}`,
  );

describe('the replay of a derived graph', () => {
  /** What `GET /graphs/{runId}` would answer, and the events to derive it from again. */
  function sample() {
    const events = recordSampleRun(new ProofLog());
    const nodes: ExpectedNode[] = [];
    const edges: GraphEdge[] = [];
    derive(events, {
      node: ({ id, type }, data) => nodes.push({ id, type, data }),
      edge: (edge) => edges.push(edge),
    });
    return { events, nodes, edges };
  }
  function derive(events: readonly RunEvent[], sink: GraphSink): void {
    const derivation = new GraphDerivation(events[0]!.clear!.runId, sink);
    for (const event of events) derivation.add(event);
    derivation.end();
  }
  function replay(declared: ExpectedGraph, events: readonly RunEvent[]) {
    const collector = new ReplayCollector();
    const comparison = new GraphComparison(declared, collector, at);
    derive(events, comparison);
    comparison.finish();
    return collector.finish();
  }

  it('the replay of a derived graph matches the answer in any order', () => {
    const { events, nodes, edges } = sample();
    const report = replay({ nodes: nodes.toReversed(), edges: edges.toReversed() }, events);
    expect(report.summary).toMatchObject({
      steps: nodes.length + edges.length,
      match: nodes.length + edges.length,
    });
    expect(report.warnings).toEqual([]);
  });

  it('the replay of a derived graph names what was left out, added or changed', () => {
    const { events, nodes, edges } = sample();
    const changed = nodes.map((each, index) => (index === 1 ? { ...each, data: { action: 'other' } } : each));
    const declared = { nodes: [...changed.slice(0, -1), node('agent:nobody')], edges: edges.slice(1) };
    expect(replay(declared, events).summary).toMatchObject({
      mismatch: 1,
      missing: 1,
      extra: 2,
      firstDivergence: 1,
    });
  });
});

describe('the replay of a graph', () => {
  it('the replay of a graph matches when exactly the declared entries were derived', () => {
    const graph = { nodes: [node('a'), node('b', 'tool')], edges: [edge('a', 'b'), edge('b', 'a', 'feeds')] };
    const report = compare(graph, { nodes: graph.nodes.toReversed(), edges: graph.edges });
    expect(told(report)).toEqual([
      'match b graph.node tool',
      'match a graph.node agent',
      'match a graph.edge calls b',
      'match b graph.edge feeds a',
    ]);
    expect(report).toMatchObject({ driftDiagnostics: [], warnings: [], mismatches: { n: 0 } });
  });

  it('the replay of a graph reports missing, extra and retyped entries in the stated order', () => {
    const report = compare(
      {
        nodes: [node('z'), node('a'), node('y', 'tool'), node('b')],
        edges: [edge('a', 'z'), edge('a', 'b'), edge('b', 'a'), edge('a', 'b', 'feeds')],
      },
      {
        nodes: [node('a', 'human'), node('c'), node('b')],
        edges: [edge('c', 'a'), edge('b', 'a', 'causes'), edge('a', 'b'), edge('b', 'a', 'produces')],
      },
    );
    expect(told(report)).toEqual([
      'mismatch a graph.node human',
      'extra c graph.node agent',
      'match b graph.node agent',
      'extra c graph.edge calls a',
      'match a graph.edge calls b',
      'missing z graph.node agent',
      'missing y graph.node tool',
      'missing a graph.edge calls z',
      'mismatch b graph.edge calls a',
      'missing a graph.edge feeds b',
      'extra b graph.edge produces a',
    ]);
    expect(drifts(report)).toEqual([
      'high nodes[a]/type agent|human',
      'high nodes[z] agent|',
      'high nodes[y] tool|',
      'high edges[a z calls] calls|',
      'high edges[b a calls]/type calls|causes',
      'high edges[a b feeds] feeds|',
      'low nodes[c] |agent',
      'low edges[c a calls] |calls',
      'low edges[b a produces] |produces',
    ]);
    expect(report.summary).toMatchObject({ match: 2, mismatch: 2, missing: 4, extra: 3, firstDivergence: 0 });
    expect(report.steps[5]!.detail).toBe(
      'declared, not derived from the events; expected agent, got nothing',
    );
  });

  it('the replay of a graph compares declared data by member and shows events as recorded', () => {
    const derived = {
      eventType: 'tool.call',
      action: 'shell',
      timestamp: '2026-02-02T00:00:00Z',
      sequence: 7,
    };
    const report = compare(
      {
        nodes: [
          node('evt_1', 'event', { action: 'rm', sequence: 7, note: 'mine', toString: null }),
          node('evt_2', 'event'),
          node('evt_3', 'event', { eventType: 'x', action: 'y', timestamp: 'z' }),
        ],
        edges: [],
      },
      { nodes: [node('evt_1', 'event', derived), node('evt_2', 'event', derived)], edges: [] },
    );
    expect(report.steps).toMatchObject([
      { status: 'mismatch', eventType: 'tool.call', action: 'shell', timestamp: '2026-02-02T00:00:00Z' },
      { status: 'match', eventType: 'tool.call' },
      { status: 'missing', eventId: 'evt_3' },
    ]);
    expect(drifts(report)).toEqual([
      'high nodes[evt_3] event|',
      'medium nodes[evt_1]/data/action "rm"|"shell"',
      'low nodes[evt_1]/data/note "mine"|',
      'low nodes[evt_1]/data/toString null|',
    ]);
    expect(report.warnings).toEqual([
      '2 declared members of node data are not in the events: they match nothing',
    ]);
  });

  it('the replay of a graph counts an entry once, however often it was derived', () => {
    const graph = { nodes: [node('a')], edges: [edge('a', 'a')] };
    const twice = { nodes: [node('a'), node('a', 'tool')], edges: [edge('a', 'a'), edge('a', 'a')] };
    expect(told(compare(graph, twice))).toEqual(['match a graph.node agent', 'match a graph.edge calls a']);
  });

  it('the replay of an empty graph has no steps', () => {
    const none = { nodes: [], edges: [] };
    expect(compare(none, none).summary).toMatchObject({ steps: 0, firstDivergence: null });
  });

  it('the replay of the largest declaration counts all steps and reports that its list is cut', () => {
    const nodes = Array.from({ length: limits.graphNodesDeclared }, (_, at) => node(`n${at}`));
    const edges = Array.from({ length: limits.graphEdgesAnswered }, (_, at) =>
      edge(`n${at % nodes.length}`, `n${(at * 7) % nodes.length}`, `t${Math.floor(at / nodes.length)}`),
    );
    const same = compare({ nodes, edges }, { nodes, edges });
    expect(same.summary).toMatchObject({ steps: 250_000, match: 250_000 });
    expect(same.steps).toHaveLength(limits.replaySteps);
    expect(same.truncated).toBe(true);
    const without = compare({ nodes, edges }, { nodes: [], edges: [] });
    expect(without.summary).toMatchObject({ missing: 250_000, firstDivergence: 0 });
    expect(without).toMatchObject({ driftCount: 250_000, truncated: true, mismatches: { n: 250_000 } });
    expect(without.driftDiagnostics.length).toBeLessThanOrEqual(limits.graphPartItems);
  });
});
