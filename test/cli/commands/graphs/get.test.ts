import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stylesFor } from '../../../../src/cli/terminal/safe.ts';
import { dotLines, mermaidLines, treeLines } from '../../../../src/cli/terminal/tree.ts';
import type { Graph } from '../../../../src/cli/terminal/tree.ts';
import { json, startServer } from '../../../client/server.ts';
import type { TestServer } from '../../../client/server.ts';
import { govHere } from '../../support/tool.ts';

const event = (id: string, eventType: string, action: string, sequence: number) => ({
  id,
  type: 'event',
  data: { eventType, action, sequence },
});
const graph: Graph = {
  runId: 'run-1',
  nodes: [
    { id: 'run:run-1', type: 'run', data: { runId: 'run-1' } },
    event('e1', 'model.invoked', 'plan', 3),
    { id: 'agent:planner', type: 'agent', data: { name: 'planner' } },
    { id: 'model:m', type: 'model', data: { name: 'm-1' } },
    event('e2', 'tool.call', 'look "up"\u202e', 4),
    { id: 'tool:search', type: 'tool', data: { name: 'search' } },
    event('e3', 'tool.result', 'found', 5),
    event('e4', 'run.ended', 'end', 6),
  ],
  edges: [
    { source: 'run:run-1', target: 'e1', type: 'contains' },
    { source: 'agent:planner', target: 'e1', type: 'produces' },
    { source: 'e1', target: 'model:m', type: 'calls' },
    { source: 'run:run-1', target: 'e2', type: 'contains' },
    { source: 'e1', target: 'e2', type: 'causes' },
    { source: 'e2', target: 'tool:search', type: 'calls' },
    { source: 'e2', target: 'e3', type: 'produces' },
    { source: 'run:run-1', target: 'e4', type: 'contains' },
    { source: 'e3', target: 'e4', type: 'sequence' },
  ],
};
const plain = stylesFor(false);
const tree = (each: Graph): string[] => [...treeLines(each, { styles: plain, width: 100 })].map(String);

describe('the tree', () => {
  it('the tree of a graph indents by cause, then by production, then by containment', () => {
    expect(tree(graph)).toEqual([
      'run run-1',
      '├─ #3  model.invoked  planner → m-1  plan',
      '│  └─ #4  tool.call  → search  look "up"\\u202e',
      '│     └─ #5  tool.result  found',
      '└─ #6  run.ended  end',
    ]);
  });

  it('the tree of a graph shows each node once, whatever the edges are', () => {
    const ids = ['a', 'b', 'c'];
    const nodes = ids.map((id, at) => event(id, 'x', id, at));
    const causes = (source: string, target: string) => ({ source, target, type: 'causes' });
    const cycle = {
      runId: 'r',
      nodes,
      edges: [causes('a', 'b'), causes('b', 'c'), causes('c', 'a'), causes('a', 'a')],
    };
    expect(tree(cycle)).toHaveLength(3);
    const unknown = { runId: 'r', nodes, edges: [causes('a', 'nowhere'), causes('nowhere', 'b')] };
    expect(tree(unknown)).toHaveLength(3);
  });

  it('the tree of a graph takes a chain of 20,000 causes and limits its indentation', () => {
    const nodes = Array.from({ length: 20_000 }, (_, at) => event(`e${at}`, 'x', 'y', at));
    const edges = nodes.slice(1).map(({ id }, at) => ({ source: `e${at}`, target: id, type: 'causes' }));
    const lines = tree({ runId: 'r', nodes, edges });
    expect(lines).toHaveLength(20_000);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(120);
  });
});

const hasDot = (() => {
  try {
    execFileSync('dot', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
const hostile = {
  ...graph,
  nodes: [...graph.nodes, { id: 'x"]; evil [label="\\', type: 'odd"', data: { name: '</a>`#&"|]' } }],
};

describe('DOT', () => {
  it('the DOT output escapes every id and label', () => {
    const text = [...dotLines(hostile)].join('\n');
    expect(text).toContain('"e2" [label="tool.call\\nlook \\"up\\"\\\\u202e", shape=box];');
    expect(text).toContain('"x\\"]; evil [label=\\"\\\\" [label="</a>`#&\\"|]", shape=box];');
    expect(text).toContain('"e1" -> "e2" [label="causes"];');
  });

  it.skipIf(!hasDot)('Graphviz reads the DOT output (skipped where dot is not installed)', () => {
    const svg = execFileSync('dot', ['-Tsvg'], { input: [...dotLines(hostile)].join('\n') }).toString();
    expect(svg.match(/class="node"/g)).toHaveLength(hostile.nodes.length);
  });
});

describe('Mermaid', () => {
  it('the Mermaid output numbers nodes and escapes labels as entities', () => {
    const text = [...mermaidLines(hostile)].join('\n');
    expect(text).toContain('n4["tool.call: look #34;up#34;#92;u202e"]');
    expect(text).toContain('n8["#60;/a#62;#96;#35;#38;#34;|]"]');
    expect(text).toContain('n1 -->|"causes"| n4');
  });
});

describe('gov graphs', () => {
  let server: TestServer;
  let env: Record<string, string>;
  const whole = {
    ...graph,
    id: 'grp_1',
    digestMetadata: {},
    rootHash: null,
    createdAt: '2026-03-01T12:00:00.000Z',
  };
  beforeAll(async () => {
    server = await startServer((seen, response) => {
      json(response, 200, seen.url.includes('/lineage') ? { ...whole, nodeId: 'e2' } : whole);
    });
    env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x' };
  });
  afterAll(() => server.close());

  it('gov graphs get shows a tree on a terminal, nodes and edges in a pipe and the response as JSON', async () => {
    const shown = await govHere(['graphs', 'get', 'run-1', '--color', 'never'], { env, columns: 100 });
    expect(shown.stdout.split('\n')[1]).toBe('├─ #3  model.invoked  planner → m-1  plan');
    expect(shown.stderr).toBe('8 nodes, 9 edges, not sealed\n');
    const piped = await govHere(['graphs', 'get', 'run-1'], { env });
    const lines = piped.stdout.trimEnd().split('\n');
    expect([lines[0], lines[4], lines[8], lines.length]).toEqual([
      'node\trun:run-1\trun\t\trun-1',
      'node\te2\tevent\t\ttool.call: look "up"\\u202e',
      'edge\trun:run-1\tcontains\te1\t',
      17,
    ]);
    const csv = await govHere(['graphs', 'get', 'run-1', '-o', 'csv'], { env });
    expect(csv.stdout.split('\r\n')[0]?.split('\n')[0]).toBe('kind,id,type,target,name');
    const rows = await govHere(['graphs', 'get', 'run-1', '-o', 'ndjson'], { env });
    expect(rows.stdout.split('\n')[0]).toBe(
      '{"kind":"node","id":"run:run-1","type":"run","data":{"runId":"run-1"}}',
    );
    const asJson = await govHere(['graphs', 'get', 'run-1', '-o', 'json'], { env });
    expect(JSON.parse(asJson.stdout)).toEqual(whole);
    for (const format of ['dot', 'mermaid']) {
      const { stdout, code } = await govHere(['graphs', 'get', 'run-1', '-o', format], { env });
      expect([code, /^(digraph|flowchart)/.test(stdout)]).toEqual([0, true]);
    }
  });

  it('gov graphs lineage passes the node to the service', async () => {
    const { code } = await govHere(['graph', 'lineage', 'run-1', '--node', 'e2', '-o', 'id'], { env });
    expect(code).toBe(0);
    expect(server.seen.at(-1)?.url).toBe('/api/v1/graphs/run-1/lineage?nodeId=e2');
  });

  it('commands other than gov graphs refuse the formats of graphs', async () => {
    expect(await govHere(['events', 'get', 'e', '-o', 'dot'], { env })).toMatchObject({ code: 2 });
  });
});
