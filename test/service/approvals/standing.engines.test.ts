/** A gate of a call waits for the person, without a scope to read approvals. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { createRunToken, runScopes } from '../../../src/core/run-token.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
beforeAll(async () => {
  plane = await startPlane({
    holdSeconds: 90,
    extraKeys: {
      person: { scopes: ['approvals:decide'] },
      agent: { scopes: ['tools:evaluate'] },
      other: { scopes: ['tools:evaluate', 'governance:read'] },
    },
  });
  gov = governing(plane);
  await gov.policy('ask', { '==': [{ var: 'tool.name' }, 'pay'] }, 'escalate');
});
afterAll(() => plane.end());

let runs = 0;
async function asked() {
  const body = { tool: { name: 'pay' }, arguments: {}, runId: `standing-${(runs += 1)}` };
  return gov.must('POST', '/mcp/tools/evaluate', body, plane.keys['agent']);
}
const standing = (approvalId: string, query = '', key = plane.keys['agent'] ?? '') =>
  plane.call('GET', `/approvals/${approvalId}/standing${query}`, { key });

describe('the standing of an approval', () => {
  it('is answered at once without a time to wait', async () => {
    const { approvalId, obligations } = await asked();
    const { status, body } = await standing(approvalId);
    expect([status, body.status]).toEqual([200, 'pending']);
    expect(Object.keys(body).toSorted()).toEqual(['approvalId', 'expiresAt', 'status']);
    if (!plane.dataDir) return;
    expect(obligations).toMatchObject([{ type: 'wait_for_approval', params: { approvalId } }]);
  });

  it.each(['approved', 'denied'] as const)('is answered when a person has %s it', async (outcome) => {
    const { approvalId } = await asked();
    const waiting = standing(approvalId, `?waitSeconds=${limits.holdWaitSeconds}`);
    await gov.decide(approvalId, outcome);
    expect((await waiting).body).toMatchObject({ approvalId, status: outcome });
  });

  it('is answered as pending at the end of the time', async () => {
    const { approvalId } = await asked();
    expect((await standing(approvalId, '?waitSeconds=1')).body).toMatchObject({ status: 'pending' });
  });

  it(`waits for at most ${limits.holdWaitSeconds} seconds`, async () => {
    const { approvalId } = await asked();
    const answer = await standing(approvalId, `?waitSeconds=${limits.holdWaitSeconds + 1}`);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/waitSeconds' }] } });
  });

  it('is for a run token only in its own run', async () => {
    const { id: keyId, projectId } = (await plane.call('GET', '/auth/identity')).body;
    const tokenOf = (runId: string): string =>
      createRunToken(
        { keyId, key: plane.key },
        { runId, projectId, expiresMs: Date.now() + 60_000, scopes: runScopes },
      );
    const body = { tool: { name: 'pay' }, arguments: {}, runId: 'token-1' };
    const { approvalId } = await gov.must('POST', '/mcp/tools/evaluate', body, tokenOf('token-1'));
    expect((await standing(approvalId, '', tokenOf('token-1'))).body).toMatchObject({ status: 'pending' });
    expect((await standing(approvalId, '', tokenOf('token-2'))).status).toBe(404);
  });

  it('is only for the key that asked', async () => {
    const { approvalId } = await asked();
    expect((await standing(approvalId, '', plane.keys['other'])).status).toBe(404);
    expect((await standing(approvalId, '', plane.keys['person'])).status).toBe(403);
    expect((await standing('apr_01jq3v5k8hf7wb3c9x2m4n6p8r')).status).toBe(404);
  });
});
