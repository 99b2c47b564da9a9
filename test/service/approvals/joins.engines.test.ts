/** One approval lets one call run: its hook uses it, and its MCP proxy joins, once. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
let proxyKey = '';
let strangerKey = '';
const realNow = Date.now;
let aheadMs = 0;
beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  plane = await startPlane({
    extraKeys: {
      person: { scopes: ['approvals:decide'] },
      maker: { scopes: ['tools:evaluate', 'keys:write'] },
    },
  });
  gov = governing(plane);
  const made = await gov.must('POST', '/api-keys', { name: 'proxy', scopes: ['tools:evaluate'] });
  proxyKey = made.key;
  // no key of the hook made it
  const other = { name: 'stranger', scopes: ['tools:evaluate'] };
  strangerKey = (await gov.must('POST', '/api-keys', other, plane.keys['maker'])).key;
  await gov.policy('ask-pay', { '==': [{ var: 'tool.name' }, 'pay'] }, 'escalate');
  await gov.policy('ask-destructive', destructive, 'escalate');
});
afterAll(async () => {
  vi.restoreAllMocks();
  await plane.end();
});

const destructive = { '==': [{ var: ['tool.annotations.destructiveHint', false] }, true] };

type Change = Record<string, unknown>;
let runs = 0;
const freshRun = () => `joins-${(runs += 1)}`;
const call = { tool: { name: 'pay', server: 'till' }, arguments: { amount: 900 } };
// oxlint-disable-next-line typescript/no-explicit-any -- each test says what it expects of it
const hook = (runId: string, change: Change = {}): Promise<any> =>
  gov.must('POST', '/mcp/tools/evaluate', {
    ...call,
    runId,
    actor: { name: 'claude-code', role: 'agent' },
    source: 'hook',
    toolCallId: 'toolu_1',
    client: { name: 'claude-code' },
    facts: { cwd: '/w' },
    ...change,
  });
const fromProxy = (change: Change = {}) => ({
  ...call,
  tool: { ...call.tool, schemaHash: 'sha256:a', version: '1.0.0' },
  actor: { name: 'claude-code 2', role: 'agent' },
  source: 'mcp',
  toolCallId: 'toolu_1',
  ...change,
});
// oxlint-disable-next-line typescript/no-explicit-any -- each test says what it expects of it
const proxy = (runId: string, change: Change = {}, key = proxyKey): Promise<any> =>
  gov.must('POST', '/mcp/tools/evaluate', { runId, ...fromProxy(change) }, key);

/** A run whose hook used its approval. */
async function used(change: Change = {}) {
  const runId = freshRun();
  const { approvalId } = await hook(runId, { toolCallId: 'toolu_0', ...change });
  await gov.decide(approvalId, 'approved');
  const allowed = await hook(runId, change);
  expect(allowed).toMatchObject({ allowed: true, approvalId });
  return { runId, approvalId, allowed };
}
const approvals = async (runId: string) => (await gov.must('GET', `/approvals?runId=${runId}`)).data;

describe('the second gate of an approved call', () => {
  it('joins the permission of the first: one approval, and the log says who joined', async () => {
    const { runId, approvalId, allowed } = await used();
    const joined = await proxy(runId);
    expect(joined).toMatchObject({
      decision: 'allow',
      allowed: true,
      joined: true,
      approvalId,
      obligations: [],
    });
    expect(allowed).not.toHaveProperty('joined');
    expect(joined.reason).toBe(allowed.reason);
    expect(await approvals(runId)).toHaveLength(1);
    const leaves = (await plane.records()).map(({ record }) => JSON.parse(record));
    expect(leaves.filter(({ type, runId: of }) => type === 'gov.use/1' && of === runId)).toMatchObject([
      { id: approvalId, evaluationId: allowed.evaluationId },
      { id: allowed.evaluationId, evaluationId: expect.stringMatching(/^pev_/) },
    ]);
    expect(joined.evaluationId).toBe(allowed.evaluationId);
    const { events } = await gov.must('GET', `/events?runId=${runId}`);
    expect(events.at(-1).metadata).toMatchObject({ toolCallId: 'toolu_1', joined: true, decision: 'allow' });
  });

  it.each<[string, Change, Change?]>([
    ['once', {}, {}],
    ['not with another id', { toolCallId: 'toolu_2' }],
    ['not with other arguments', { arguments: { amount: 901 } }],
    ['not for another server', { tool: { name: 'pay', server: 'shop' } }],
    [
      'not for another tool',
      { tool: { name: 'pay-all', server: 'till', annotations: { destructiveHint: true } } },
    ],
    ['not in another run', { runId: 'joins-elsewhere' }],
    ['not as a hook', { source: 'hook' }],
    ['not without a gate', { source: undefined }],
    [
      'not where another policy escalates',
      { tool: { name: 'pay', server: 'till', annotations: { destructiveHint: true } } },
    ],
    ['not by another approval', { toolCallId: 'toolu_2', approvalId: undefined }],
  ])('joins %s', async (name, change) => {
    const { runId, approvalId } = await used();
    if (name === 'once') expect(await proxy(runId)).toMatchObject({ joined: true });
    const other = await proxy(runId, change);
    expect(other).toMatchObject({ allowed: false, decision: 'escalate' });
    expect(other.approvalId).not.toBe(approvalId);
    if (name !== 'once') expect(await proxy(runId)).toMatchObject({ joined: true, approvalId });
  });

  it('with another key, joins only where one key made the other', async () => {
    const { runId, approvalId } = await used();
    expect(await proxy(runId, {}, strangerKey)).toMatchObject({ allowed: false });
    expect(await proxy(runId, {}, plane.key)).toMatchObject({ joined: true, approvalId });
  });

  it('does not join where a policy denies its call', async () => {
    const { runId } = await used();
    await gov.policy('pinned', { '==': [{ var: 'tool.schemaHash' }, 'sha256:changed'] }, 'deny');
    await hook(runId);
    const tool = { ...call.tool, schemaHash: 'sha256:changed' };
    expect(await proxy(runId, { tool })).toMatchObject({ allowed: false, decision: 'deny' });
    await gov.disable('pinned');
  });

  it('does not join after the policies have changed', async () => {
    const { runId } = await used();
    await gov.policy('new', { '==': [{ var: 'tool.name' }, 'other'] }, 'deny');
    expect(await proxy(runId)).toMatchObject({ allowed: false });
    await gov.disable('new');
  });

  it('a hook joins no permission that a proxy used', async () => {
    const runId = freshRun();
    const { approvalId } = await proxy(runId);
    await gov.decide(approvalId, 'approved');
    expect(await proxy(runId)).toMatchObject({ allowed: true, approvalId });
    expect(await hook(runId)).toMatchObject({ allowed: false });
  });

  it.each([
    ['with the id of the call', {}, limits.joinMinutes * 60],
    ['without an id', { toolCallId: undefined }, limits.joinSeconds],
  ])('joins %s within its time, and not after', async (_, change, seconds) => {
    const [early, late] = [await used(change), await used(change)];
    aheadMs += (seconds - 5) * 1000;
    expect(await proxy(early.runId, change)).toMatchObject({ joined: true });
    aheadMs += 5000;
    expect(await proxy(late.runId, change)).toMatchObject({ allowed: false });
  });

  it('without an id, joins the newest permission first, and each once', async () => {
    const runId = freshRun();
    const ids: string[] = [];
    for (const toolCallId of ['toolu_1', 'toolu_2']) {
      const { approvalId } = await hook(runId, { toolCallId });
      await gov.decide(approvalId, 'approved');
      ids.push((await hook(runId, { toolCallId })).approvalId);
    }
    const joined = [];
    for (let turn = 0; turn < 3; turn += 1) joined.push(await proxy(runId, { toolCallId: undefined }));
    expect(joined.map((each) => [each.allowed, each.approvalId])).toMatchObject([
      [true, ids[1]],
      [true, ids[0]],
      [false, joined[2].approvalId],
    ]);
    expect(ids).not.toContain(joined[2].approvalId);
  });

  it(`keeps the ${limits.joinsHeld} newest permissions of one call`, async () => {
    const runId = freshRun();
    for (let turn = 0; turn <= limits.joinsHeld; turn += 1) {
      const { approvalId } = await hook(runId);
      await gov.decide(approvalId, 'approved');
      await hook(runId, { toolCallId: `toolu_${turn}` });
    }
    expect(await proxy(runId, { toolCallId: 'toolu_0' })).toMatchObject({ allowed: false });
    expect(await proxy(runId, { toolCallId: 'toolu_1' })).toMatchObject({ joined: true });
  }, 60_000);

  it('of many at once, one joins', async () => {
    const { runId } = await used();
    const answers = await Promise.all(Array.from({ length: 8 }, () => proxy(runId)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(1);
    expect(new Set(answers.filter(({ allowed }) => !allowed).map(({ approvalId }) => approvalId)).size).toBe(
      1,
    );
  });

  it('a proof follows both gates, and states who joined', async () => {
    const { runId, allowed } = await used();
    const joined = await proxy(runId);
    const more = { argumentsHash: joined.argumentsHash };
    const ran = (evaluationId: string, actor: object) =>
      gov.must('POST', '/events', {
        runId,
        eventType: 'tool.call',
        actor,
        resource: { name: 'pay', type: 'mcp_tool' },
        action: 'call',
        timestamp: new Date().toISOString(),
        metadata: { evaluationId, ...more, toolCallId: 'toolu_1' },
      });
    await ran(allowed.evaluationId, { name: 'claude-code', role: 'agent' });
    await ran(joined.evaluationId, { name: 'claude-code 2', role: 'agent' });
    const { failed, claims } = await gov.layer(runId, 'policy_compliance');
    expect(failed).toEqual([]);
    expect(claims).toMatchObject({ approvals: { n: 1 } });
    expect(JSON.stringify(claims)).toContain('"joined":');
  });
});

describe('the binding of an approval', () => {
  const shell = { tool: { name: 'Bash' }, client: { name: 'claude-code' }, facts: { cwd: '/w' } };
  it('lets the call run with another description and actor, and not in another folder', async () => {
    await gov.policy('ask-push', { in: ['git push', { var: ['arguments.command', ''] }] }, 'escalate');
    const runId = freshRun();
    const push = (change: Change) =>
      hook(runId, { ...shell, arguments: { command: 'git push', description: 'Push' }, ...change });
    const { approvalId } = await push({});
    await gov.decide(approvalId, 'approved');
    expect(await push({ facts: { cwd: '/other' } })).toMatchObject({ allowed: false });
    const background = { command: 'git push', run_in_background: true };
    expect(await push({ arguments: background })).toMatchObject({ allowed: false });
    const again = { arguments: { command: 'git push', description: 'Push again' }, actor: 'claude-code/sub' };
    const allowed = await push(again);
    expect(allowed).toMatchObject({ allowed: true, approvalId });
    await gov.must('POST', '/events', {
      runId,
      eventType: 'tool.call',
      actor: again.actor,
      resource: { name: 'Bash', type: 'tool' },
      action: 'execute',
      timestamp: new Date().toISOString(),
      metadata: { evaluationId: allowed.evaluationId, argumentsHash: allowed.argumentsHash },
    });
    expect((await gov.layer(runId, 'policy_compliance')).failed).toEqual([]);
  });
});
