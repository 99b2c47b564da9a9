/** One request for every operation and every status that its row documents. */
import Database from 'better-sqlite3';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { event, startPlane, type CallOptions, type TestPlane } from '../serving.ts';

let plane: TestPlane;
const ids: Record<string, string> = {};
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  const { body } = await plane.call('POST', '/events', { body: event() });
  ids['event'] = body.eventId;
  const proof = await plane.call('POST', '/proofs', { body: { runId: 'run-1' } });
  ids['proof'] = proof.body.proofId;
  const job = await plane.call('POST', '/proofs', { body: { runId: 'run-1', async: true } });
  ids['job'] = job.body.jobId;
  const replay = await plane.call('POST', '/replay', { body: { runId: 'run-1' } });
  for (const jobId of [ids['job'], replay.body.jobId]) {
    for (let done = null; done?.status !== 'completed';) {
      done = (await plane.call('GET', `/jobs/${jobId}`)).body;
      ids['replay'] = done.result?.replayId;
    }
  }
  await plane.call('POST', '/events', { body: event({ runId: 'sealed' }) });
  await plane.call('POST', '/graphs/sealed/commit');
  await plane.call('POST', '/governance/policies', { body: { policyId: 'p', ...policy } });
  await plane.call('POST', '/governance/policies/p/publish', { body: {} });
  await plane.call('PUT', '/governance/snapshots/run-1', { body: snapshot });
  const always = { policyId: 'ask', name: 'Ask', condition: { 'tool.name': 'pay' }, action: 'escalate' };
  await plane.call('POST', '/governance/policies', { body: always });
  await plane.call('POST', '/governance/policies/ask/publish', { body: {} });
  const asked = { runId: 'run-1', checkpoint: { context: { tool: { name: 'pay' } } } };
  ids['approval'] = (
    await plane.call('POST', '/governance/policy/evaluate', { body: asked })
  ).body.approvalId;
});
afterAll(() => plane.end());

const nobody = (prefix: string): string => `${prefix}_01jzzzzzzzzzzzzzzzzzzzzzzz`;
const version = { condition: { 'tool.name': 'shell' }, action: 'deny' };
const policy = { name: 'No shell', ...version };
const snapshot = { policyHash: 'a', modelRoute: 'b', toolRegistryHash: 'c', configStateHash: 'd' };
const checkpoint = { context: { tool: { name: 'shell' } } };
const riskConfig = {
  mode: 'adaptive',
  thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 },
  defaultAction: 'escalate',
};
const graph = { runId: 'run-1', nodes: [{ id: 'plan', type: 'plan' }], edges: [] };
const toolCall = { tool: { name: 'ls' }, arguments: {} };
const yes = { outcome: 'approved' };
const decision = (): string => `/approvals/${ids['approval']}/decision`;
/** Whoever asked cannot decide. */
const person = (): CallOptions => ({ key: plane.keys['person'] ?? null });
const anonymous: CallOptions = { key: null };
type Scenario = readonly [
  operation: OperationId,
  status: number,
  path: () => string,
  options?: () => CallOptions,
];

const scenarios: readonly Scenario[] = [
  ['createEvent', 201, () => '/events', () => ({ body: event() })],
  ['createEvent', 400, () => '/events', () => ({ body: {} })],
  ['createEvent', 401, () => '/events', () => ({ ...anonymous, body: event() })],
  ['listEvents', 200, () => '/events?runId=run-1'],
  ['listEvents', 400, () => '/events'],
  ['listEvents', 401, () => '/events?runId=run-1', () => anonymous],
  ['createEvents', 201, () => '/events/batch', () => ({ body: { events: [event()] } })],
  ['createEvents', 400, () => '/events/batch', () => ({ body: { events: [] } })],
  ['createEvents', 401, () => '/events/batch', () => ({ ...anonymous, body: { events: [event()] } })],
  ['countEvents', 200, () => '/events/count'],
  ['countEvents', 400, () => '/events/count?startTime=x'],
  ['countEvents', 401, () => '/events/count', () => anonymous],
  ['getEvent', 200, () => `/events/${ids['event']}`],
  ['getEvent', 401, () => `/events/${ids['event']}`, () => anonymous],
  ['getEvent', 404, () => `/events/${nobody('evt')}`],
  ['listRuns', 200, () => '/runs'],
  ['listRuns', 400, () => '/runs?limit=x'],
  ['listRuns', 401, () => '/runs', () => anonymous],
  ['createProof', 201, () => '/proofs', () => ({ body: { runId: 'run-1' } })],
  ['createProof', 202, () => '/proofs', () => ({ body: { runId: 'run-1', async: true } })],
  ['createProof', 400, () => '/proofs', () => ({ body: { runId: 'nobody' } })],
  ['createProof', 401, () => '/proofs', () => ({ ...anonymous, body: { runId: 'run-1' } })],
  ['listProofs', 200, () => '/proofs'],
  ['listProofs', 400, () => '/proofs?cursor=x'],
  ['listProofs', 401, () => '/proofs', () => anonymous],
  ['verifyProof', 200, () => '/proofs/verify', () => ({ body: { proofId: ids['proof'] } })],
  ['verifyProof', 400, () => '/proofs/verify', () => ({ body: { proofId: nobody('prf') } })],
  ['verifyProof', 401, () => '/proofs/verify', () => ({ ...anonymous, body: { proofId: 'x' } })],
  ['getProof', 200, () => `/proofs/${ids['proof']}`],
  ['getProof', 401, () => `/proofs/${ids['proof']}`, () => anonymous],
  ['getProof', 404, () => `/proofs/${nobody('prf')}`],
  ['getProofBundle', 200, () => `/proofs/${ids['proof']}/bundle`],
  ['getProofBundle', 400, () => `/proofs/${ids['proof']}/bundle?events=all`],
  ['getProofBundle', 401, () => `/proofs/${ids['proof']}/bundle`, () => anonymous],
  ['getProofBundle', 404, () => `/proofs/${nobody('prf')}/bundle`],
  ['getGraph', 200, () => '/graphs/run-1'],
  ['getGraph', 401, () => '/graphs/run-1', () => anonymous],
  ['getGraph', 404, () => '/graphs/nobody'],
  ['declareGraph', 200, () => '/graphs/run-1', () => ({ body: { nodes: [], edges: [] } })],
  ['declareGraph', 400, () => '/graphs/run-1', () => ({ body: { nodes: 1 } })],
  ['declareGraph', 401, () => '/graphs/run-1', () => ({ ...anonymous, body: { nodes: [], edges: [] } })],
  ['declareGraph', 404, () => '/graphs/-bad', () => ({ body: { nodes: [], edges: [] } })],
  ['declareGraph', 409, () => '/graphs/sealed', () => ({ body: { nodes: [], edges: [] } })],
  ['commitGraph', 200, () => '/graphs/sealed/commit'],
  ['commitGraph', 401, () => '/graphs/sealed/commit', () => anonymous],
  ['commitGraph', 404, () => '/graphs/nobody/commit'],
  ['getLineage', 200, () => '/graphs/run-1/lineage'],
  ['getLineage', 401, () => '/graphs/run-1/lineage', () => anonymous],
  ['getLineage', 404, () => '/graphs/run-1/lineage?nodeId=nobody'],
  ['getJob', 200, () => `/jobs/${ids['job']}`],
  ['getJob', 401, () => `/jobs/${ids['job']}`, () => anonymous],
  ['getJob', 404, () => `/jobs/${nobody('job')}`],
  ['listJobs', 200, () => '/jobs'],
  ['listJobs', 400, () => '/jobs?status=done'],
  ['listJobs', 401, () => '/jobs', () => anonymous],
  ['retryJob', 401, () => `/jobs/${ids['job']}/retry`, () => anonymous],
  ['retryJob', 404, () => `/jobs/${nobody('job')}/retry`],
  ['retryJob', 409, () => `/jobs/${ids['job']}/retry`],
  ['evaluatePolicy', 200, () => '/governance/policy/evaluate', () => ({ body: { runId: 'r', checkpoint } })],
  ['evaluatePolicy', 400, () => '/governance/policy/evaluate', () => ({ body: { runId: 'r' } })],
  [
    'evaluatePolicy',
    401,
    () => '/governance/policy/evaluate',
    () => ({ ...anonymous, body: { runId: 'r', checkpoint } }),
  ],
  ['listPolicyEvaluations', 200, () => '/governance/policy/evaluations'],
  ['listPolicyEvaluations', 400, () => '/governance/policy/evaluations?cursor=x'],
  ['listPolicyEvaluations', 401, () => '/governance/policy/evaluations', () => anonymous],
  ['getSnapshot', 200, () => '/governance/snapshots/run-1'],
  ['getSnapshot', 401, () => '/governance/snapshots/run-1', () => anonymous],
  ['getSnapshot', 404, () => '/governance/snapshots/nobody'],
  ['putSnapshot', 200, () => '/governance/snapshots/run-1', () => ({ body: snapshot })],
  ['putSnapshot', 400, () => '/governance/snapshots/run-1', () => ({ body: {} })],
  ['putSnapshot', 401, () => '/governance/snapshots/run-1', () => ({ ...anonymous, body: snapshot })],
  [
    'putSnapshot',
    409,
    () => '/governance/snapshots/run-1',
    () => ({ body: { ...snapshot, modelRoute: 'x' } }),
  ],
  ['createPolicy', 201, () => '/governance/policies', () => ({ body: policy })],
  [
    'createPolicy',
    400,
    () => '/governance/policies',
    () => ({ body: { ...policy, condition: { nope: [1] } } }),
  ],
  ['createPolicy', 401, () => '/governance/policies', () => ({ ...anonymous, body: policy })],
  ['createPolicy', 409, () => '/governance/policies', () => ({ body: { policyId: 'p', ...policy } })],
  ['listPolicies', 200, () => '/governance/policies'],
  ['listPolicies', 400, () => '/governance/policies?status=on'],
  ['listPolicies', 401, () => '/governance/policies', () => anonymous],
  ['getPolicy', 200, () => '/governance/policies/p'],
  ['getPolicy', 401, () => '/governance/policies/p', () => anonymous],
  ['getPolicy', 404, () => '/governance/policies/nobody'],
  ['listPolicyVersions', 200, () => '/governance/policies/p/versions'],
  ['listPolicyVersions', 400, () => '/governance/policies/p/versions?limit=x'],
  ['listPolicyVersions', 401, () => '/governance/policies/p/versions', () => anonymous],
  ['listPolicyVersions', 404, () => '/governance/policies/nobody/versions'],
  ['addPolicyVersion', 201, () => '/governance/policies/p/versions', () => ({ body: version })],
  [
    'addPolicyVersion',
    400,
    () => '/governance/policies/p/versions',
    () => ({ body: { ...version, action: 'stop' } }),
  ],
  ['addPolicyVersion', 401, () => '/governance/policies/p/versions', () => ({ ...anonymous, body: version })],
  ['addPolicyVersion', 404, () => '/governance/policies/nobody/versions', () => ({ body: version })],
  ['publishPolicy', 200, () => '/governance/policies/p/publish', () => ({ body: {} })],
  ['publishPolicy', 400, () => '/governance/policies/p/publish', () => ({ body: { version: 0 } })],
  ['publishPolicy', 401, () => '/governance/policies/p/publish', () => ({ ...anonymous, body: {} })],
  ['publishPolicy', 404, () => '/governance/policies/nobody/publish', () => ({ body: {} })],
  ['getPolicyInForce', 200, () => '/governance/policies/p/in-force'],
  ['getPolicyInForce', 401, () => '/governance/policies/p/in-force', () => anonymous],
  ['getPolicyInForce', 404, () => '/governance/policies/nobody/in-force'],
  [
    'transitionPolicy',
    200,
    () => '/governance/policies/p/transition',
    () => ({ body: { targetStatus: 'disabled' } }),
  ],
  [
    'transitionPolicy',
    400,
    () => '/governance/policies/p/transition',
    () => ({ body: { targetStatus: 'draft' } }),
  ],
  [
    'transitionPolicy',
    401,
    () => '/governance/policies/p/transition',
    () => ({ ...anonymous, body: { targetStatus: 'disabled' } }),
  ],
  [
    'transitionPolicy',
    404,
    () => '/governance/policies/nobody/transition',
    () => ({ body: { targetStatus: 'disabled' } }),
  ],
  ['rollbackPolicy', 200, () => '/governance/policies/p/rollback', () => ({ body: { targetVersion: 1 } })],
  ['rollbackPolicy', 400, () => '/governance/policies/p/rollback', () => ({ body: { targetVersion: '1' } })],
  [
    'rollbackPolicy',
    401,
    () => '/governance/policies/p/rollback',
    () => ({ ...anonymous, body: { targetVersion: 1 } }),
  ],
  [
    'rollbackPolicy',
    404,
    () => '/governance/policies/nobody/rollback',
    () => ({ body: { targetVersion: 1 } }),
  ],
  ['simulatePolicy', 200, () => '/governance/policies/p/simulate', () => ({ body: { checkpoint } })],
  [
    'simulatePolicy',
    400,
    () => '/governance/policies/p/simulate',
    () => ({ body: { checkpoint: { context: 1 } } }),
  ],
  [
    'simulatePolicy',
    401,
    () => '/governance/policies/p/simulate',
    () => ({ ...anonymous, body: { checkpoint } }),
  ],
  ['simulatePolicy', 404, () => '/governance/policies/nobody/simulate', () => ({ body: { checkpoint } })],
  [
    'analyzePolicyImpact',
    200,
    () => '/governance/policies/p/impact',
    () => ({ body: { proposedVersion: version, sampleCheckpoints: [checkpoint] } }),
  ],
  [
    'analyzePolicyImpact',
    400,
    () => '/governance/policies/p/impact',
    () => ({ body: { proposedVersion: version, sampleCheckpoints: [] } }),
  ],
  [
    'analyzePolicyImpact',
    401,
    () => '/governance/policies/p/impact',
    () => ({ ...anonymous, body: { proposedVersion: version, sampleCheckpoints: [checkpoint] } }),
  ],
  [
    'analyzePolicyImpact',
    404,
    () => '/governance/policies/nobody/impact',
    () => ({ body: { proposedVersion: version, sampleCheckpoints: [checkpoint] } }),
  ],
  [
    'analyzePolicyHistory',
    200,
    () => '/governance/policies/p/impact/history',
    () => ({ body: { proposedVersion: version } }),
  ],
  [
    'analyzePolicyHistory',
    400,
    () => '/governance/policies/p/impact/history',
    () => ({ body: { proposedVersion: version, limit: 0 } }),
  ],
  [
    'analyzePolicyHistory',
    401,
    () => '/governance/policies/p/impact/history',
    () => ({ ...anonymous, body: { proposedVersion: version } }),
  ],
  [
    'analyzePolicyHistory',
    404,
    () => '/governance/policies/nobody/impact/history',
    () => ({ body: { proposedVersion: version } }),
  ],
  ['simulatePolicies', 200, () => '/governance/policies/simulate', () => ({ body: { checkpoint } })],
  [
    'simulatePolicies',
    400,
    () => '/governance/policies/simulate',
    () => ({ body: { checkpoint, policyIds: ['nobody'] } }),
  ],
  [
    'simulatePolicies',
    401,
    () => '/governance/policies/simulate',
    () => ({ ...anonymous, body: { checkpoint } }),
  ],
  ['evaluateRisk', 200, () => '/risk/evaluate', () => ({ body: { runId: 'r' } })],
  ['evaluateRisk', 400, () => '/risk/evaluate', () => ({ body: {} })],
  ['evaluateRisk', 401, () => '/risk/evaluate', () => ({ ...anonymous, body: { runId: 'r' } })],
  ['getRiskConfig', 200, () => '/risk/config'],
  ['getRiskConfig', 401, () => '/risk/config', () => anonymous],
  ['putRiskConfig', 200, () => '/risk/config', () => ({ body: riskConfig })],
  ['putRiskConfig', 400, () => '/risk/config', () => ({ body: { ...riskConfig, mode: 'lax' } })],
  ['putRiskConfig', 401, () => '/risk/config', () => ({ ...anonymous, body: riskConfig })],
  ['listRiskDecisions', 200, () => '/risk/decisions'],
  ['listRiskDecisions', 400, () => '/risk/decisions?limit=x'],
  ['listRiskDecisions', 401, () => '/risk/decisions', () => anonymous],
  ['createReplay', 202, () => '/replay', () => ({ body: { runId: 'run-1' } })],
  ['createReplay', 400, () => '/replay', () => ({ body: { runId: 'run-1', replaySnapshot: {} } })],
  ['createReplay', 401, () => '/replay', () => ({ ...anonymous, body: { runId: 'run-1' } })],
  ['createGraphReplay', 202, () => '/replay/causal-graph', () => ({ body: graph })],
  [
    'createGraphReplay',
    400,
    () => '/replay/causal-graph',
    () => ({ body: { ...graph, nodes: [...graph.nodes, ...graph.nodes] } }),
  ],
  ['createGraphReplay', 401, () => '/replay/causal-graph', () => ({ ...anonymous, body: graph })],
  ['listReplays', 200, () => '/replay'],
  ['listReplays', 400, () => '/replay?status=done'],
  ['listReplays', 401, () => '/replay', () => anonymous],
  ['getReplay', 200, () => `/replay/${ids['replay']}`],
  ['getReplay', 401, () => `/replay/${ids['replay']}`, () => anonymous],
  ['getReplay', 404, () => `/replay/${nobody('rpl')}`],
  ['evaluateTool', 200, () => '/mcp/tools/evaluate', () => ({ body: toolCall })],
  [
    'evaluateTool',
    400,
    () => '/mcp/tools/evaluate',
    () => ({ body: { ...toolCall, policyIds: ['nobody'] } }),
  ],
  ['evaluateTool', 401, () => '/mcp/tools/evaluate', () => ({ ...anonymous, body: toolCall })],
  ['evaluateTool', 403, () => '/mcp/tools/evaluate', () => ({ ...person(), body: toolCall })],
  ['listApprovals', 200, () => '/approvals'],
  ['listApprovals', 400, () => '/approvals?status=done'],
  ['listApprovals', 401, () => '/approvals', () => anonymous],
  ['getApproval', 200, () => `/approvals/${ids['approval']}`],
  ['getApproval', 401, () => `/approvals/${ids['approval']}`, () => anonymous],
  ['getApproval', 404, () => `/approvals/${nobody('apr')}`],
  ['decideApproval', 400, () => decision(), () => ({ ...person(), body: { outcome: 'maybe' } })],
  ['decideApproval', 401, () => decision(), () => ({ ...anonymous, body: yes })],
  ['decideApproval', 403, () => decision(), () => ({ body: yes })],
  ['decideApproval', 200, () => decision(), () => ({ ...person(), body: yes })],
  ['decideApproval', 409, () => decision(), () => ({ ...person(), body: { outcome: 'denied' } })],
  ['decideApproval', 404, () => `/approvals/${nobody('apr')}/decision`, () => ({ ...person(), body: yes })],
  ['getHealth', 200, () => '/health'],
  ['getLiveness', 200, () => '/health/live'],
  ['getReadiness', 200, () => '/health/ready'],
  ['getCheckpoint', 200, () => '/log/checkpoint'],
  ['getCheckpoint', 401, () => '/log/checkpoint', () => anonymous],
  ['getLogKey', 200, () => '/log/key'],
  ['getLogKey', 401, () => '/log/key', () => anonymous],
  ['getTile', 200, () => '/log/tile/0/000.p/2'],
  ['getTile', 401, () => '/log/tile/0/000.p/2', () => anonymous],
  ['getTile', 404, () => '/log/tile/9/000'],
];

/** Where else a documented pair is provoked, or why it cannot be here. */
const elsewhere: Readonly<Record<string, string>> = {
  'retryJob 202': 'test/service/jobs.test.ts',
  'getHealth 503': 'only once the writer stopped: test/plane/lifecycle.test.ts',
  'getLiveness 503': 'an event loop that does not turn answers nothing',
  'getReadiness 503': 'below',
};

describe('every operation', () => {
  it.each(scenarios.map((scenario) => [`${scenario[0]} ${scenario[1]}`, scenario] as const))(
    'answers %s',
    async (_name, [id, status, path, options]) => {
      const row: Operation = table[id];
      const answer = await plane.call(row.method, path(), options?.() ?? {});
      expect(answer.status, answer.text.slice(0, 300)).toBe(status);
    },
  );

  it('is asked for every status that its row documents', () => {
    const missing = Object.entries<Operation>(table).flatMap(([id, row]) =>
      [...Object.keys(row.success).map(Number), ...row.statuses]
        // a plane limits no rates and has no quotas; 500 is provoked below
        .filter((status) => status !== 429 && status !== 500)
        .map((status) => `${id} ${status}`)
        .filter((pair) => !plane.seen.has(pair) && !Object.hasOwn(elsewhere, pair)),
    );
    expect(missing).toEqual([]);
  });

  it('answers 503 and names the leaf where one was altered below it', async () => {
    const db = new Database(join(plane.dataDir, 'gov.db'));
    db.exec('DROP TRIGGER leaf_update');
    db.exec("UPDATE leaf SET record = replace(record, 'tool.call', 'tool.cart') WHERE idx = 2");
    db.close();
    for (const path of [`/events/${ids['event']}`, '/events?runId=run-1', '/log/tile/entries/000.p/3']) {
      const { status, body } = await plane.call('GET', path);
      expect([status, body.code, body.index]).toEqual([503, 'STORAGE_FAULT', 2]);
    }
  });

  it('of health answers 503 and reasons where a write would not be durable', async () => {
    const probe = join(plane.dataDir, 'probe');
    rmSync(probe, { force: true });
    mkdirSync(probe);
    // the probe of a second ago is still good; the one after it is not
    for (let status = 200; status === 200;) status = (await plane.call('GET', '/health/ready')).status;
    const { status, body } = await plane.call('GET', '/health/ready');
    expect([status, body.status, body.reasons]).toEqual([503, 'unavailable', ['write_probe_failed']]);
    const overall = await plane.call('GET', '/health');
    expect([overall.status, overall.body.status]).toEqual([200, 'degraded']);
    expect((await plane.call('GET', '/health', anonymous)).body.reasons).toBeUndefined();
    expect((await plane.call('GET', '/health/live')).status).toBe(200);
  });
});
