/** An approval lets the approved call run once: the same call by the same principal, under the same policies. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
const realNow = Date.now;
let aheadMs = 0;
beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  plane = await startPlane({
    extraKeys: {
      person: { scopes: ['approvals:decide'] },
      other: { scopes: ['tools:evaluate', 'governance:read'] },
    },
  });
  gov = governing(plane);
  await gov.policy('ask-pay', { and: [{ '==': [{ var: 'tool.name' }, 'pay'] }, inRegion] }, 'escalate');
});
afterAll(async () => {
  vi.restoreAllMocks();
  await plane.end();
});
const inRegion = { '!=': [{ var: ['region', 'none'] }, 'test'] };

const call = {
  tool: { name: 'pay', server: 'bank', schemaHash: 'sha256:a' },
  arguments: { amount: 5, to: 'bob' },
  runId: 'run-1',
  actor: 'planner',
  context: { region: 'eu', attempt: 1 },
};
type Change = Record<string, unknown>;
let runs = 0;
const freshRun = () => `run-${(runs += 1)}-of-calls`;
// oxlint-disable-next-line typescript/no-explicit-any -- each test says what it expects of it
const evaluate = (change: Change = {}, key?: string): Promise<any> =>
  gov.must('POST', '/mcp/tools/evaluate', { ...call, ...change }, key);
const shown = (approvalId: string) => gov.must('GET', `/approvals/${approvalId}`);

/** A call that a person approved. */
async function approved(runId = freshRun()) {
  const { approvalId } = await evaluate({ runId });
  await gov.decide(approvalId, 'approved');
  return { runId, approvalId };
}

describe('the approval of a call', () => {
  it('the same call gets the open approval that it has', async () => {
    const runId = freshRun();
    const first = await evaluate({ runId });
    const again = await evaluate({ runId, context: { region: 'eu', attempt: 2 } });
    expect(again).toMatchObject({ decision: 'escalate', allowed: false, approvalId: first.approvalId });
    expect(again.obligations).toEqual(first.obligations);
    expect(again.evaluationId).not.toBe(first.evaluationId);
    expect((await gov.must('GET', `/approvals?runId=${runId}`)).data).toHaveLength(1);
    expect(await shown(first.approvalId)).toMatchObject({ evaluationId: first.evaluationId, used: null });
  });

  it('an approved call is allowed once, and the approval names the evaluation that used it', async () => {
    const { runId, approvalId } = await approved();
    const allowed = await evaluate({ runId });
    expect(allowed).toMatchObject({ decision: 'allow', allowed: true, approvalId, obligations: [] });
    expect(allowed.reason).toMatch(/^approved by key_\S+ at \S+Z$/);
    expect(allowed.matchedPolicies).toEqual([{ policyId: 'ask-pay', version: 1, decision: 'escalate' }]);
    expect(await shown(approvalId)).toMatchObject({
      status: 'approved',
      used: { evaluationId: allowed.evaluationId, at: allowed.evaluatedAt },
    });
    const { data } = await gov.must('GET', `/approvals?status=used&runId=${runId}`);
    expect(data).toMatchObject([{ approvalId, status: 'approved' }]);
    const again = await evaluate({ runId });
    expect(again).toMatchObject({ decision: 'escalate', allowed: false });
    expect(again.approvalId).not.toBe(approvalId);
    const { events } = await gov.must('GET', `/events?runId=${runId}`);
    const told = events.map(({ metadata }: { metadata: Change }) => [
      metadata['decision'],
      metadata['approvalId'],
    ]);
    expect(told).toEqual([
      ['escalate', approvalId],
      ['allow', approvalId],
      ['escalate', again.approvalId],
    ]);
  });

  it('the use of an approval is a leaf of the log', async () => {
    const { runId, approvalId } = await approved();
    const { evaluationId, evaluatedAt: at } = await evaluate({ runId });
    const leaves = (await plane.records()).map(({ record }) => JSON.parse(record));
    const uses = leaves.filter(({ type, runId: of }) => type === 'gov.use/1' && of === runId);
    expect(uses).toMatchObject([{ id: approvalId, evaluationId, at }]);
  });

  it('a call that is evaluated many times at once opens one approval and is allowed once', async () => {
    const runId = freshRun();
    const asked = await Promise.all(Array.from({ length: 8 }, () => evaluate({ runId })));
    const [approvalId, ...others] = new Set(asked.map(({ approvalId: id }) => id));
    expect(others).toEqual([]);
    await gov.decide(approvalId, 'approved');
    const answers = await Promise.all(Array.from({ length: 8 }, () => evaluate({ runId })));
    const allowed = answers.filter((answer) => answer.allowed);
    expect(allowed).toMatchObject([{ approvalId }]);
    const next = new Set(answers.filter((answer) => !answer.allowed).map((answer) => answer.approvalId));
    expect(next.size).toBe(1);
    expect(next).not.toContain(approvalId);
  });

  it('a repeated request with the same idempotency key gets the same permission', async () => {
    const { runId, approvalId } = await approved();
    const once = { body: { ...call, runId }, headers: { 'idempotency-key': 'once' } };
    const [first, second] = [
      await plane.call('POST', '/mcp/tools/evaluate', once),
      await plane.call('POST', '/mcp/tools/evaluate', once),
    ];
    expect(first.body).toMatchObject({ allowed: true, approvalId });
    expect(second.body).toEqual(first.body);
  });

  it.each<[string, Change]>([
    ['other arguments', { arguments: { amount: 6, to: 'bob' } }],
    ['another tool server', { tool: { ...call.tool, server: 'shop' } }],
    ['another tool definition', { tool: { ...call.tool, schemaHash: 'sha256:b' } }],
    ['another run', { runId: 'run-elsewhere' }],
    ['other policies', { policyIds: ['ask-pay'] }],
    ['another context that a policy reads', { context: { region: 'us' } }],
  ])('an approval does not allow a call with %s', async (_, change) => {
    const { runId, approvalId } = await approved();
    const other = await evaluate({ runId, ...change });
    expect(other).toMatchObject({ allowed: false, decision: 'escalate' });
    expect(other.approvalId).not.toBe(approvalId);
    expect(await evaluate({ runId })).toMatchObject({ allowed: true, approvalId });
  });

  it('an approval allows the call of another actor with the same key', async () => {
    const { runId, approvalId } = await approved();
    expect(await evaluate({ runId, actor: 'critic' })).toMatchObject({ allowed: true, approvalId });
  });

  it('an approval does not allow the call of another key', async () => {
    const { runId, approvalId } = await approved();
    const other = await evaluate({ runId }, plane.keys['other']);
    expect(other).toMatchObject({ allowed: false });
    expect(other.approvalId).not.toBe(approvalId);
  });

  it('a denied call stays denied, with the reason of the person, and opens no other approval', async () => {
    const runId = freshRun();
    const { approvalId } = await evaluate({ runId });
    const body = { outcome: 'denied', comment: 'no receipt' };
    await gov.must('POST', `/approvals/${approvalId}/decision`, body, plane.keys['person']);
    const again = await evaluate({ runId });
    expect(again).toMatchObject({ decision: 'deny', allowed: false, approvalId, obligations: [] });
    expect(again.reason).toMatch(/^denied by key_\S+ at \S+Z: no receipt$/);
    expect((await gov.must('GET', `/approvals?runId=${runId}`)).data).toHaveLength(1);
  });

  it('an expired approval does not allow its call, and the call opens another one', async () => {
    const { runId, approvalId } = await approved();
    aheadMs += limits.approvalHours * 3_600_000;
    const late = await evaluate({ runId });
    expect(late).toMatchObject({ decision: 'escalate', allowed: false });
    expect(late.approvalId).not.toBe(approvalId);
    expect((await shown(approvalId)).used).toBeNull();
  });

  it('an approval does not allow its call after a policy changed', async () => {
    const { runId, approvalId } = await approved();
    await gov.policy('other', { 'tool.name': 'never' }, 'deny');
    const changed = await evaluate({ runId });
    expect(changed).toMatchObject({ decision: 'escalate', allowed: false });
    expect(changed.approvalId).not.toBe(approvalId);
    await gov.policy('no-pay', { 'tool.name': 'pay' }, 'deny');
    expect(await evaluate({ runId })).toMatchObject({ decision: 'deny', approvalId: null });
    await gov.disable('no-pay');
  });

  it('a dry run neither opens nor uses an approval', async () => {
    const { runId, approvalId } = await approved();
    expect(await evaluate({ runId, dryRun: true })).toMatchObject({ decision: 'escalate', approvalId: null });
    expect(await evaluate({ runId })).toMatchObject({ allowed: true, approvalId });
  });
});

describe('an approval that the caller names', () => {
  const refused = async (change: Change): Promise<string> => {
    const answer = await plane.call('POST', '/mcp/tools/evaluate', { body: { ...call, ...change } });
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/approvalId', code: 'NOT_USABLE' }] },
    });
    return answer.body.errors[0].detail;
  };

  it('a named approval lets its call run', async () => {
    const { runId, approvalId } = await approved();
    expect(await evaluate({ runId, approvalId })).toMatchObject({ allowed: true, approvalId });
    expect(await refused({ runId, approvalId })).toContain(`${approvalId}, used by pev_`);
  });

  it('a named approval of another call is refused with what changed, and nothing is opened', async () => {
    const { runId, approvalId } = await approved();
    const other = freshRun();
    const change = { runId: other, arguments: {}, approvalId };
    expect(await refused(change)).toContain('of another call: run, arguments changed');
    expect((await gov.must('GET', `/approvals?runId=${other}`)).data).toEqual([]);
    expect(await refused({ runId, approvalId: 'apr_01jq3v5k8hf7wb3c9x2m4n6p8r' })).toContain(
      'not an approval',
    );
  });

  it('a named approval that expired is refused', async () => {
    const { runId, approvalId } = await approved();
    aheadMs += limits.approvalHours * 3_600_000;
    expect(await refused({ runId, approvalId })).toContain('expired at');
  });

  it('a named approval that waits for a decision is answered as one', async () => {
    const runId = freshRun();
    const { approvalId } = await evaluate({ runId });
    expect(await evaluate({ runId, approvalId })).toMatchObject({ decision: 'escalate', approvalId });
  });
});

describe('a log whose newest time is ahead of the clock', () => {
  const dayMs = limits.approvalHours * 3_600_000;
  const minuteMs = 60_000;
  /** The clock was ahead, the log recorded it, and the clock was set back. */
  async function logAhead(ms: number): Promise<void> {
    aheadMs += ms;
    await gov.must('POST', '/events', event({ runId: 'ahead' }));
    aheadMs -= ms;
  }

  it('by less than 24 hours: an approval is opened, decided and used', async () => {
    await logAhead(dayMs - minuteMs);
    const { runId, approvalId } = await approved();
    expect(await shown(approvalId)).toMatchObject({ status: 'approved' });
    expect(await evaluate({ runId })).toMatchObject({ decision: 'allow', approvalId });
  });

  it('by 24 hours: no expired approval is opened, and the answer names the clock and a time', async () => {
    await logAhead(dayMs + minuteMs);
    const runId = freshRun();
    const answer = await plane.call('POST', '/mcp/tools/evaluate', { body: { ...call, runId } });
    expect(answer).toMatchObject({
      status: 503,
      body: { code: 'CLOCK_BEHIND', detail: expect.stringContaining('set the clock right, or wait until') },
    });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(minuteMs / 2000);
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(minuteMs / 1000);
    expect((await gov.must('GET', `/approvals?runId=${runId}`)).data).toEqual([]);
    const [, untilTime = ''] = /wait until (\S+)$/.exec(answer.body.detail) ?? [];
    aheadMs += Date.parse(untilTime) - Date.now();
    const { approvalId } = await evaluate({ runId });
    expect(await shown(approvalId)).toMatchObject({ status: 'pending' });
    aheadMs += dayMs;
  });
});

describe('an approval altered in the database', () => {
  it.each([
    ['unused again', 'used_by = NULL, used_ms = NULL'],
    ['used by another evaluation', "used_by = 'pev_x'"],
    ['used at another time', 'used_ms = used_ms + 1'],
  ])('a used approval altered to be %s allows nothing', async (_, change) => {
    const { runId, approvalId } = await approved();
    await evaluate({ runId });
    await plane.sql(`UPDATE approval SET ${change} WHERE approval_id = '${approvalId}'`);
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body.code).toBe('STORAGE_FAULT');
    const again = await plane.call('POST', '/mcp/tools/evaluate', { body: { ...call, runId } });
    expect(again.body.allowed ?? false).toBe(false);
  });

  it('an approval under the key of another call does not allow it', async () => {
    const { approvalId } = await approved();
    const runId = freshRun();
    const mine = await evaluate({ runId });
    const keyOf = `(SELECT call_key FROM approval WHERE approval_id = '${mine.approvalId}')`;
    await plane.sql(`UPDATE approval SET call_key = NULL WHERE approval_id = '${mine.approvalId}'`);
    await plane.sql(`UPDATE approval SET call_key = ${keyOf} WHERE approval_id = '${approvalId}'`);
    expect(await evaluate({ runId })).toMatchObject({ allowed: false });
  });
});
