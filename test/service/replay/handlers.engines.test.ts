import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { drifted, governing, told, type Job } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
beforeAll(async () => {
  plane = await startPlane();
  gov = governing(plane);
});
afterAll(() => plane.end());

const snapshot = { policyHash: 'p', modelRoute: 'm', toolRegistryHash: 't', configStateHash: 'c' };
const listedReplay = async (jobId: string) =>
  (await gov.must('GET', '/replay')).data.find((each: Job) => each.jobId === jobId);
const units = (): Promise<number> => plane.units('replay_verification');

describe('a replay of decisions', () => {
  beforeAll(async () => {
    await gov.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
    const { evaluationId } = await gov.tool('decided', 'search');
    await gov.ran('decided', { evaluationId });
    await gov.risk('decided');
    await gov.tool('decided', 'shell');
  });

  it('a replay of decisions matches step by step, in log order, and has its result once it is completed', async () => {
    const before = await units();
    const accepted = await plane.call('POST', '/replay', { body: { runId: 'decided' } });
    const { jobId } = accepted.body;
    expect(accepted.headers).toMatchObject({ location: `/api/v1/jobs/${jobId}`, 'retry-after': '1' });
    expect(await units()).toBe(before + 1);
    const job = await gov.ended(jobId);
    expect(told(job)).toEqual([
      'match policy.evaluation allow',
      'match tool.evaluated evaluate',
      'match tool.call execute',
      'match risk.decision block',
      'match policy.evaluation deny',
      'match tool.evaluated evaluate',
    ]);
    expect(job.result).toMatchObject({
      runId: 'decided',
      warnings: ['no snapshot of the run was recorded'],
      driftDiagnostics: [],
      summary: { steps: 6, match: 6, mismatch: 0, notReplayable: 0, firstDivergence: null },
    });
    expect(await gov.must('GET', `/replay/${job.result.replayId}`)).toEqual(job.result);
    expect(await listedReplay(jobId)).toMatchObject({
      replayId: job.result.replayId,
      status: 'completed',
      stepsCount: 6,
      warningsCount: 1,
      driftCount: 0,
      error: null,
    });
    expect(await units()).toBe(before + 1);
  });

  it('a replay of decisions is listed by run and status', async () => {
    const counted = async (query: string): Promise<number> =>
      (await gov.must('GET', `/replay?${query}`)).data.length;
    const all = await counted('limit=200');
    expect(all).toBeGreaterThan(0);
    expect(await counted('runId=decided&status=completed')).toBe(all);
    expect(await counted('runId=other')).toBe(0);
    expect(await counted('status=failed')).toBe(0);
    expect((await gov.must('GET', '/jobs?type=replay')).data).toHaveLength(all);
  });

  it('a replay of a run without events is refused, makes no job and counts no unit', async () => {
    const [jobs, before] = [(await gov.must('GET', '/jobs')).data.length, await units()];
    const graph = { nodes: [], edges: [] };
    for (const [path, body] of [
      ['/replay', { runId: 'nobody' }],
      ['/replay', { runId: 'nobody', replaySnapshot: snapshot }],
      ['/replay', { runId: 'decided', compareRunId: 'nobody' }],
      ['/replay/causal-graph', { runId: 'nobody', ...graph }],
    ] as const) {
      const refused = await plane.call('POST', path, { body });
      expect([refused.status, refused.body.code]).toEqual([400, 'RUN_HAS_NO_EVENTS']);
    }
    expect((await gov.must('GET', '/jobs')).data).toHaveLength(jobs);
    expect(await units()).toBe(before);
    expect((await plane.call('GET', '/governance/snapshots/nobody')).status).toBe(404);
  });

  it('a replay that failed is listed with its error, and can be retried under its id', async () => {
    await gov.ran('later', {}, 'output.delivered');
    const job = await gov.replay({ runId: 'later' });
    // as after a power cut below SQL: nothing else makes an accepted replay fail for good
    await plane.sql(
      `UPDATE job SET status = 'failed', result = NULL, summary = NULL, error_summary = 'RUN_HAS_NO_EVENTS: run later', attempt = 1 WHERE job_id = '${job.jobId}'`,
    );
    const listed = await listedReplay(job.jobId);
    expect(listed).toMatchObject({
      status: 'failed',
      stepsCount: 0,
      error: { code: 'RUN_HAS_NO_EVENTS', message: expect.stringContaining('run later') },
    });
    expect((await plane.call('POST', `/jobs/${job.jobId}/retry`)).status).toBe(202);
    expect(await gov.ended(job.jobId)).toMatchObject({
      status: 'completed',
      result: { replayId: listed.replayId, summary: { steps: 1, match: 1 } },
    });
  });

  it('a replay keeps its answer under an idempotency key, and is metered once', async () => {
    const headers = { 'idempotency-key': 'replay-1' };
    const before = await units();
    const send = () => plane.call('POST', '/replay', { body: { runId: 'decided' }, headers });
    const [first, second] = [await send(), await send()];
    expect(second.body).toEqual(first.body);
    expect(await units()).toBe(before + 1);
    await gov.ended(first.body.jobId);
  });

  it.each([
    ['a member that there is none of', { runId: 'r', policy: 1 }],
    ['a snapshot that is not whole', { runId: 'r', replaySnapshot: { policyHash: 'p' } }],
    ['a snapshot for a run of the service', { runId: 'gov.system', replaySnapshot: snapshot }],
    ['no run', {}],
  ])('a replay rejects %s', async (_, body) => {
    expect((await plane.call('POST', '/replay', { body })).status).toBe(400);
  });
});

describe('a snapshot', () => {
  it('the snapshot of the first replay that has one becomes that of the run, when the replay is accepted', async () => {
    await gov.ran('snap', {}, 'output.delivered');
    expect((await gov.must('GET', '/graphs/snap')).digestMetadata).toEqual({});
    const { jobId } = await gov.must('POST', '/replay', { runId: 'snap', replaySnapshot: snapshot });
    expect(await gov.must('GET', '/governance/snapshots/snap')).toEqual({ runId: 'snap', ...snapshot });
    const job = await gov.ended(jobId);
    expect([drifted(job), job.result.warnings]).toEqual([[], []]);
    const { policyHash, toolRegistryHash, configStateHash } = snapshot;
    expect((await gov.must('GET', '/graphs/snap')).digestMetadata).toEqual({
      policyHash,
      toolRegistryHash,
      configStateHash,
    });
    await gov.replay({ runId: 'snap', replaySnapshot: { ...snapshot, modelRoute: 'other' } });
    const shown = await gov.must('GET', '/governance/snapshots/snap');
    expect((await gov.replay({ runId: 'snap', replaySnapshot: shown })).status).toBe('completed');
    const foreign = { runId: 'snap', replaySnapshot: { ...shown, runId: 'another' } };
    const refused = await plane.call('POST', '/replay', { body: foreign });
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/replaySnapshot/runId']);
    expect((await gov.must('GET', '/governance/snapshots/snap')).modelRoute).toBe('m');
  });

  it.each([
    ['toolRegistryHash', 'x', ['high toolRegistryHash'], []],
    ['modelRoute', 'x', ['high modelRoute'], []],
    ['configStateHash', 'x', ['medium configStateHash'], []],
    ['toolRegistryHash', '', ['low toolRegistryHash'], ['the actual snapshot does not say toolRegistryHash']],
    [
      'policyHash',
      'x',
      ['low policyHash'],
      ['policies x are not known here: how they decide was not compared'],
    ],
  ])('a snapshot whose %s is now %j drifts with the right grade', async (field, value, drift, warnings) => {
    const job = await gov.replay({ runId: 'snap', replaySnapshot: { ...snapshot, [field]: value } });
    expect([drifted(job), job.result.warnings]).toEqual([drift, warnings]);
    expect(await listedReplay(job.jobId)).toMatchObject({ driftCount: 1, warningsCount: warnings.length });
  });

  it('a replay grades other policies by their effect on the decisions of the run', async () => {
    const setHash = async () =>
      (
        await gov.must('POST', '/governance/policy/evaluate', {
          runId: 'hashes',
          checkpoint: { context: { tool: { name: 'x' } } },
        })
      ).summary.policySetHash as string;
    await gov.policy('graded', { 'tool.name': 'pay' }, 'escalate');
    const recorded = await setHash();
    await gov.tool('graded', 'pay');
    await gov.tool('graded', 'search');
    await gov.must('PUT', '/governance/snapshots/graded', { ...snapshot, policyHash: recorded });
    const against = async (policyHash: string) => {
      const job = await gov.replay({ runId: 'graded', replaySnapshot: { ...snapshot, policyHash } });
      expect(job.result.summary).toMatchObject({ steps: 4, match: 4 });
      return drifted(job);
    };
    await gov.policy('graded', { 'tool.name': 'pay' }, 'warn');
    const looser = await setHash();
    await gov.policy('graded', { 'tool.name': 'pay' }, 'deny');
    const stricter = await setHash();
    await gov.policy('graded', { in: [{ var: 'context.tool.name' }, ['pay', 'shell']] }, 'escalate');
    const other = await setHash();
    expect(await against(looser)).toEqual(['critical policyHash']);
    expect(await against(stricter)).toEqual(['high policyHash']);
    expect(await against(other)).toEqual(['low policyHash']);
    expect(await against(recorded)).toEqual([]);
    // what policies decide that nobody knows is not known either
    expect(await against(`sha256:${'0'.repeat(64)}`)).toEqual(['medium policyHash']);
    // without a snapshot, the policies in force now stand for it
    await gov.policy('graded', { 'tool.name': 'pay' }, 'warn');
    const now = await gov.replay({ runId: 'graded' });
    expect(now.result.driftDiagnostics).toEqual([
      { field: 'policyHash', expected: recorded, actual: await setHash(), severity: 'critical' },
    ]);
  });

  it('a replay grades another configuration by whether it routes the run differently', async () => {
    await gov.risk('routed');
    await gov.ran('routed', {}, 'output.delivered');
    await gov.must('PUT', '/governance/snapshots/routed', snapshot);
    const other = { runId: 'routed', replaySnapshot: { ...snapshot, configStateHash: 'x' } };
    expect(drifted(await gov.replay(other))).toEqual(['medium configStateHash']);
    await gov.must('PUT', '/risk/config', {
      mode: 'monitor',
      thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 },
      defaultAction: 'allow',
    });
    expect(drifted(await gov.replay(other))).toEqual(['high configStateHash']);
  });
});

describe('a replay against another run', () => {
  it('a replay against another run names missing, extra and different steps, field by field', async () => {
    const record = (runId: string, ...steps: readonly (readonly [action: string, metadata: object])[]) =>
      gov.must('POST', '/events/batch', {
        events: steps.map(([action, metadata]) => event({ runId, action, metadata, eventType: 'step' })),
      });
    await record('trial-1', ['look', { id: 1 }], ['pay', { amount: 10 }], ['leave', {}]);
    await record('trial-2', ['look', { id: 1 }], ['ask', {}], ['pay', { amount: 12, parentEventId: 'x' }]);
    const job = await gov.replay({ runId: 'trial-2', compareRunId: 'trial-1' });
    expect(told(job)).toEqual([
      'match step look',
      'extra step ask',
      'mismatch step pay',
      'missing step leave',
    ]);
    expect(drifted(job)).toEqual(['high steps[1]', 'high steps[3]', 'medium steps[2]/metadata/amount']);
    expect(job.result.warnings).toEqual(['no snapshot of either run was recorded']);
    await gov.must('PUT', '/governance/snapshots/trial-1', snapshot);
    const graded = await gov.replay({ runId: 'trial-2', compareRunId: 'trial-1', replaySnapshot: snapshot });
    expect(drifted(graded)).toHaveLength(3);
  });
});

describe('a replay of a graph', () => {
  it('a replay of a graph compares the declaration with the events, and declares it', async () => {
    const { eventId } = await gov.ran('graphed', {}, 'output.delivered');
    const { nodes, edges } = await gov.must('GET', '/graphs/graphed');
    const same = await gov.replay({ runId: 'graphed', nodes, edges });
    expect(same.result.summary).toMatchObject({ match: nodes.length + edges.length, mismatch: 0, extra: 0 });
    const plan = { id: 'plan', type: 'plan', data: { goal: 'pay' } };
    const edge = { source: 'plan', target: eventId, type: 'causes' };
    const job = await gov.replay({ runId: 'graphed', nodes: [...nodes, plan], edges: [...edges, edge] });
    expect(job.result.summary).toMatchObject({ missing: 2, extra: 0 });
    expect(drifted(job)).toEqual(['high nodes[plan]', 'high edges[plan ' + eventId + ' causes]']);
    const declared = await gov.must('GET', '/graphs/graphed');
    expect(declared.nodes).toContainEqual(plan);
    expect(declared.edges).toContainEqual(edge);
    // what a later replay declares comes beside it
    await gov.replay({ runId: 'graphed', nodes: [{ id: 'note', type: 'note' }], edges: [] });
    const ids = (await gov.must('GET', '/graphs/graphed')).nodes.map(({ id }: { id: string }) => id);
    expect(ids).toEqual(expect.arrayContaining(['plan', 'note']));
  });

  it('a replay of a graph works on a sealed graph, which does not change', async () => {
    await gov.must('POST', '/graphs/graphed/commit');
    const sealed = await gov.must('GET', '/graphs/graphed');
    const job = await gov.replay({ runId: 'graphed', nodes: [{ id: 'new', type: 'plan' }], edges: [] });
    expect(job.result.summary).toMatchObject({ missing: 1 });
    expect(await gov.must('GET', '/graphs/graphed')).toEqual(sealed);
  });

  it('a replay of a graph rejects an edge to a node that neither the run nor the request has', async () => {
    const post = (body: unknown) => plane.call('POST', '/replay/causal-graph', { body });
    const { body: told } = await plane.call('POST', '/events', { body: event({ runId: 'edges' }) });
    const edged = (target: string) => ({
      runId: 'edges',
      nodes: [{ id: 'a', type: 'plan' }],
      edges: [{ source: 'a', target, type: 'causes' }],
    });
    const unknown = await post(edged('nobody'));
    expect([unknown.status, unknown.body.errors[0].pointer]).toEqual([400, '/edges/0/target']);
    expect((await post({ ...edged('a'), runId: 'no-events' })).body.code).toBe('RUN_HAS_NO_EVENTS');
    expect((await post(edged(told.eventId))).status).toBe(202);
    // an earlier declaration counts
    const declared = { nodes: [{ id: 'plan-b', type: 'plan' }], edges: [] };
    expect((await plane.call('PUT', '/graphs/edges', { body: declared })).status).toBe(200);
    expect((await post(edged('plan-b'))).status).toBe(202);
    const twice = edged('a');
    expect((await post({ ...twice, edges: [...twice.edges, ...twice.edges] })).status).toBe(400);
    expect((await post({ runId: 'gov.system', nodes: [], edges: [] })).status).toBe(400);
  });

  it('a replay accepts a request that is too large to keep, and then cannot be retried', async () => {
    const nodes = Array.from({ length: 12_000 }, (_, at) => ({
      id: `n-${at}`,
      type: 'plan',
      data: { text: 'x'.repeat(70) },
    }));
    const body = { runId: 'large', nodes, edges: [] };
    expect(Buffer.byteLength(JSON.stringify(body))).toBeGreaterThan(limits.jobRequestBytes);
    await gov.ran('large', {}, 'output.delivered');
    const failed = await gov.replay(body);
    expect(failed).toMatchObject({ status: 'completed', result: { summary: { missing: 12_000 } } });
    await plane.sql(`UPDATE job SET status = 'failed' WHERE job_id = '${failed.jobId}'`);
    const retry = await plane.call('POST', `/jobs/${failed.jobId}/retry`);
    expect([retry.status, retry.body.code]).toEqual([409, 'JOB_PAYLOAD_UNAVAILABLE']);
    expect((await gov.replay(body)).result.summary).toMatchObject({ missing: 12_000 });
    const listed = (await gov.must('GET', '/jobs?runId=large')).data;
    expect(listed.map(({ request }: { request: unknown }) => request)).toEqual([null, null]);
  });
});
