/** Every kind of the contract, from the leaf that a service writes. */
import { describe, expect, it } from 'vitest';
import {
  webhookEventKinds,
  webhookEvents,
  type WebhookEventKind,
} from '../../../src/contract/webhook-events.ts';
import { draftApproval } from '../../../src/core/decided/approval.ts';
import { draftEvaluation } from '../../../src/core/decided/evaluation.ts';
import { draftLoss } from '../../../src/core/decided/loss.ts';
import { draftPolicyChange } from '../../../src/core/decided/policy-change.ts';
import { draftReplay } from '../../../src/core/decided/replay.ts';
import { draftRiskDecision } from '../../../src/core/decided/risk-decision.ts';
import { draftLeaf, sealEvent, type LeafDraft } from '../../../src/core/events/record.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { systemEvent } from '../../../src/service/writes/system.ts';
import { mayHave, needsBody, occurredIn } from '../../../src/service/webhooks/occurred.ts';
import type { Leaf } from '../../../src/store/port/store.ts';
import { event, salt } from '../../store/support/fixture.ts';

const nowMs = Date.UTC(2026, 0, 2);
const at = '2026-01-02T00:00:00.000Z';
const proofId = 'prf_01jzzzzzzzzzzzzzzzzzzzzzzz';

const leafOf = (draft: LeafDraft, index = 7): Leaf => {
  const record =
    draft.kind === 'event'
      ? sealEvent(draft, { index, runSeq: 0, serverMs: nowMs, random: 1 }).record
      : draft.record;
  return { index, record, hash: Buffer.alloc(32), disclosures: draft.disclosures };
};
const system = (eventType: string, type: string, metadata: JsonObject = {}): Leaf =>
  leafOf(
    systemEvent(
      {
        eventType,
        action: 'do',
        actor: { id: 'gov', type: 'service' },
        resource: { id: 'x_1', type },
        metadata,
      },
      { nowMs, salt },
    ),
  );
const risk = (action: 'allow' | 'escalate' | 'block'): Leaf =>
  leafOf(
    draftRiskDecision(
      {
        id: 'rsk_1',
        runId: 'r1',
        action,
        score: 1,
        deterministicInputsHash: 'a',
        configHash: 'b',
        evaluatedAt: at,
        wouldBeAction: null,
        factors: [],
        inputs: null,
      },
      salt,
    ),
  );
const policy = (change: 'created' | 'published' | 'transition' | 'rolled_back'): Leaf =>
  leafOf(
    draftPolicyChange(
      {
        policyId: 'p',
        version: 2,
        policyHash: 'h',
        event: change,
        from: 'draft',
        to: 'active',
        at,
        reason: 'because',
        actor: 'key_1',
      },
      salt,
    ),
  );
const replay = (driftCount: number): Leaf =>
  leafOf(
    draftReplay(
      {
        replayId: 'rpl_1',
        runId: 'r1',
        kind: 'decisions',
        treeSize: 3,
        steps: 1,
        replayed: 1,
        notReplayable: 0,
        mismatches: { n: 0, root: 'x' },
        warnings: 0,
        driftCount,
        at,
        snapshot: null,
        drift: null,
        result: null,
      },
      salt,
    ),
  );
const evaluation = (opens: boolean): Leaf =>
  leafOf(
    draftEvaluation(
      {
        id: 'pev_1',
        runId: 'r1',
        policySource: 'active',
        policyCount: 0,
        policyIds: null,
        policySetHash: 'h',
        policyIndex: null,
        combined: 'escalate',
        approval: opens ? { id: 'apr_1', requestedBy: 'key_1', expiresAt: at } : null,
        evaluatedAt: at,
        decisions: [],
        shadow: [],
        checkpoint: { context: { secret: 'content' } },
        readSet: null,
      },
      salt,
    ),
  );
const usage = { type: 'audit_event', month: '2026-01', limit: 100, used: 90 };

/** The leaf of each kind. */
const leaves: Readonly<Record<WebhookEventKind, Leaf>> = {
  'quota.threshold_reached': system('quota.threshold_reached', 'quota', { ...usage, percent: 90 }),
  'quota.exceeded': system('quota.exceeded', 'quota', usage),
  'job.completed': system('job.completed', 'job', { type: 'proof', runId: 'r1' }),
  'job.failed': system('job.failed', 'job', { type: 'replay', runId: 'r1', errorSummary: 'content' }),
  'job.cancelled': system('job.cancelled', 'job', { type: 'replay', runId: 'r1' }),
  'proof.completed': leafOf(draftLeaf('gov.proof/1', { proofId, proofHash: 'h' }, { runId: 'r1' })),
  'replay.completed': replay(0),
  'replay.drift_detected': replay(2),
  'risk.escalated': risk('escalate'),
  'risk.blocked': risk('block'),
  'policy.transitioned': policy('transition'),
  'policy.rolled_back': policy('rolled_back'),
  'export.completed': system('export.completed', 'export', { manifest: 'content' }),
  'export.failed': system('export.failed', 'export', { errorSummary: 'content' }),
  'export.cancelled': system('export.cancelled', 'export', { resource: 'jobs' }),
  'report.completed': system('report.completed', 'report'),
  'report.failed': system('report.failed', 'report'),
  'delivery.failed': system('delivery.failed', 'delivery'),
  'api_key.created': system('api_key.created', 'api_key', { name: 'content' }),
  'api_key.rotated': system('api_key.rotated', 'api_key'),
  'api_key.revoked': system('api_key.revoked', 'api_key'),
  'telemetry.gap_detected': system('telemetry.gap_detected', 'data_plane'),
  'attestation.failed': system('attestation.failed', 'data_plane'),
  'integrity.violation': system('integrity.violation', 'log'),
  'log.loss': leafOf(
    draftLoss({ from: 60, lost: 40, acked: { size: 100, root: `sha256:${'0'.repeat(64)}`, at } }, nowMs),
  ),
  'approval.requested': evaluation(true),
  'approval.decided': leafOf(
    draftApproval(
      {
        id: 'apr_1',
        runId: 'r1',
        evaluationId: 'pev_1',
        outcome: 'denied',
        approver: 'key_1',
        at,
        reason: 'content',
      },
      salt,
    ),
  ),
};

describe('occurredIn', () => {
  it.each(webhookEventKinds)('finds %s with the members that its kind documents and no content', (kind) => {
    const leaf = leaves[kind];
    expect(mayHave(leaf)).toBe(true);
    const given = needsBody(leaf) ? leaf : { ...leaf, disclosures: null };
    const found = occurredIn(given).find(({ type }) => type === kind);
    expect(found).toMatchObject({ index: 7 });
    const { data } = webhookEvents[kind];
    const required = Object.entries(data).filter(([, schema]) => !('~optional' in schema));
    expect(Object.keys(data)).toEqual(expect.arrayContaining(Object.keys(found!.data)));
    expect(Object.keys(found!.data)).toEqual(expect.arrayContaining(required.map(([name]) => name)));
    expect(JSON.stringify(found)).not.toContain('content');
    if (kind !== 'proof.completed') expect(found!.atMs).toBe(nowMs);
  });

  it('finds two events in a replay with drift, and one in a replay without', () => {
    expect(occurredIn(replay(2)).map(({ type }) => type)).toEqual([
      'replay.completed',
      'replay.drift_detected',
    ]);
    expect(occurredIn(replay(0)).map(({ type }) => type)).toEqual(['replay.completed']);
  });

  it('finds nothing in other decisions, in a created policy, and in an evaluation without an approval', () => {
    for (const leaf of [risk('allow'), policy('created'), evaluation(false)])
      expect(occurredIn(leaf)).toEqual([]);
  });

  it.each([
    event({ eventType: 'job.failed' }),
    event({
      eventType: 'quota.exceeded',
      metadata: { text: '"eventType":"job.failed","runId":"gov.system"' },
    }),
    event({ aiSystemId: 'gov.system', eventType: 'integrity.violation' }),
  ])('finds nothing in an event of a client that looks like one of the service', (draft) => {
    expect(mayHave(leafOf(draft))).toBe(false);
    expect(occurredIn(leafOf(draft))).toEqual([]);
  });
});
