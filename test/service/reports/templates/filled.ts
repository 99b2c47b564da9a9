/** A project with two runs in a period and one on either side of it, on a clock that only the test moves ahead. */
import { vi } from 'vitest';
import { event } from '../../../support/serving.ts';
import type { Tenant } from '../../../support/hosted.ts';
import { governing } from '../../support/governed.ts';

const realNow = Date.now;
let aheadMs = 0;
const dayMs = 86_400_000;

/** Server times never run backwards, so the clock of this process only goes ahead. */
export function holdClock(): void {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
}
export const later = (ms: number): void => void (aheadMs += ms);
const nowText = (): string => new Date(Date.now()).toISOString();

export interface Filled {
  readonly projectId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly proofId: string;
  readonly replayId: string;
  readonly approvalId: string;
  readonly erasureId: string;
  /** Id of the credential that approves and writes the second version. */
  readonly person: string;
}

const made =
  (tenant: Tenant) =>
  // oxlint-disable-next-line typescript/no-explicit-any -- checked by schema where it was answered
  async (method: string, path: string, body?: unknown, key?: string): Promise<any> => {
    const answer = await tenant.call(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };

/** A name that formulas, markup and terminals would take for something else. */
export const hostile = '=cmd()\u202e<b>\u0007"; DROP';

const snapshot = (modelRoute: string) => ({
  policyHash: `sha256:${'a'.repeat(64)}`,
  modelRoute,
  toolRegistryHash: `sha256:${'b'.repeat(64)}`,
  configStateHash: `sha256:${'c'.repeat(64)}`,
});

export async function fill(tenant: Tenant): Promise<Filled> {
  const make = made(tenant);
  const { projectId } = await make('GET', '/auth/identity');
  const { key, record } = await make('POST', '/api-keys', { name: 'person', scopes: ['*'] });
  const call: Tenant['call'] = (method, path, options) => tenant.call(method, path, options);
  const gov = governing({ call, keys: { person: String(key) } } as never);
  const say = (members: Record<string, unknown>) =>
    make('POST', '/events', event({ timestamp: nowText(), metadata: {}, ...members }));
  await gov.policy('no-pay', { 'tool.name': 'pay' }, 'deny');
  await gov.policy('ask-refund', { 'tool.name': 'refund' }, 'escalate');
  await say({ runId: 'before', eventType: 'agent.step' });
  later(dayMs);
  const startMs = Date.now();

  const actor = { name: 'teller', role: 'agent' };
  const system = { runId: 'r1', aiSystemId: 'sys-a' };
  await say({ ...system, eventType: 'run.started', actor, action: 'start' });
  await gov.tool('r1', 'pay', { actor });
  const { approvalId } = await gov.tool('r1', 'refund', { actor });
  later(20_000);
  const decision = { outcome: 'approved', comment: 'the customer is right' };
  await make('POST', `/approvals/${approvalId}/decision`, decision, String(key));
  const { evaluationId } = await gov.tool('r1', 'look', { actor });
  await say({
    ...system,
    eventType: 'tool.call',
    actor,
    resource: { name: 'look', type: 'tool' },
    metadata: { evaluationId },
  });
  await say({ ...system, eventType: 'tool.call', actor, resource: { name: hostile, type: 'tool' } });
  await gov.risk('r1');

  await say({ runId: 'r2', eventType: 'tool.result', actor, metadata: { outcome: 'error' } });
  await say({ runId: 'r2', eventType: 'memory.read', actor, resource: { name: 'notes', type: 'memory' } });
  const { events } = await make('GET', '/events?runId=r2');
  const { erasureId } = await make('POST', '/erasures', { eventId: events[1].eventId });

  const second = { condition: { 'tool.name': 'pay' }, action: 'escalate' };
  await make('POST', '/governance/policies/no-pay/versions', second, String(key));
  await make('POST', '/governance/policies/no-pay/publish', { reason: 'ticket 7' });
  await gov.disable('ask-refund');
  await make('PUT', '/governance/snapshots/r1', snapshot('openai/gpt-4o'));
  const replayed = await gov.replay({ runId: 'r1', replaySnapshot: snapshot('openai/gpt-4o-mini') });
  const { proofId } = await make('POST', '/proofs', { runId: 'r1' });
  const endMs = Date.now();
  later(dayMs);
  await say({ runId: 'after', eventType: 'agent.step' });
  return {
    projectId: String(projectId),
    startMs,
    endMs,
    proofId: String(proofId),
    replayId: replayed.result.replayId,
    approvalId: String(approvalId),
    erasureId: String(erasureId),
    person: record.keyId,
  };
}
