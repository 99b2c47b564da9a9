import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalize } from '../../../src/core/json/canonical.ts';
import { limits } from '../../../src/contract/limits.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
  await policy('no-shell', { 'tool.name': 'shell' }, 'deny');
  await policy(
    'big-refund',
    {
      and: [
        { exists: ['context', 'arguments', 'amount'] },
        { '>': [{ var: 'context.arguments.amount' }, 100] },
      ],
    },
    'escalate',
  );
  await policy(
    'watch-writes',
    {
      and: [
        { exists: ['context', 'tool', 'annotations', 'readOnlyHint'] },
        { '===': [{ var: 'context.tool.annotations.readOnlyHint' }, false] },
      ],
    },
    'warn',
  );
});
afterAll(() => plane.end());

async function policy(policyId: string, condition: unknown, action: string): Promise<void> {
  const created = await plane.call('POST', '/governance/policies', {
    body: { policyId, name: policyId, condition, action },
  });
  expect(created.status).toBe(201);
  const published = await plane.call('POST', `/governance/policies/${policyId}/publish`, { body: {} });
  expect(published.status).toBe(200);
}
const paths = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`/${at}`, '/x']));
const evaluate = (body: Record<string, unknown>) =>
  plane.call('POST', '/mcp/tools/evaluate', { body: { arguments: {}, ...body } });

describe('tool evaluation', () => {
  const client = { name: 'claude-code', version: '2.1.332' };
  const facts = {
    cwd: '/w/app',
    home: '/home/a',
    workspace: '/w/app',
    real: { '/w/app/build': '/mnt/b' },
    remotes: { origin: 'github.com', none: null },
    plane: '127.0.0.1:7460',
    sandbox: null,
  };
  const rm = { tool: { name: 'Bash' }, arguments: { command: 'rm -rf build' }, client, facts };

  it('a tool evaluation records the facts and the action of the call', async () => {
    const { status, body } = await evaluate({ ...rm, runId: 'run-action' });
    expect(status).toBe(200);
    const { body: history } = await plane.call('GET', '/governance/policy/evaluations?runId=run-action');
    const { context } = history.data[0].checkpoint;
    expect(context.facts).toEqual({ ...facts, client });
    expect(context.action).toMatchObject({
      engine: 'gov.action/1',
      kind: 'shell',
      commands: [{ program: 'rm', flags: ['-rf', '-r', '-f'] }],
      paths: [
        { path: '/w/app/build', access: 'delete', places: ['workspace'] },
        { path: '/mnt/b', access: 'delete', places: ['other'] },
      ],
    });
    const canonical = canonicalize(context.action);
    expect(body.actionHash).toBe(`sha256:${hash('sha256', `gov.action/1\n${canonical}`, 'hex')}`);
    const events = await plane.call('GET', '/events?runId=run-action');
    expect(events.body.events[0].metadata.actionHash).toBe(body.actionHash);
  });

  it('a call without client and facts has an action that says nothing', async () => {
    await evaluate({ tool: { name: 'Bash' }, arguments: { command: 'ls' }, runId: 'run-plain' });
    const { body } = await plane.call('GET', '/governance/policy/evaluations?runId=run-plain');
    expect(body.data[0].checkpoint.context).not.toHaveProperty('facts');
    expect(body.data[0].checkpoint.context.action).toMatchObject({ kind: 'call', commands: null });
  });

  it('a tool evaluation allows a call without objections, for a minute', async () => {
    const { status, body } = await evaluate({ tool: { name: 'search' }, runId: 'run-1' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      decision: 'allow',
      allowed: true,
      matchedPolicies: [],
      obligations: [],
      approvalId: null,
    });
    expect(Date.parse(body.expiresAt) - Date.parse(body.evaluatedAt)).toBe(limits.toolDecisionSeconds * 1000);
    expect(body.argumentsHash).toBe(`sha256:${hash('sha256', 'gov.toolargs/v1\n{}', 'hex')}`);
  });

  it('a tool evaluation denies, and names the policy and the clause', async () => {
    const { body } = await evaluate({ tool: { name: 'shell' }, runId: 'run-1' });
    expect(body).toMatchObject({
      decision: 'deny',
      allowed: false,
      matchedPolicies: [{ policyId: 'no-shell', version: 1, decision: 'deny' }],
    });
    expect(body.reason).toContain('context.tool.name');
    expect(body.riskScore).toBe(0.95);
  });

  it("a tool evaluation warns and lists the caller's obligations", async () => {
    const tool = { name: 'write', annotations: { readOnlyHint: false } };
    const { body } = await evaluate({ tool, runId: 'run-1' });
    expect(body).toMatchObject({ decision: 'warn', allowed: true });
    expect(body.obligations).toEqual([{ type: 'show_warning', params: { policyIds: ['watch-writes'] } }]);
  });

  it('a tool evaluation opens an approval when a policy escalates', async () => {
    const { body } = await evaluate({ tool: { name: 'refund' }, arguments: { amount: 101 }, runId: 'run-1' });
    expect(body).toMatchObject({ decision: 'escalate', allowed: false });
    const approval = await plane.call('GET', `/approvals/${body.approvalId}`);
    expect(approval.body).toMatchObject({
      status: 'pending',
      evaluationId: body.evaluationId,
      runId: 'run-1',
    });
  });

  it('a tool evaluation is recorded as an evaluation and as an event of the run, unmetered', async () => {
    const before = await plane.call('GET', '/events/count?runId=run-2');
    const { body } = await evaluate({ tool: { name: 'search' }, runId: 'run-2', actor: 'planner' });
    const events = await plane.call('GET', '/events?runId=run-2');
    expect(events.body.events).toHaveLength(before.body.count + 1);
    expect(events.body.events[0]).toMatchObject({
      eventType: 'tool.evaluated',
      actor: 'planner',
      resource: { name: 'search', type: 'tool' },
      metadata: { evaluationId: body.evaluationId, decision: 'allow', argumentsHash: body.argumentsHash },
    });
    const history = await plane.call('GET', '/governance/policy/evaluations?runId=run-2');
    expect(history.body.data[0]).toMatchObject({
      id: body.evaluationId,
      policySource: 'tool',
      policyCount: 3,
    });
    expect(history.body.data[0].checkpoint.context).toMatchObject({
      tool: { name: 'search' },
      runId: 'run-2',
    });
  });

  it('a tool evaluation without a run is stored in a run of the service, and answered without one', async () => {
    const { body } = await evaluate({ tool: { name: 'search' } });
    const history = await plane.call('GET', '/governance/policy/evaluations?limit=1');
    expect(history.body.data[0]).toMatchObject({ id: body.evaluationId, runId: null });
  });

  it('a dry run of a tool evaluation records nothing', async () => {
    const { status, body } = await evaluate({
      tool: { name: 'refund' },
      arguments: { amount: 500 },
      runId: 'run-dry',
      dryRun: true,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ decision: 'escalate', approvalId: null, obligations: [] });
    expect((await plane.call('GET', '/events/count?runId=run-dry')).body.count).toBe(0);
    expect((await plane.call('GET', '/governance/policy/evaluations?runId=run-dry')).body.data).toEqual([]);
    expect((await plane.call('GET', '/approvals?runId=run-dry')).body.data).toEqual([]);
  });

  it('a tool evaluation uses only the named policies', async () => {
    const { body } = await evaluate({ tool: { name: 'shell' }, runId: 'run-1', policyIds: ['watch-writes'] });
    expect(body).toMatchObject({ decision: 'allow' });
  });

  const largest = { a: 'a'.repeat(limits.toolArgumentsBytes - 8) };
  it('a tool evaluation accepts arguments up to the limit', async () => {
    expect((await evaluate({ tool: { name: 'search' }, arguments: largest, runId: 'r' })).status).toBe(200);
  });

  it('a tool evaluation accepts facts up to their limits', async () => {
    const most = {
      cwd: `/${'a'.repeat(limits.actionPathChars - 1)}`,
      real: paths(limits.factLinks),
      remotes: paths(limits.factRemotes),
      plane: 'a'.repeat(limits.factHostChars),
    };
    expect((await evaluate({ tool: { name: 'search' }, facts: most })).status).toBe(200);
  });

  it.each([
    ['arguments over the limit', { arguments: { a: `${largest.a}a` } }, '/arguments'],
    ['a context that sets what the service sets', { context: { tool: { name: 'search' } } }, '/context/tool'],
    ['a context with an action', { context: { action: {} } }, '/context/action'],
    ['a context with facts', { context: { facts: {} } }, '/context/facts'],
    ['a relative folder', { facts: { cwd: 'x' } }, '/facts/cwd'],
    ['an unknown fact', { facts: { user: 'x' } }, '/facts/user'],
    ['a client without a name', { client: { version: '1' } }, '/client/name'],
    ['too many links', { facts: { real: paths(limits.factLinks + 1) } }, '/facts/real'],
    ['too many remotes', { facts: { remotes: paths(limits.factRemotes + 1) } }, '/facts/remotes'],
    ['a long endpoint', { facts: { plane: 'a'.repeat(limits.factHostChars + 1) } }, '/facts/plane'],
    ['a run of the service', { runId: 'gov.tools' }, '/runId'],
    ['an unknown policy', { policyIds: ['nobody'] }, '/policyIds/0'],
    ['a name that is too long', { tool: { name: 'a'.repeat(limits.toolNameChars + 1) } }, '/tool/name'],
    ['an unknown hint', { tool: { name: 'x', annotations: { safe: true } } }, '/tool/annotations/safe'],
  ])('a tool evaluation rejects %s', async (_, change, pointer) => {
    const answer = await evaluate({ tool: { name: 'search' }, ...change });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].pointer).toBe(pointer);
  });

  it('policies read the action of the call', async () => {
    const condition = {
      and: [
        { exists: ['context', 'facts'] },
        { some: [{ val: ['context', 'action', 'paths'] }, { in: ['other', { val: ['places'] }] }] },
      ],
    };
    await policy('no-other', condition, 'deny');
    expect((await evaluate({ ...rm, policyIds: ['no-other'] })).body.decision).toBe('deny');
    const inside = { ...rm, facts: { ...facts, real: {} }, policyIds: ['no-other'] };
    expect((await evaluate(inside)).body.decision).toBe('allow');
  });

  it('a policy says what an undecided condition means', async () => {
    const members = { action: 'deny', onIndeterminate: 'escalate', requireSignedApproval: true };
    const body = { policyId: 'unclear', name: 'u', condition: { 'arguments.level': 'high' }, ...members };
    const created = await plane.call('POST', '/governance/policies', { body });
    expect(created.body.latest).toMatchObject(members);
    await plane.call('POST', '/governance/policies/unclear/publish', { body: {} });
    const decided = async (given: object) =>
      (await evaluate({ tool: { name: 'x' }, arguments: given, policyIds: ['unclear'] })).body;
    expect(await decided({ level: 'high' })).toMatchObject({ decision: 'deny' });
    expect(await decided({ level: 'low' })).toMatchObject({ decision: 'allow' });
    const unclear = await decided({});
    expect(unclear.decision).toBe('escalate');
    expect(unclear.reason).toContain('unknown escalate');
    const approval = await plane.call('GET', `/approvals/${unclear.approvalId}`);
    expect(approval.body.signatureRequired).toBe(true);
    const { onIndeterminate: _no, ...without } = body;
    const refused = await plane.call('POST', '/governance/policies', { body: { ...without, policyId: 'v' } });
    expect(refused.body.errors[0].pointer).toBe('/requireSignedApproval');
  });
});
