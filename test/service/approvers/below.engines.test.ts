/** Signed approvals below the service: a clock that jumps, rows and bodies that somebody altered, and the limits. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { SshSigner } from '../../support/signers.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
const realNow = Date.now;
let aheadMs = 0;
const ssh = new SshSigner();
let approverId: string;

beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  plane = await startPlane({ extraKeys: { person: { scopes: ['governance:read', 'approvals:decide'] } } });
  gov = governing(plane);
  const version = { condition: {}, action: 'escalate', requireSignedApproval: true };
  await gov.must('POST', '/governance/policies', { policyId: 'ask', name: 'Ask', ...version });
  await gov.must('POST', '/governance/policies/ask/publish', {});
  const body = { name: 'Grace', ssh: { publicKey: ssh.publicKey } };
  ({ approverId } = await gov.must('POST', '/approvers', body, plane.keys['person']));
});
afterAll(async () => {
  vi.restoreAllMocks();
  await plane.end();
  ssh.end();
});

let runs = 0;
/** A call that waits for an approval. */
async function asked() {
  const call = { tool: { name: 'pay' }, arguments: { amount: 5 }, runId: `below-${(runs += 1)}` };
  const { approvalId } = await gov.must('POST', '/mcp/tools/evaluate', call);
  return { call, approvalId: approvalId as string };
}
async function bySsh(approvalId: string, outcome = 'approved') {
  const body = { outcome, approverId };
  const { statement } = await gov.must(
    'POST',
    `/approvals/${approvalId}/statement`,
    body,
    plane.keys['person'],
  );
  return { approverId, ssh: ssh.sign(statement) };
}
const decide = (approvalId: string, signature: unknown, outcome = 'approved') =>
  plane.call('POST', `/approvals/${approvalId}/decision`, {
    body: { outcome, signature },
    key: plane.keys['person'] ?? '',
  });
/** The call runs after its approval, and the layer of its proof. */
async function ran({ call }: { call: Record<string, unknown> & { runId: string } }) {
  const decided = await gov.tool(call.runId, 'pay', call);
  expect(decided.decision).toBe('allow');
  await gov.ran(call.runId, { evaluationId: decided.evaluationId });
  return gov.layer(call.runId, 'policy_compliance');
}

describe('signed approvals', () => {
  it('a clock that moved back between request and signature: the call runs, and the proof holds', async () => {
    const waiting = await asked();
    aheadMs -= 3_600_000;
    const decided = await decide(waiting.approvalId, await bySsh(waiting.approvalId));
    aheadMs += 3_600_000;
    expect(decided.status).toBe(200);
    expect((await ran(waiting)).failed).toEqual([]);
  });

  it('a decision beyond the expiry with the clock moved back, once the log has seen the later time', async () => {
    const { approvalId, call } = await asked();
    const signature = await bySsh(approvalId);
    const day = limits.approvalHours * 3_600_000;
    aheadMs += day;
    await gov.must('POST', '/events', event({ runId: 'later' }));
    aheadMs -= day;
    expect(await decide(approvalId, signature)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('expired') },
    });
    // every surface says what the decision says
    const idsOf = async (status: string): Promise<string[]> =>
      (await plane.call('GET', `/approvals?status=${status}&limit=200`)).body.data.map(
        (each: { approvalId: string }) => each.approvalId,
      );
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body.status).toBe('expired');
    expect(await idsOf('expired')).toContain(approvalId);
    expect(await idsOf('pending')).not.toContain(approvalId);
    const path = `/approvals/${approvalId}/statement`;
    const stated = await plane.call('POST', path, {
      body: { outcome: 'approved', approverId },
      key: plane.keys['person'] ?? '',
    });
    expect(stated.status).toBe(409);
    const again = await gov.must('POST', '/mcp/tools/evaluate', call);
    expect(again.approvalId).not.toBe(approvalId);
    aheadMs += day;
  });

  it.each([
    [
      'an approval that its row calls approved',
      "outcome = 'approved', decided_by = 'key_x', decided_ms = requested_ms",
      false,
    ],
    ['a signed denial that its row calls approved', "outcome = 'approved'", true],
  ])('%s: nothing runs by it', async (_, change, isDenied) => {
    const { call, approvalId } = await asked();
    if (isDenied) await decide(approvalId, await bySsh(approvalId, 'denied'), 'denied');
    await plane.sql(`UPDATE approval SET ${change} WHERE approval_id = '${approvalId}'`);
    const again = await plane.call('POST', '/mcp/tools/evaluate', { body: call });
    expect(again).toMatchObject({ status: 503, body: { code: 'STORAGE_FAULT' } });
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body.code).toBe('STORAGE_FAULT');
  });

  it.each([
    ['the signature', 'gov.approval/1', 'U1NIU0lH', 'U1NIU0lI'],
    ['the statement', 'gov.approval/1', 'gov.approval-statement/1', 'gov.approval-statement/2'],
  ])(
    '%s altered in the body of its leaf: nothing runs by it, and nobody reads it',
    async (_, type, from, to) => {
      const { call, approvalId } = await asked();
      expect((await decide(approvalId, await bySsh(approvalId))).status).toBe(200);
      const leaves = await plane.records();
      const { index = -1 } =
        leaves.find(({ record }) => record.includes(type) && record.includes(approvalId)) ?? {};
      await plane.sql(
        `UPDATE body SET disclosures = replace(disclosures, '${from}', '${to}') WHERE ${plane.leafAt(index)}`,
      );
      const again = await plane.call('POST', '/mcp/tools/evaluate', { body: call });
      expect(again).toMatchObject({ status: 503, body: { code: 'STORAGE_FAULT' } });
      expect((await plane.call('GET', `/approvals/${approvalId}`)).body.code).toBe('STORAGE_FAULT');
      await plane.sql(
        `UPDATE body SET disclosures = replace(disclosures, '${to}', '${from}') WHERE ${plane.leafAt(index)}`,
      );
    },
  );
});

describe('the limits of signed approvals', () => {
  it(`a signature of ${limits.sshSignatureChars} characters is read, and a longer one is refused by its length`, async () => {
    const { approvalId } = await asked();
    const of = async (length: number) =>
      (await decide(approvalId, { approverId: approverId, ssh: 'A'.repeat(length) })).body;
    expect((await of(limits.sshSignatureChars)).detail).toContain('ssh-keygen -Y sign');
    expect((await of(limits.sshSignatureChars + 1)).errors).toMatchObject([
      { pointer: '/signature/ssh', code: 'TOO_LONG' },
    ]);
  });

  it(`a project has ${limits.approvers} active approvers, and one more is refused until one is revoked`, async () => {
    const rows = await plane.sql(
      "SELECT project, kind, created_ms, version, status FROM document WHERE kind = 'approver'",
    );
    const { project, created_ms: at } = rows[0];
    const values = Array.from(
      { length: limits.approvers - rows.length - 1 },
      (_, n) => `(${project}, 'approver', 'apv_${n}', 'filled/${n}', 'active', ${at}, 0, '{"counter":0}')`,
    );
    await plane.sql(
      `INSERT INTO document (project, kind, document_id, key, status, created_ms, version, data) VALUES ${values.join()}`,
    );
    const [last, more] = [new SshSigner(), new SshSigner()];
    const principal = (await gov.must('GET', `/approvers/${approverId}`)).principal;
    const enrol = ({ publicKey }: SshSigner) =>
      plane.call('POST', '/approvers', { body: { name: 'More', principal, ssh: { publicKey } } });
    const first = await enrol(last);
    expect(first.status).toBe(201);
    expect((await enrol(more)).status).toBe(409);
    await gov.must('DELETE', `/approvers/${first.body.approverId}`);
    expect((await enrol(more)).status).toBe(201);
    await plane.sql("DELETE FROM document WHERE key LIKE 'filled/%'");
    last.end();
    more.end();
  });
});
