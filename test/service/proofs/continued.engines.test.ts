/** Proofs of a run, one after another: each continues the earlier one, and a check of it from scratch gives the same texts. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  gov = governing(plane);
});
afterAll(() => plane.end());

/** Proves a run, and returns which checks fail. Every layer recomputes to its text. */
async function proved(runId: string): Promise<string[]> {
  const { proofId, layers } = await gov.must('POST', '/proofs', { runId });
  const verdict = await gov.must('POST', '/proofs/verify', { proofId });
  const codes = verdict.layers.map(({ code }: { code?: string }) => code ?? null);
  expect(codes.filter((code: string | null) => code?.endsWith('MISMATCH'))).toEqual([]);
  expect(verdict.layers.map(({ basis }: { basis: string }) => basis)).toEqual(layers.map(() => 'recomputed'));
  return layers
    .filter(({ verified }: { verified: boolean }) => !verified)
    .map(({ name }: { name: string }) => name);
}

it('a proof continues the earlier one of its run, whatever was recorded in between', async () => {
  const runId = 'continued';
  const record = (members: Record<string, unknown>) =>
    gov.must('POST', '/events', event({ runId, eventType: 'agent.step', ...members }));
  await gov.ran(runId);
  expect(await proved(runId)).toEqual([]);
  await gov.policy('ask-pay', { 'tool.name': 'pay' }, 'escalate');
  const search = await gov.tool(runId, 'search');
  await gov.ran(runId, { evaluationId: search.evaluationId });
  expect(await proved(runId)).toEqual([]);
  // an effect before its cause, and a part whose whole comes later
  await record({ clientEventId: 'effect', causedBy: ['cause'], metadata: { parentEventId: 'whole' } });
  await proved(runId);
  await record({ clientEventId: 'whole' });
  await proved(runId);
  await record({ clientEventId: 'cause' });
  expect(await proved(runId)).toEqual(['causal_consistency']);
  const nodes = [{ id: 'plan', type: 'data' }];
  await gov.must('PUT', `/graphs/${runId}`, { nodes, edges: [] });
  await proved(runId);
  await record({ clientEventId: 'after-declaration' });
  await proved(runId);
});

it('a proof judges an event again where its approval came after it', async () => {
  const runId = 'late-approval';
  await gov.policy('ask-pay', { 'tool.name': 'pay' }, 'escalate');
  const pay = await gov.tool(runId, 'pay');
  await gov.ran(runId, { evaluationId: pay.evaluationId });
  expect(await proved(runId)).toEqual(['policy_compliance']);
  await gov.decide(pay.approvalId, 'approved');
  expect(await proved(runId)).toEqual(['policy_compliance']);
  await gov.ran(runId, {}, 'output.delivered');
  expect(await proved(runId)).toEqual(['policy_compliance']);
});

it('a proof after an erasure starts from the first event', async () => {
  const runId = 'erased';
  const { eventId } = await gov.must(
    'POST',
    '/events',
    event({ runId, metadata: { timestampSource: 'host' } }),
  );
  await proved(runId);
  await gov.must('POST', '/erasures', { eventId });
  await gov.ran(runId, {}, 'output.delivered');
  await proved(runId);
});
