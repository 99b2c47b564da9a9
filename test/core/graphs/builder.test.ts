import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { type Declaration, declare } from '../../../src/core/graphs/declaration.ts';
import {
  edgeRow,
  type GraphChunk,
  type GraphFacts,
  graphLeafFields,
  ListCommitter,
  nodeRow,
  readEdgeRow,
  readNodeRow,
} from '../../../src/core/graphs/rows.ts';
import { GraphBuilder, GraphRows } from '../../../src/core/graphs/builder.ts';
import { hashText } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import type { RunEvent } from '../../../src/core/events/run-entry.ts';
import { RunIndex } from '../../../src/core/events/run-index.ts';
import { ProofLog, recordSampleRun } from '../proofs/log.ts';

interface Built {
  readonly facts: GraphFacts;
  readonly nodes: readonly string[];
  readonly edges: readonly string[];
}

function build(events: readonly RunEvent[], declaration: Declaration | null = null): Built {
  const builder = new GraphBuilder(events[0]!.clear!.runId, declaration);
  const rows = { nodes: [] as string[], edges: [] as string[] };
  const take = (chunks: readonly GraphChunk[]): void => {
    for (const { list, part, rows: lines } of chunks) {
      expect(part).toBe(Math.ceil(rows[list].length / limits.graphPartItems));
      rows[list].push(...lines.toString().split('\n'));
    }
  };
  for (const event of events) {
    builder.add(event);
    take(builder.drain());
  }
  const { facts, last } = builder.at();
  take(last);
  return { facts, ...rows };
}

function indexOf(events: readonly RunEvent[]): RunIndex {
  const index = new RunIndex({ hashes: true });
  for (const event of events) index.add(event.index, event.clear!.eventId, event.hash);
  return index;
}

function reread(
  { nodes, edges }: Pick<Built, 'nodes' | 'edges'>,
  events: readonly RunEvent[],
  unresolved = 0,
) {
  const rows = new GraphRows(events[0]!.clear!.runId, indexOf(events));
  for (const row of nodes) rows.node(row);
  for (const row of edges) rows.edge(row);
  return rows.finish(unresolved);
}

const sample = (): RunEvent[] => recordSampleRun(new ProofLog());
const salt = 'AAAAAAAAAAAAAAAAAAAAAA';

describe('a built graph', () => {
  it('a built graph commits to its rows by RFC 6962 roots, and to both lists by a text', () => {
    const { facts, nodes, edges } = build(sample());
    const commitment = (rows: readonly string[]) => ({
      n: rows.length,
      root: hashText(merkleRoot(rows.map(leafHash))),
    });
    expect(facts.nodes).toEqual(commitment(nodes));
    expect(facts.edges).toEqual(commitment(edges));
    const text = `gov.graph/v1\n${canonicalize({ runId: 'run-1', nodes: facts.nodes, edges: facts.edges } as never)}`;
    expect(facts.rootHash).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
    for (const row of [...nodes, ...edges]) expect(canonicalize(JSON.parse(row))).toBe(row);
    expect(facts.events).toBe(8);
    expect(facts.checks).toEqual({ acyclic: true, causesBeforeEffects: true, nodesBoundToLeaves: true });
  });

  it('the graph of the sample run has the known root', () => {
    expect(build(sample()).facts.rootHash).toMatchInlineSnapshot(
      `"sha256:c97c2d1541876d931dd2361fcaeb9aabbd74ad4076161149ae1e242c58dc9180"`,
    );
  });

  it('a built graph has the same facts when it is read again from its rows', () => {
    const events = sample();
    const built = build(events);
    expect(reread(built, events)).toEqual(built.facts);
  });

  it('the leaf of a graph states all that the causal layer needs', () => {
    const { facts } = build(sample());
    expect(graphLeafFields('run-1', facts, true)).toEqual({
      runId: 'run-1',
      nodes: facts.nodes,
      edges: facts.edges,
      rootHash: facts.rootHash,
      events: 8,
      unresolved: 0,
      sealed: true,
    });
  });

  it(`a built graph returns its rows in parts of ${limits.graphPartItems}`, () => {
    const parts = (count: number): number[] => {
      const list = new ListCommitter('nodes', true);
      for (let at = 0; at < count; at++) list.add(`row ${at}`);
      return list.drain({ end: true }).map(({ rows }) => rows.toString().split('\n').length);
    };
    expect(parts(0)).toEqual([]);
    expect(parts(limits.graphPartItems)).toEqual([limits.graphPartItems]);
    expect(parts(limits.graphPartItems + 1)).toEqual([limits.graphPartItems, 1]);
  });
});

describe('a graph with a declaration', () => {
  const events = sample();
  const [first, second] = events.map((event) => event.clear!.eventId);
  const declaration = declare(
    {
      nodes: [
        { id: 'plan', type: 'data' },
        { id: 'agent:planner', type: 'agent', data: { team: 'x' } },
        { id: 'a-note', type: 'data', data: { text: 'why' } },
      ],
      edges: [
        { source: first!, target: second!, type: 'contains' },
        { source: first!, target: 'plan', type: 'produces' },
        { source: 'a-note', target: second!, type: 'feeds' },
        { source: 'a-note', target: 'erased', type: 'feeds' },
      ],
    },
    salt,
  );

  it('a declaration adds only nodes and edges that were not derived, sorted after these', () => {
    const alone = build(events);
    const both = build(events, declaration);
    expect(both.nodes.slice(0, alone.nodes.length)).toEqual(alone.nodes);
    expect(both.nodes.slice(alone.nodes.length).map((row) => readNodeRow(row)?.id)).toEqual([
      'a-note',
      'plan',
    ]);
    expect(both.edges.slice(0, alone.edges.length)).toEqual(alone.edges);
    expect(both.edges.slice(alone.edges.length).map((row) => readEdgeRow(row)?.source)).toEqual([
      'a-note',
      first,
    ]);
    expect(both.facts.unresolved).toBe(1);
    expect(reread(both, events, 1)).toEqual(both.facts);
  });

  it('a declaration can close a cycle, which the checks detect', () => {
    const nodes = [{ id: 'plan', type: 'data' }];
    const edges = [
      { source: second!, target: 'plan', type: 'produces' },
      { source: 'plan', target: first!, type: 'feeds' },
    ];
    const { facts } = build(events, declare({ nodes, edges }, salt));
    expect(facts.checks).toEqual({ acyclic: false, causesBeforeEffects: true, nodesBoundToLeaves: true });
  });
});

describe('tampered graph rows', () => {
  const events = sample();
  const built = build(
    events,
    declare(
      {
        nodes: [
          { id: 'zz', type: 'data' },
          { id: 'yy', type: 'data' },
        ],
        edges: [],
      },
      salt,
    ),
  );
  const node = (at: number) => readNodeRow(built.nodes[at]!)!;
  const other = hashText(leafHash('other'));
  const swapped = (at: number) => built.nodes.toSpliced(at, 2, built.nodes[at + 1]!, built.nodes[at]!);
  const last = built.nodes.length - 1;

  it.each([
    ['no rows', []],
    ['no run node', built.nodes.slice(1)],
    ['another run', [nodeRow({ ...node(0), id: 'run:other' }), ...built.nodes.slice(1)]],
    ['an event left out', built.nodes.toSpliced(1, 1)],
    ['another event hash', built.nodes.with(1, nodeRow({ ...node(1), dataCommitment: other }))],
    ['another leaf index', built.nodes.with(1, nodeRow({ ...node(1), index: node(1).index! + 1 }))],
    ['another event type', built.nodes.with(1, nodeRow({ ...node(1), type: 'tool' }))],
    ['another event id', built.nodes.with(1, nodeRow({ ...node(1), id: 'evt_x' }))],
    ['a party with another hash', built.nodes.with(2, nodeRow({ ...node(2), dataCommitment: other }))],
    ['events exchanged', swapped(1).with(1, built.nodes[3]!).with(3, built.nodes[1]!)],
    ['declared nodes out of order', swapped(last - 1)],
    ['an event after declared nodes', [...built.nodes.toSpliced(14, 1), built.nodes[14]!]],
    ['a repeated node', [...built.nodes, built.nodes[last]!]],
    ['a malformed row', built.nodes.with(2, `${built.nodes[2]!} `)],
  ])('tampered graph rows are not bound to the leaves: %s', (_name, nodes) => {
    expect(reread({ nodes, edges: [] }, events).checks.nodesBoundToLeaves).toBe(false);
  });

  it.each([
    ['an unknown source', edgeRow({ source: 'nobody', target: node(0).id, type: 'causes' })],
    ['an unknown target', edgeRow({ source: node(0).id, target: 'nobody', type: 'causes' })],
    ['a type that is none', edgeRow({ source: node(0).id, target: node(1).id, type: 'Causes' })],
    ['no JSON', 'x'],
  ])('graph rows are not bound to the leaves when there is an edge with %s', (_name, row) => {
    expect(reread({ nodes: built.nodes, edges: [row] }, events).checks.nodesBoundToLeaves).toBe(false);
  });
});

describe('a declared node that poses as an event', () => {
  const events = sample();
  const real = events[0]!.clear!.eventId;
  const verdicts = (id: string, type: string) => {
    const edges = [{ source: id, target: real, type: 'causes' }];
    const built = build(events, declare({ nodes: [{ id, type }], edges }, salt));
    return [built.facts.checks.nodesBoundToLeaves, reread(built, events).checks.nodesBoundToLeaves];
  };

  it.each([
    ['by its id and type', 'evt_01m7wt317gec485kzzzzzzzzzz', 'event'],
    ['by its id', 'evt_01m7wt317gec485kzzzzzzzzzz', 'data'],
    ['by its type', 'approval', 'event'],
  ])('a declared node that poses as an event is not bound to a leaf: %s', (_name, id, type) => {
    expect(verdicts(id, type)).toEqual([false, false]);
  });

  it('a declared node that poses as an event is never bound, and other nodes are', () => {
    const random = fc.string({ unit: fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyz'), maxLength: 26 });
    const id = fc.oneof(
      random.map((text) => `evt_${text}`),
      random.map((text) => `x${text}`),
    );
    fc.assert(
      fc.property(id, fc.constantFrom('event', 'data', 'events'), (id, type) => {
        const poses = id.startsWith('evt_') || type === 'event';
        expect(verdicts(id, type)).toEqual([!poses, !poses]);
      }),
      { seed: 5, numRuns: 50 },
    );
  });

  it('a declared node with the id of an event of the run is that event', () => {
    expect(verdicts(events[2]!.clear!.eventId, 'event')).toEqual([true, true]);
  });
});

describe('random runs', () => {
  const step = fc.record(
    {
      eventType: fc.constantFrom('agent.step', 'tool.call', 'tool.result', 'model.invoked'),
      actor: fc.constantFrom('a', 'b', 'user'),
      resource: fc.constantFrom('x', 'y z'),
      causedBy: fc.array(
        fc.nat(20).map((at) => `c${at}`),
        { maxLength: 3 },
      ),
      metadata: fc.record(
        {
          parentEventId: fc.nat(20).map((at) => `c${at}`),
          toolCallId: fc.constant('t'),
          toolCallIds: fc.constant(['t']),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['eventType'] },
  );

  it('random runs give the same graph facts from events and from rows', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
        const log = new ProofLog();
        const events = steps.map((input, at) =>
          log.record({ runId: 'r', clientEventId: `c${at}`, ...input }),
        );
        const built = build(events);
        expect(reread(built, events, built.facts.unresolved)).toEqual(built.facts);
        const ids = built.nodes.map((row) => readNodeRow(row)!.id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(new Set(built.edges).size).toBe(built.edges.length);
      }),
      { seed: 4 },
    );
  });

  it('a graph that grows equals the derivation from scratch at every size, with and without a declaration', () => {
    const declared = declare(
      {
        nodes: [
          { id: 'plan', type: 'data' },
          { id: 'agent:a', type: 'agent' },
        ],
        edges: [
          { source: 'plan', target: 'agent:a', type: 'feeds' },
          { source: 'agent:a', target: 'run:r', type: 'causes' },
          { source: 'later', target: 'plan', type: 'feeds' },
        ],
      },
      salt,
    );
    const late = { cycles: 0, orphans: 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), fc.boolean(), (steps, declares) => {
        const log = new ProofLog();
        const events = steps.map((input, at) =>
          log.record({ runId: 'r', clientEventId: `c${at}`, ...input }),
        );
        const declaration = declares ? withEdgesOf(declared, build(events).edges) : null;
        const growing = new GraphBuilder('r', declaration);
        for (const [at, event] of events.entries()) {
          growing.add(event);
          const { facts, last } = growing.at();
          const scratch = build(events.slice(0, at + 1), declaration);
          expect(facts).toEqual(scratch.facts);
          const rows = last.map((chunk) => chunk.rows.toString()).join('\n');
          expect(rows).toBe([...scratch.nodes, ...scratch.edges].join('\n'));
          if (!facts.checks.acyclic) late.cycles++;
          if (facts.unresolved > 0) late.orphans++;
        }
      }),
      { seed: 6 },
    );
    expect(Math.min(late.cycles, late.orphans)).toBeGreaterThan(0);
  });
});

/** A declaration that also has every second derived edge. */
const withEdgesOf = (declaration: Declaration, rows: readonly string[]): Declaration => ({
  ...declaration,
  edges: [...declaration.edges, ...rows.filter((_, at) => at % 2 === 0).map((row) => readEdgeRow(row)!)],
});
