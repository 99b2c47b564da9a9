import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { governing } from '../../../service/support/governed.ts';
import { event } from '../../../support/serving.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { gov, type Result } from '../../support/tool.ts';

let plane: PolicyPlane;
let governed: ReturnType<typeof governing>;
beforeAll(async () => {
  plane = await startPolicyPlane({
    extraKeys: {
      person: { scopes: ['approvals:decide', 'governance:read'] },
      agent: { scopes: ['events:read'] },
    },
  });
  plane.write('p/pay.policy', 'deny "too-much"\nwhen tool.name == "pay" && arguments.amount > 100');
  plane.write('p/push.policy', 'escalate "ask-push"\nwhen tool.name == "push"');
  await plane.json('policy create p --publish');
  governed = governing(plane);
});
afterAll(() => plane.end());

const spawned = (words: readonly string[], key = plane.key): Promise<Result> =>
  gov(['runs', 'show', ...words], { env: { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: key } });
const terminal = async (runId: string): Promise<string> => {
  const { code, stdout } = await plane.gov(`runs show ${runId}`, { columns: 200 });
  expect(code).toBe(0);
  return stdout;
};

/** A run with an allowed, a denied and an approved call, and a proof of it. */
async function recordRun(runId: string): Promise<{ approvalId: string; proofId: string }> {
  const pays = { arguments: { amount: 5 } };
  const { evaluationId, decision } = await governed.tool(runId, 'pay', pays);
  await governed.ran(runId, { evaluationId, decision, toolCallId: 'c1' });
  const denied = await governed.tool(runId, 'pay', { arguments: { amount: 101 } });
  await governed.ran(
    runId,
    { evaluationId: denied.evaluationId, status: 'deny', toolCallId: 'c2' },
    'tool.denied',
  );
  const { approvalId } = await governed.tool(runId, 'push');
  await governed.decide(approvalId, 'approved');
  const pushed = await governed.tool(runId, 'push');
  await governed.ran(runId, {
    evaluationId: pushed.evaluationId,
    decision: pushed.decision,
    approvalId: pushed.approvalId,
    toolCallId: 'c3',
  });
  const { proofId } = await plane.json(`proofs create --run ${runId}`);
  return { approvalId: String(approvalId), proofId };
}

describe('runs show', () => {
  it('runs show writes one JSON document into a pipe: calls with deciding policies, approvals, coverage, proof', async () => {
    const { approvalId, proofId } = await recordRun('checkout');
    const { code, stdout } = await spawned(['checkout']);
    expect(code).toBe(0);
    const view = JSON.parse(stdout);
    expect(view).toMatchObject({
      runId: 'checkout',
      events: {
        count: 7,
        byType: [
          { eventType: 'tool.evaluated', count: 4 },
          { eventType: 'tool.call', count: 2 },
          { eventType: 'tool.denied', count: 1 },
        ],
      },
      coverage: { covered: true, sources: [{ source: 'direct', calls: 3 }], gaps: [] },
      approvals: [{ approvalId, status: 'approved', used: { evaluationId: expect.stringMatching(/^pev_/) } }],
      proof: { proofId, authentic: 'not_checked', compliant: 'yes', verify: `gov proofs verify ${proofId}` },
      cut: [],
    });
    const byId = Object.fromEntries(view.calls.map((call: { callId: string }) => [call.callId, call]));
    expect(byId.c1).toMatchObject({ decision: 'allowed', decisions: [{ decision: 'allow', policies: [] }] });
    expect(byId.c2).toMatchObject({
      decision: 'denied',
      verdict: 'denied',
      decisions: [
        { decision: 'deny', policies: [{ policyId: 'too-much', version: 1, reasoning: expect.any(String) }] },
      ],
    });
    expect(byId.c3).toMatchObject({
      decisions: [{ decision: 'allow', approvalId, policies: [{ policyId: 'ask-push' }] }],
    });
    // the evaluation that asked for the approval has no call
    expect(byId.null).toMatchObject({ tool: 'push', verdict: null, decisions: [{ decision: 'escalate' }] });
    expect(view.calls).toHaveLength(4);
  });

  it('runs show on a terminal names the deciding policy, the approver, and how to verify the proof', async () => {
    const { approvalId, proofId } = await recordRun('seen');
    const text = await terminal('seen');
    expect(text).toMatch(/^seen {2}7 events, \d{4}-.* to \d{4}-/);
    expect(text).toContain('events   tool.evaluated 4, tool.call 2, tool.denied 1');
    expect(text).toMatch(/not confirmed: one source only +3 calls/);
    expect(text).toMatch(/deny +pay +c2 +too-much v1 +denied +direct +.*101 > 100/);
    expect(text).toMatch(
      new RegExp(`approval ${approvalId} approved +push +by .+ \\(key_\\S+\\) at .*; used by pev_`),
    );
    expect(text).toContain(`not verified here: gov proofs verify ${proofId}`);
    expect(text).toContain('compliant  yes, the proof states');
    expect(text).not.toContain('cut:');
  });

  it('runs show counts a call of a model once that telemetry and a recording report', async () => {
    const telemetry = { importer: 'otlp', signal: 'log', otel: { request_id: 'req_1' } };
    await governed.ran('models', telemetry, 'model.invoked', 'm');
    const recorded = { timestampSource: 'source', extra: { requestId: 'req_1' }, observed: 'model.invoked' };
    await governed.ran('models', recorded, 'x.model.observed', 'm');
    await governed.ran('models', { ...recorded, extra: { requestId: 'req_2' } }, 'model.invoked', 'm');
    const sources = [
      { source: 'otlp', calls: 1 },
      { source: 'transcript', calls: 2 },
    ];
    expect(JSON.parse((await spawned(['models'])).stdout).models).toEqual({
      calls: 2,
      confirmed: 1,
      sources,
    });
    expect(await terminal('models')).toContain(
      'models   2 calls, otlp 1, transcript 2 (by source), 1 seen by two or more',
    );
  });

  it('runs show names what coverage found, a proof that is not compliant, and a run without a proof', async () => {
    await governed.ran('wild', { toolCallId: 'c1', timestampSource: 'source' }, 'tool.result', 'rm');
    await governed.ran('wild', { toolCallId: 'c1' }, 'tool.call', 'rm');
    const before = await terminal('wild');
    expect(before).toMatch(/not covered +1 call: 1 ungoverned/);
    expect(before).toMatch(/none +rm +c1 +ungoverned +direct, transcript +unknown/);
    expect(before).toContain('not proved: gov proofs create --run wild');
    await plane.gov('proofs create --run wild');
    expect(await terminal('wild')).toMatch(/compliant {2}no, the proof states\n +failed +policy_compliance/);
    const { stdout } = await spawned(['wild', '-o', 'csv']);
    expect(stdout).toMatch(/^none,rm,c1,,ungoverned,/m);
  });

  it('runs show shows its limit of calls on a terminal, and names one more as cut', async () => {
    for (const [runId, calls] of [
      ['full', limits.runShowCalls],
      ['fuller', limits.runShowCalls + 1],
    ] as const) {
      await record(runId, calls, (at) => ({ toolCallId: `c${at}` }));
      const text = await terminal(runId);
      expect(text.match(/ c\d+ +ungoverned/g)).toHaveLength(limits.runShowCalls);
      expect(text.includes(`cut: ${limits.runShowCalls} of ${calls} calls shown`)).toBe(runId === 'fuller');
    }
  });

  it('runs show reads its limit of events, and names one more as cut', async () => {
    await record('long', limits.runShowEvents, () => ({}), 'agent.step');
    expect(JSON.parse((await spawned(['long'])).stdout)).toMatchObject({
      events: { count: limits.runShowEvents, byType: [{ count: limits.runShowEvents }] },
      cut: [],
    });
    await record('long', 1, () => ({}), 'agent.step');
    expect(JSON.parse((await spawned(['long'])).stdout)).toMatchObject({
      events: { count: limits.runShowEvents + 1, byType: [{ count: limits.runShowEvents }] },
      cut: [
        {
          part: 'events',
          shown: limits.runShowEvents,
          of: limits.runShowEvents + 1,
          next: 'gov events list --run long --all',
        },
      ],
    });
  });

  it('runs show reads its limit of decisions, and names one more as cut', async () => {
    for (let made = 0; made < limits.runShowDecisions; made++) await governed.tool('decided', 'look');
    const read = async () => JSON.parse((await spawned(['decided'])).stdout);
    const whole = await read();
    expect([whole.calls.length, whole.cut]).toEqual([limits.runShowDecisions, []]);
    await governed.tool('decided', 'look');
    expect((await read()).cut).toEqual([
      {
        part: 'decisions',
        shown: limits.runShowDecisions,
        of: null,
        next: 'gov policy evaluations --run decided --all',
      },
    ]);
  });

  it('runs show exits with 5 for a run that does not exist, and with 4 for a key without its scopes', async () => {
    expect((await spawned(['nothing'])).code).toBe(5);
    await record('secret', 1, () => ({}));
    const refused = await spawned(['secret'], plane.keys['agent']);
    expect(refused).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('governance:read'),
    });
  });
});

async function record(
  runId: string,
  count: number,
  metadata: (at: number) => Record<string, unknown>,
  eventType = 'tool.call',
): Promise<void> {
  const events = Array.from({ length: count }, (_, at) =>
    event({ runId, eventType, resource: { name: 'pay', type: 'tool' }, metadata: metadata(at) }),
  );
  for (let from = 0; from < count; from += limits.batchEvents)
    await governed.must('POST', '/events/batch', { events: events.slice(from, from + limits.batchEvents) });
}
