import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
const realNow = Date.now;
let aheadMs = 0;
beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  plane = await startPlane({
    extraKeys: {
      approver: { scopes: ['governance:read', 'approvals:decide'] },
      reader: { scopes: ['governance:read'] },
    },
  });
  const body = { policyId: 'ask', name: 'Ask first', condition: {}, action: 'escalate' };
  expect((await plane.call('POST', '/governance/policies', { body })).status).toBe(201);
  expect((await plane.call('POST', '/governance/policies/ask/publish', { body: {} })).status).toBe(200);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await plane.end();
});

async function escalate(runId = 'run-1'): Promise<{ approvalId: string; evaluationId: string }> {
  const body = { runId, checkpoint: { context: {} } };
  const answer = await plane.call('POST', '/governance/policy/evaluate', { body });
  expect(answer.body.combined).toBe('escalate');
  return answer.body;
}
const decide = (approvalId: string, body: unknown, key = plane.keys['approver'] ?? '') =>
  plane.call('POST', `/approvals/${approvalId}/decision`, { body, key });

/** A list shows the others, and names this one. */
async function expectHidden(approvalId: string): Promise<void> {
  const other = await escalate();
  const { status, body } = await plane.call('GET', '/approvals?limit=200');
  const shown = new Set(body.data.map((each: { approvalId: string }) => each.approvalId));
  expect([status, shown.has(other.approvalId), shown.has(approvalId)]).toEqual([200, true, false]);
  expect(body.altered).toContain(approvalId);
}

describe('approvals', () => {
  it('an approval opens with the escalation and is decided by another key', async () => {
    const { approvalId, evaluationId } = await escalate();
    const open = await plane.call('GET', `/approvals/${approvalId}`);
    expect(open.body).toMatchObject({ evaluationId, runId: 'run-1', status: 'pending', decidedBy: null });
    expect(open.body.reason).toContain('escalate v1');
    const decided = await decide(approvalId, { outcome: 'approved', comment: 'customer called' });
    expect(decided.status).toBe(200);
    expect(decided.body).toMatchObject({ status: 'approved', comment: 'customer called' });
    expect(decided.body.decidedBy).not.toBe(open.body.requestedBy);
    // with the names of the keys
    expect(open.body).toMatchObject({
      requestedByName: expect.stringMatching(/^(local operator|Sign-up key)$/),
      decidedByName: null,
    });
    expect(decided.body).toMatchObject({
      requestedByName: expect.stringMatching(/^(local operator|Sign-up key)$/),
      decidedByName: 'approver',
    });
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body).toMatchObject(decided.body);
    const trail = await plane.call('GET', '/events?runId=gov.system&eventType=approval.approved');
    expect(trail.body.events.at(-1)).toMatchObject({
      actor: { id: decided.body.decidedBy },
      resource: { id: approvalId, type: 'approval' },
    });
  });

  it('an approval shows the tool call that it is about, in a list too', async () => {
    const body = {
      tool: { name: 'ledger.pay', server: 'bank', version: '2' },
      arguments: { amount: 12, card: { number: '4111' } },
      runId: 'run-shown',
      actor: { id: 'agent-7', role: 'agent' },
      context: { region: 'eu' },
    };
    const { approvalId } = (await plane.call('POST', '/mcp/tools/evaluate', { body })).body;
    const shown = (await plane.call('GET', `/approvals/${approvalId}`)).body;
    expect(shown).toMatchObject({
      tool: { name: 'ledger.pay', server: 'bank' },
      arguments: body.arguments,
      actor: body.actor,
      context: { region: 'eu' },
      policies: [{ policyId: 'ask', version: 1, reasoning: expect.stringContaining('escalate v1') }],
    });
    expect((await plane.call('GET', '/approvals?runId=run-shown')).body.data).toEqual([shown]);
  });

  it('an approval of another evaluation shows what the policies saw', async () => {
    const body = { runId: 'run-seen', checkpoint: { context: { tool: 'hand-made', amount: 3 } } };
    const { approvalId } = (await plane.call('POST', '/governance/policy/evaluate', { body })).body;
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body).toMatchObject({
      tool: null,
      arguments: null,
      actor: null,
      context: { tool: 'hand-made', amount: 3 },
    });
  });

  it('the key that asked can never decide an approval', async () => {
    const { approvalId } = await escalate();
    const answer = await decide(approvalId, { outcome: 'approved' }, plane.key);
    expect(answer.status).toBe(403);
    expect(answer.body.code).toBe('FORBIDDEN');
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body.status).toBe('pending');
  });

  it('deciding an approval needs the scope', async () => {
    const { approvalId } = await escalate();
    const answer = await decide(approvalId, { outcome: 'denied' }, plane.keys['reader']);
    expect(answer.status).toBe(403);
    expect(answer.body.requiredScope).toBe('approvals:decide');
  });

  it('an approval is decided once, also by two at a time', async () => {
    const { approvalId } = await escalate();
    const both = await Promise.all([
      decide(approvalId, { outcome: 'approved' }),
      decide(approvalId, { outcome: 'denied' }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await decide(approvalId, { outcome: 'approved' })).status).toBe(409);
  });

  it('an approval expires', async () => {
    const { approvalId } = await escalate();
    aheadMs += limits.approvalHours * 3_600_000;
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body.status).toBe('expired');
    const late = await decide(approvalId, { outcome: 'approved' });
    expect(late.status).toBe(409);
    expect(late.body.detail).toContain('expired');
  });

  it('approvals are listed by status and run, in pages', async () => {
    const first = await escalate('run-list');
    aheadMs += 1;
    const second = await escalate('run-list');
    await decide(first.approvalId, { outcome: 'denied' });
    const page = await plane.call('GET', '/approvals?runId=run-list&limit=1');
    expect(page.body.data.map((each: { approvalId: string }) => each.approvalId)).toEqual([
      second.approvalId,
    ]);
    const next = await plane.call('GET', `/approvals?runId=run-list&limit=1&cursor=${page.body.nextCursor}`);
    expect(next.body.data.map((each: { approvalId: string }) => each.approvalId)).toEqual([first.approvalId]);
    const denied = await plane.call('GET', '/approvals?runId=run-list&status=denied');
    expect(denied.body.data.map((each: { approvalId: string }) => each.approvalId)).toEqual([
      first.approvalId,
    ]);
  });

  it('an approval does not undo a policy that denies now', async () => {
    const { approvalId } = await escalate('run-denied');
    const body = { policyId: 'stop', name: 'Stop', condition: {}, action: 'deny' };
    await plane.call('POST', '/governance/policies', { body });
    await plane.call('POST', '/governance/policies/stop/publish', { body: {} });
    const refused = await decide(approvalId, { outcome: 'approved' });
    expect(refused).toMatchObject({ status: 409, body: { decidedBy: ['stop'] } });
    await plane.call('POST', '/governance/policies/stop/transition', { body: { targetStatus: 'disabled' } });
    expect((await decide(approvalId, { outcome: 'approved' })).status).toBe(200);
  });

  it('an approval has a comment of at most a thousand characters', async () => {
    const { approvalId } = await escalate();
    const over = await decide(approvalId, {
      outcome: 'approved',
      comment: 'é'.repeat(limits.reasonChars + 1),
    });
    expect(over.status).toBe(400);
    const at = await decide(approvalId, { outcome: 'approved', comment: '𝄞'.repeat(limits.reasonChars) });
    expect(at.status).toBe(200);
  });

  it.each([
    ['asked for by another', "requested_by = 'key_x'"],
    ['open for longer', 'expires_ms = expires_ms + 86400000'],
    ['of another run', "run_id = 'run-x'"],
    ['asked for at another time', 'requested_ms = requested_ms + 1'],
    ['of another evaluation', "evaluation_id = 'pev_x'"],
    ['approved by nobody', "outcome = 'approved', decided_by = 'key_x', decided_ms = requested_ms"],
  ])('an approval altered in the database to be %s is neither decided nor returned', async (_, change) => {
    const { approvalId } = await escalate();
    await plane.sql(`UPDATE approval SET ${change} WHERE approval_id = '${approvalId}'`);
    for (const key of [plane.key, plane.keys['approver']]) {
      const decided = await decide(approvalId, { outcome: 'approved' }, key);
      expect([decided.status, decided.body.code]).toEqual([503, 'STORAGE_FAULT']);
    }
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body.code).toBe('STORAGE_FAULT');
    await expectHidden(approvalId);
  });

  it.each([
    ['approved', "outcome = 'approved'"],
    ['decided by another', "decided_by = 'key_x'"],
    ['decided at another time', 'decided_ms = decided_ms + 1'],
    ['told otherwise', "comment = 'fine'"],
    ['open again', 'outcome = NULL, decided_by = NULL, decided_ms = NULL, comment = NULL'],
  ])('a denied approval altered to be %s is neither returned nor decided again', async (_, change) => {
    const { approvalId } = await escalate();
    expect((await decide(approvalId, { outcome: 'denied', comment: 'no' })).status).toBe(200);
    await plane.sql(`UPDATE approval SET ${change} WHERE approval_id = '${approvalId}'`);
    const { status, body } = await plane.call('GET', `/approvals/${approvalId}`);
    expect([status, body.code, body.tree]).toEqual([503, 'STORAGE_FAULT', 'audit']);
    await expectHidden(approvalId);
    expect((await decide(approvalId, { outcome: 'approved' })).body.code).toBe('STORAGE_FAULT');
  });

  it('approvals of others are not found', async () => {
    const answer = await plane.call('GET', '/approvals/apr_01jq3v5k8hf7wb3c9x2m4n6p8r');
    expect(answer.status).toBe(404);
  });
});
