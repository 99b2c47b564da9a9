/** Runs that an auditor and a security lead look at: one with a denied and an approved call, one that nobody governed. */
import { governing } from '../../service/support/governed.ts';
import { event, type TestPlane } from '../../support/serving.ts';

/** Keys of the plane that `recordRuns` needs. */
export const governedKeys = {
  person: { scopes: ['approvals:decide', 'governance:read'] },
  reviewer: { scopes: ['*'] },
} as const;

/** Returns the id of the decision that denied a call of the run `checkout`. */
export async function recordRuns(plane: TestPlane): Promise<{ readonly denied: string }> {
  const governed = governing(plane);
  const isPay = { '===': [{ val: ['context', 'tool', 'name'] }, 'pay'] };
  const isTooMuch = { '>': [{ val: ['context', 'arguments', 'amount'] }, 100] };
  await governed.policy('pay-limit', { and: [isPay, isTooMuch] }, 'deny');
  await governed.policy('ask-push', { 'tool.name': 'push' }, 'escalate');
  const runId = 'checkout';
  await governed.must(
    'POST',
    '/events',
    event({ runId, eventType: 'prompt.submitted', metadata: { content: 'pay' } }),
  );
  const pay = await governed.tool(runId, 'pay', { arguments: { amount: 5 } });
  await governed.ran(runId, { evaluationId: pay.evaluationId, decision: pay.decision, toolCallId: 'c1' });
  const denied = await governed.tool(runId, 'pay', { arguments: { amount: 101 } });
  const refused = { evaluationId: denied.evaluationId, status: 'deny', toolCallId: 'c2' };
  await governed.ran(runId, refused, 'tool.denied');
  const { approvalId } = await governed.tool(runId, 'push');
  await governed.decide(approvalId, 'approved');
  const pushed = await governed.tool(runId, 'push');
  const used = { evaluationId: pushed.evaluationId, decision: pushed.decision, approvalId, toolCallId: 'c3' };
  await governed.ran(runId, used);
  await governed.ran('wild', { toolCallId: 'w1', timestampSource: 'source' }, 'tool.result', 'drop-table');
  return { denied: denied.evaluationId };
}
