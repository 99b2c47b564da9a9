import { describe, expect, it } from 'vitest';
import { draftLoss } from '../../../src/core/decided/loss.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { hashText } from '../../../src/core/hash.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { gapNotice, testNotice } from '../../../src/core/forwards/notice.ts';
import { forwardRecord } from '../../../src/core/forwards/record.ts';
import { eventLeaf, evaluationLeaf, kinds, leafOf, recordOf, source } from './samples.ts';

describe('forwardRecord', () => {
  it('opens an event with its place in the log', () => {
    const leaf = eventLeaf();
    expect(recordOf(leaf)).toMatchObject({
      source,
      index: 7,
      leafHash: hashText(leafHash(leaf.record)),
      leafType: 'gov.event/1',
      id: expect.stringMatching(/^evt_/),
      eventType: 'tool.call',
      runId: 'run-1',
      runSeq: 3,
      timeMs: Date.UTC(2026, 2, 1, 9, 30),
      loggedMs: Date.UTC(2026, 2, 1, 9, 30, 1),
      actor: { id: 'agt-9', name: 'billing-agent', type: 'agent' },
      resource: { id: 'res-1', name: 'ledger', type: 'tool' },
      decision: null,
      isDecision: false,
      model: { name: 'opus-9', provider: 'anthropic' },
      erased: 0,
    });
  });

  it('opens an evaluation with its decision, the policy that decided, and the tool', () => {
    expect(recordOf(evaluationLeaf())).toMatchObject({
      eventType: 'gov.evaluation',
      id: 'pev_01jq3v5k8hf7wb3c9x2m4n6p8r',
      decision: 'deny',
      isDecision: true,
      severity: 'critical',
      reason: 'amount above 10',
      policy: { id: 'pol_01jq3v5k8hf7wb3c9x2m4n6p8r', version: 3 },
      resource: { name: 'pay', type: 'tool' },
      actor: { id: 'agt-9' },
    });
  });

  it('opens a risk decision and a denied approval as decisions', () => {
    expect(kinds().slice(-2)).toMatchObject([
      { decision: 'block', isDecision: true, riskScore: 87.5 },
      { decision: 'denied', isDecision: true, actor: { type: 'approver' }, reason: 'not this month' },
    ]);
  });

  it('gives a leaf without a time the time of the leaf before, and an id from its type and index', () => {
    const leaf = leafOf(draftLeaf('gov.index/1', { keys: 4 }), 12);
    expect(forwardRecord(leaf, source, 1234)).toMatchObject({
      id: 'gov.index:12',
      timeMs: 1234,
      loggedMs: 1234,
    });
  });

  it('opens a loss of acknowledged leaves with its number and time', () => {
    const at = '2026-01-01T00:00:05.000Z';
    const acked = { size: 100, root: `sha256:${'07'.repeat(32)}`, at: '2026-01-01T00:00:03.000Z' };
    const leaf = leafOf(draftLoss({ from: 60, lost: 40, acked }, Date.parse(at)), 60);
    expect(forwardRecord(leaf, source, 0)).toMatchObject({
      id: 'gov.loss:60',
      eventType: 'gov.loss',
      action: 'loss',
      loggedMs: Date.parse(at),
      data: { from: 60, lost: 40, acked },
    });
  });

  it('opens an event with erased fields, and counts them', () => {
    const leaf = eventLeaf();
    const [first, ...kept] = JSON.parse(leaf.disclosures!) as unknown[];
    expect(first).toBeDefined();
    expect(recordOf({ ...leaf, disclosures: JSON.stringify(kept) }).erased).toBe(1);
    expect(recordOf({ ...evaluationLeaf(), disclosures: null }).erased).toBe(2);
  });
});

describe('notices', () => {
  it('a test and a gap are recognizable: type, id, and a hash of zeros', () => {
    const nowMs = Date.UTC(2026, 2, 1);
    const made = [testNotice(source, { nowMs, id: 'test-1' }), gapNotice(source, { nowMs, from: 3, to: 9 })];
    expect(made).toMatchObject([
      { eventType: 'gov.forward.test', id: 'test-1', data: { test: true } },
      {
        eventType: 'gov.forward.gap',
        id: 'gap:3-9',
        index: 3,
        reason: 'leaves 3 to 8 were pruned before they were sent',
      },
    ]);
    for (const { leafHash } of made) expect(leafHash).toBe(`sha256:${'0'.repeat(64)}`);
  });
});
