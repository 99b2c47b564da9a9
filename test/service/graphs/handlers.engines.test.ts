import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

interface Graph {
  id: string;
  nodes: { id: string; type: string; data: Record<string, unknown> }[];
  edges: { source: string; target: string; type: string }[];
  rootHash: string | null;
  createdAt: string;
}

const record = async (runId: string, members: Record<string, unknown> = {}): Promise<string> =>
  (await plane.call('POST', '/events', { body: event({ runId, ...members }) })).body.eventId as string;
const graph = async (runId: string): Promise<Graph> =>
  (await plane.call('GET', `/graphs/${runId}`)).body as Graph;
const declare = (runId: string, body: unknown) => plane.call('PUT', `/graphs/${runId}`, { body });

describe('GET /graphs/{runId}', () => {
  it('GET /graphs/{runId} derives nodes and edges from the events', async () => {
    const model = await record('derived', {
      eventType: 'model.invoked',
      resource: { name: 'gpt', type: 'model' },
      metadata: { toolCallIds: ['c1'] },
    });
    const call = await record('derived', { metadata: { toolCallId: 'c1', parentEventId: model } });
    const result = await record('derived', {
      eventType: 'tool.result',
      metadata: { toolCallId: 'c1' },
      causedBy: [call],
    });
    const { nodes, edges, id, createdAt } = await graph('derived');
    expect(id).toMatch(/^grp_/);
    expect(nodes.map(({ type }) => type).toSorted()).toEqual([
      'agent',
      'event',
      'event',
      'event',
      'model',
      'run',
      'tool',
    ]);
    const has = (source: string, target: string, type: string) =>
      edges.some((edge) => edge.source === source && edge.target === target && edge.type === type);
    expect(has(model, call, 'contains')).toBe(true);
    expect(has(model, call, 'causes')).toBe(true);
    expect(has(call, result, 'produces')).toBe(true);
    expect(has('run:derived', model, 'contains')).toBe(true);
    expect((await plane.call('GET', `/events/${model}`)).body.serverTimestamp).toBe(createdAt);
  });

  it('GET /graphs/{runId} keeps id and time while the run grows', async () => {
    await record('growing');
    const before = await graph('growing');
    await record('growing');
    const after = await graph('growing');
    expect([after.id, after.createdAt]).toEqual([before.id, before.createdAt]);
    expect(after.nodes.length).toBe(before.nodes.length + 1);
  });

  it('GET /graphs/{runId} answers 404 for a run without events and declaration', async () => {
    for (const path of ['/graphs/nobody', '/graphs/nobody/lineage']) {
      expect((await plane.call('GET', path)).status).toBe(404);
    }
    expect((await plane.call('POST', '/graphs/nobody/commit')).status).toBe(404);
  });
});

describe('GET /graphs/{runId}/lineage', () => {
  it('GET /graphs/{runId}/lineage returns ancestors and descendants of a node, and the whole graph without one', async () => {
    const root = await record('line', { actor: 'a1', resource: undefined });
    const left = await record('line', { actor: 'a2', resource: undefined, causedBy: [root] });
    const leaf = await record('line', { actor: 'a3', resource: undefined, causedBy: [left] });
    const other = await record('line', { actor: 'a4', resource: undefined, causedBy: [root] });
    const lineage = async (query: string) => (await plane.call('GET', `/graphs/line/lineage${query}`)).body;
    const { nodeId, nodes } = await lineage(`?nodeId=${left}`);
    const ids = nodes.map(({ id }: { id: string }) => id);
    expect(nodeId).toBe(left);
    expect(ids).toEqual(expect.arrayContaining([root, left, leaf, 'agent:a2', 'run:line']));
    expect(ids).not.toContain(other);
    const whole = await lineage('');
    expect(whole.nodeId).toBeNull();
    expect(whole.nodes).toEqual((await graph('line')).nodes);
    expect((await plane.call('GET', '/graphs/line/lineage?nodeId=nobody')).status).toBe(404);
  });
});

describe('PUT /graphs/{runId}', () => {
  it('PUT /graphs/{runId} adds declared nodes and edges, once when they are derived too', async () => {
    const first = await record('declared');
    const body = {
      nodes: [
        { id: 'policy-1', type: 'policy', data: { title: 'limits' } },
        { id: 'agent:billing-agent', type: 'agent' },
      ],
      edges: [
        { source: 'policy-1', target: first, type: 'approves' },
        { source: 'agent:billing-agent', target: first, type: 'produces' },
      ],
    };
    const before = await graph('declared');
    const { status, body: answered } = await declare('declared', body);
    expect(status).toBe(200);
    expect(answered.nodes.length).toBe(before.nodes.length + 1);
    expect(answered.edges.length).toBe(before.edges.length + 1);
    expect(answered).toEqual(await graph('declared'));
    expect((await declare('declared', { nodes: [], edges: [] })).body.nodes.length).toBe(before.nodes.length);
  });

  it('PUT /graphs/{runId} creates a graph before the first event, which then keeps its id', async () => {
    const { body } = await declare('ahead', { nodes: [{ id: 'x', type: 'data' }], edges: [] });
    expect(body.nodes.map(({ id }: { id: string }) => id)).toEqual(['x']);
    await record('ahead');
    const after = await graph('ahead');
    expect([after.id, after.createdAt]).toEqual([body.id, body.createdAt]);
    expect((await plane.call('POST', '/graphs/ahead/commit')).status).toBe(200);
  });

  it('PUT /graphs/{runId} rejects edges to unknown nodes and repeated items, with pointers', async () => {
    await record('refused');
    const { status, body } = await declare('refused', {
      nodes: [
        { id: 'a', type: 'data' },
        { id: 'a', type: 'data' },
      ],
      edges: [{ source: 'a', target: 'nobody', type: 'causes' }],
    });
    expect(status).toBe(400);
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/nodes/1/id',
      '/edges/0/target',
    ]);
    expect((await declare('refused', { nodes: [{ id: 'a', type: 'Bad' }], edges: [] })).status).toBe(400);
    expect((await declare('refused', { nodes: [] })).status).toBe(400);
  });

  it('PUT /graphs/{runId} rejects a node with the id of an event, and accepts edges to events', async () => {
    const real = await record('posing');
    const posing = (id: string, type: string) => declare('posing', { nodes: [{ id, type }], edges: [] });
    const { status, body } = await posing('evt_01m7wt317gec485kzzzzzzzzzz', 'event');
    expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'VALIDATION_ERROR', '/nodes/0/id']);
    expect((await posing(await record('another'), 'event')).status).toBe(400);
    expect((await posing('approval', 'event')).status).toBe(400);
    expect((await posing('run:posing', 'agent')).status).toBe(400);
    expect((await posing(real, 'data')).status).toBe(400);
    expect((await posing(real, 'event')).status).toBe(200);
  });

  it('PUT /graphs/{runId} enforces its limits', async () => {
    const id = 'n'.repeat(limits.identifierChars);
    const type = 't'.repeat(limits.graphTypeChars);
    expect((await declare('bounds', { nodes: [{ id, type }], edges: [] })).status).toBe(200);
    expect((await declare('bounds', { nodes: [{ id: `${id}n`, type }], edges: [] })).status).toBe(400);
    expect((await declare('bounds', { nodes: [{ id, type: `${type}t` }], edges: [] })).status).toBe(400);
  });
});

describe('what GET answered', () => {
  it('PUT /graphs/{runId} accepts the answer of GET, and changes nothing', async () => {
    await record('echoed');
    await declare('echoed', { nodes: [{ id: 'own', type: 'policy', data: { a: 1 } }], edges: [] });
    const before = await graph('echoed');
    const { status, body } = await declare('echoed', before);
    expect([status, body]).toEqual([200, before]);
  });

  it('PUT /graphs/{runId} rejects another value for a member of the service', async () => {
    await record('changed');
    const own = await graph('changed');
    const members = {
      id: 'grp_x',
      runId: 'echoed',
      digestMetadata: { a: 1 },
      rootHash: `sha256:${'0'.repeat(64)}`,
      createdAt: '2026-01-01T00:00:00.000Z',
      truncated: true,
    };
    for (const [name, value] of Object.entries(members)) {
      const { status, body } = await declare('changed', { ...own, [name]: value });
      expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'READ_ONLY_FIELD', `/${name}`]);
    }
    const fresh = await declare('unheard', { nodes: [], edges: [], runId: 'unheard', id: 'grp_x' });
    expect([fresh.status, fresh.body.errors.length]).toEqual([400, 1]);
    expect((await declare('changed', { ...own, other: 1 })).body.code).toBe('UNKNOWN_FIELD');
  });
});

describe('the run of the service itself', () => {
  it('the run of the service itself accepts no declaration and no seal, but can be read and proved', async () => {
    for (const [method, path, body] of [
      ['PUT', '/graphs/gov.system', { nodes: [], edges: [] }],
      ['POST', '/graphs/gov.system/commit', undefined],
      ['POST', '/graphs/gov.unused/commit', undefined],
    ] as const) {
      const answer = await plane.call(method, path, body === undefined ? {} : { body });
      expect([answer.status, answer.body.code, answer.body.errors[0].pointer]).toEqual([
        400,
        'VALIDATION_ERROR',
        '/runId',
      ]);
    }
    expect((await graph('gov.system')).rootHash).toBeNull();
    const proof = await plane.call('POST', '/proofs', { body: { runId: 'gov.system' } });
    expect(proof.status).toBe(201);
  });
});

describe('POST /graphs/{runId}/commit', () => {
  it('POST /graphs/{runId}/commit seals the graph: same root again, no more declarations, no later events', async () => {
    await record('sealed');
    const first = await plane.call('POST', '/graphs/sealed/commit');
    const sealed = await graph('sealed');
    expect(sealed.rootHash).toBe(first.body.rootHash);
    await record('sealed');
    expect((await plane.call('POST', '/graphs/sealed/commit')).body).toEqual(first.body);
    expect(await graph('sealed')).toEqual(sealed);
    const refused = await declare('sealed', { nodes: [], edges: [] });
    expect([refused.status, refused.body.code]).toEqual([409, 'GRAPH_SEALED']);
    expect((await plane.call('GET', '/events/count?runId=sealed')).body.count).toBe(2);
    const proof = await plane.call('POST', '/proofs', { body: { runId: 'sealed' } });
    expect(
      (await plane.call('POST', '/proofs/verify', { body: { proofId: proof.body.proofId } })).body.verified,
    ).toBe(true);
  });

  it('POST /graphs/{runId}/commit is logged, unmetered, with an event of the service itself', async () => {
    await record('logged');
    const { body } = await plane.call('POST', '/graphs/logged/commit');
    const { events } = (await plane.call('GET', '/events?runId=gov.system&order=desc&limit=1')).body;
    expect(events[0]).toMatchObject({
      eventType: 'graph.committed',
      resource: { id: 'logged', type: 'graph' },
      metadata: { rootHash: body.rootHash },
    });
  });

  it('parallel commits seal a graph once', async () => {
    await record('parallel');
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => plane.call('POST', '/graphs/parallel/commit')),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });
});

describe('a graph with more than the answer holds', () => {
  it('a graph larger than an answer is cut and says so', { timeout: 120_000 }, async () => {
    const nodes = Array.from({ length: 40_000 }, (_, at) => ({ id: `n${at}`, type: 'data' }));
    expect((await declare('many', { nodes, edges: [] })).status).toBe(200);
    expect((await declare('many', { nodes: [...nodes, { id: 'x', type: 'data' }], edges: [] })).status).toBe(
      200,
    );
    const over = Array.from({ length: limits.graphNodesDeclared + 1 }, (_, at) => ({
      id: `n${at}`,
      type: 'd',
    }));
    expect((await declare('many', { nodes: over, edges: [] })).status).toBe(400);
    for (let at = 0; at < 24; at += 1) {
      const events = Array.from({ length: 500 }, () => ({
        ...event({ runId: 'many' }),
        resource: undefined,
        metadata: {},
      }));
      await plane.call('POST', '/events/batch', { body: { events } });
    }
    const answer = await graph('many');
    expect(answer).toMatchObject({ truncated: true });
    expect(answer.nodes.length).toBe(limits.graphNodesAnswered);
  });
});
