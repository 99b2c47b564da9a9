/** The layers about decisions over real HTTP: whatever happened after a proof, it is computed again as it was. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  gov = governing(plane);
});
afterAll(() => plane.end());

const compliance = (runId: string) => gov.layer(runId, 'policy_compliance');

describe('policy compliance', () => {
  it('policy compliance is vacuous before any policy, and stays so for earlier calls', async () => {
    await gov.ran('before');
    expect((await compliance('before')).claims).toMatchObject({ code: 'NO_POLICY_ACTIVE', vacuous: true });
    await gov.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
    await gov.policy('ask-pay', { 'tool.name': 'pay' }, 'escalate');
    const { verified, claims, proofId } = await compliance('before');
    expect([verified, claims['code']]).toEqual([true, 'NO_POLICY_ACTIVE']);
    expect(await gov.verify(proofId)).toMatchObject({
      verified: true,
      layers: [{ passed: true }, { name: 'policy_compliance', passed: true, code: 'NO_POLICY_ACTIVE' }],
    });
  });

  it('policy compliance passes for a governed run', async () => {
    const { evaluationId } = await gov.tool('governed', 'search');
    await gov.ran('governed', { evaluationId });
    await gov.ran('governed', {}, 'output.delivered');
    const denied = await gov.tool('governed', 'shell');
    await gov.ran('governed', { evaluationId: denied.evaluationId }, 'tool.denied');
    const { verified, claims, failed, proofId } = await compliance('governed');
    expect([verified, failed]).toEqual([true, []]);
    expect(claims).toMatchObject({
      vacuous: false,
      decisions: { n: 2 },
      denied: 1,
      escalated: 0,
      governed: 1,
      undecided: 0,
      notRecomputed: 0,
      firstViolation: null,
    });
    expect(claims['policySets']).toHaveLength(1);
    expect(await gov.verify(proofId)).toMatchObject({
      verified: true,
      layers: [{}, { name: 'policy_compliance', passed: true, basis: 'recomputed' }],
    });
  });

  it('policy compliance fails for a call without a decision, after a deny, or twice on one decision', async () => {
    await gov.ran('undecided');
    expect(await compliance('undecided')).toMatchObject({
      verified: false,
      failed: ['every_governed_event_decided'],
      claims: { undecided: 1, governed: 1, firstViolation: { check: 'every_governed_event_decided' } },
    });
    const denied = await gov.tool('denied', 'shell');
    await gov.ran('denied', { evaluationId: denied.evaluationId });
    expect((await compliance('denied')).failed).toEqual(['nothing_ran_after_deny']);
    const once = await gov.tool('twice', 'search');
    await gov.ran('twice', { evaluationId: once.evaluationId });
    await gov.ran('twice', { evaluationId: once.evaluationId });
    expect((await compliance('twice')).failed).toEqual(['every_governed_event_decided']);
    const theirs = await gov.tool('elsewhere', 'search');
    await gov.ran('another', { evaluationId: theirs.evaluationId });
    expect((await compliance('another')).failed).toEqual(['every_governed_event_decided']);
    const { proofId } = await compliance('denied');
    expect((await gov.verify(proofId)).layers[1]).toMatchObject({
      passed: false,
      code: 'LAYER_NOT_SATISFIED',
    });
  });

  it('policy compliance fails when the caller picked the policies', async () => {
    const { evaluationId } = await gov.tool('picked', 'search', { policyIds: [] });
    await gov.ran('picked', { evaluationId });
    expect((await compliance('picked')).verified).toBe(true);
    const { data } = await gov.must('GET', '/governance/policies?status=active');
    const [one] = data as readonly { id: string }[];
    const some = await gov.tool('picked-one', 'search', { policyIds: [one?.id] });
    await gov.ran('picked-one', { evaluationId: some.evaluationId });
    expect((await compliance('picked-one')).failed).toEqual(['every_governed_event_decided']);
  });

  it('policy compliance fails when another tool or other arguments ran than were evaluated', async () => {
    const call = { arguments: { amount: 5 } };
    const hashOf = async (runId: string) => {
      const { evaluationId, argumentsHash } = await gov.tool(runId, 'search', call);
      return { evaluationId, argumentsHash };
    };
    await gov.ran('as-decided', await hashOf('as-decided'), 'tool.call', 'search');
    expect(await compliance('as-decided')).toMatchObject({ verified: true, claims: { uncompared: 0 } });
    await gov.ran('other-tool', await hashOf('other-tool'), 'tool.call', 'transfer');
    expect((await compliance('other-tool')).failed).toEqual(['calls_as_evaluated']);
    const other = { ...(await hashOf('other-arguments')), argumentsHash: `sha256:${'0'.repeat(64)}` };
    await gov.ran('other-arguments', other, 'tool.call', 'search');
    expect((await compliance('other-arguments')).failed).toEqual(['calls_as_evaluated']);
  });

  it('policy compliance requires that an escalated call was approved before it ran', async () => {
    const run = async (runId: string, outcome: 'approved' | 'denied' | null, late = false) => {
      const { evaluationId, approvalId, decision } = await gov.tool(runId, 'pay');
      expect(decision).toBe('escalate');
      if (outcome !== null && !late) await gov.decide(approvalId, outcome);
      await gov.ran(runId, { evaluationId, approvalId });
      if (outcome !== null && late) await gov.decide(approvalId, outcome);
      return (await compliance(runId)).failed;
    };
    expect(await run('approved', 'approved')).toEqual([]);
    expect(await run('pending', null)).toEqual(['escalations_approved']);
    expect(await run('refused', 'denied')).toEqual(['escalations_approved']);
    expect(await run('late', 'approved', true)).toEqual(['escalations_approved']);
  });

  it('policy compliance shows an approval from the escalation to the event that used it', async () => {
    const first = await gov.tool('used', 'pay');
    await gov.decide(first.approvalId, 'approved');
    const { evaluationId, approvalId, decision } = await gov.tool('used', 'pay');
    expect([decision, approvalId]).toEqual(['allow', first.approvalId]);
    await gov.ran('used', { evaluationId, approvalId });
    const { verified, claims, proofId } = await compliance('used');
    const approver = expect.stringMatching(/^key_/) as string;
    expect([verified, claims]).toMatchObject([
      true,
      { escalated: 2, approvals: { n: 1, listed: [{ id: approvalId, approver }] } },
    ]);
    const [{ ran }] = (claims['approvals'] as { listed: [{ ran: number }] }).listed;
    const { record } = (await plane.records())[ran] ?? { record: '{}' };
    expect(JSON.parse(record)).toMatchObject({ eventType: 'tool.call' });
    expect(await gov.verify(proofId)).toMatchObject({
      verified: true,
      layers: [{}, { name: 'policy_compliance', passed: true, basis: 'recomputed' }],
    });
    await gov.ran('used', { evaluationId: first.evaluationId, approvalId });
    const twice = await compliance('used');
    expect(twice).toMatchObject({ verified: false, failed: ['approvals_used_once'] });
    expect(await gov.verify(proofId)).toMatchObject({ verified: true });
  });

  it('policy compliance ignores everything recorded, evaluated, approved or published after the proof', async () => {
    const { evaluationId } = await gov.tool('kept', 'search');
    await gov.ran('kept', { evaluationId });
    const { proofId, claims } = await compliance('kept');
    const pay = await gov.tool('kept', 'pay');
    await gov.decide(pay.approvalId, 'approved');
    await gov.ran('kept');
    await gov.policy('no-search', { 'tool.name': 'search' }, 'deny');
    await gov.policy('no-shell', { 'tool.name': 'bash' }, 'deny');
    await gov.disable('ask-pay');
    expect(await gov.verify(proofId)).toMatchObject({ verified: true });
    const later = await compliance('kept');
    expect(later.failed).toEqual(['every_governed_event_decided']);
    // the sets of both evaluations are the one that was then in force
    expect(later.claims['policySets']).toEqual(claims['policySets']);
    const now = await gov.tool('kept', 'search');
    expect(now.decision).toBe('deny');
    expect((await compliance('kept')).claims['policySets']).toHaveLength(2);
    await gov.disable('no-search');
    await gov.disable('no-shell');
  });
});

describe('decision lineage', () => {
  it('decision lineage recomputes decisions with the configuration of their time', async () => {
    await gov.ran('risky', {}, 'output.delivered');
    expect((await gov.layer('risky', 'decision_lineage')).claims['code']).toBe('DECISION_NOT_RUN');
    await gov.risk('risky');
    const { proofId, verified, claims } = await gov.layer('risky', 'decision_lineage');
    expect([verified, claims]).toMatchObject([true, { decisions: { n: 1 }, notRecomputed: 0 }]);
    await gov.must('PUT', '/risk/config', {
      mode: 'strict',
      thresholds: { allow: 0, flag: 0.1, escalate: 0.2, block: 0.3 },
      defaultAction: 'block',
    });
    await gov.risk('risky');
    expect(await gov.verify(proofId)).toMatchObject({ verified: true });
    expect((await gov.layer('risky', 'decision_lineage')).claims).toMatchObject({ decisions: { n: 2 } });
  });
});

describe('replay determinism', () => {
  it('replay determinism holds for a replay that covers the run, until the run grows', async () => {
    const layer = () => gov.layer('replayed', 'replay_determinism');
    await gov.risk('replayed');
    await gov.ran('replayed', {}, 'output.delivered');
    expect((await layer()).claims['code']).toBe('REPLAY_NOT_RUN');
    const { result } = await gov.replay({ runId: 'replayed' });
    const proved = await layer();
    expect(proved).toMatchObject({
      verified: true,
      claims: { replayId: result.replayId, steps: 2, replayed: 1, notReplayable: 0, vacuous: false },
    });
    // a replay of another kind says nothing about decisions
    await gov.replay({ runId: 'replayed', nodes: [{ id: 'ghost', type: 'plan' }], edges: [] });
    expect((await layer()).claims['replayId']).toBe(result.replayId);
    await gov.must('PUT', '/governance/snapshots/replayed', {
      policyHash: 'p',
      modelRoute: 'm',
      toolRegistryHash: 't',
      configStateHash: 'c',
    });
    expect((await layer()).failed).toEqual(['snapshot_matches_run']);
    await gov.risk('replayed');
    expect((await layer()).failed).toEqual(['snapshot_matches_run', 'covers_run']);
    expect(await gov.verify(proved.proofId)).toMatchObject({ verified: true });
    await gov.replay({ runId: 'replayed' });
    expect((await layer()).failed).toEqual([]);
  });

  it('replay determinism says clearly when the run had nothing to replay', async () => {
    await gov.ran('plain', {}, 'output.delivered');
    await gov.replay({ runId: 'plain' });
    const { proofId, claims } = await gov.layer('plain', 'replay_determinism');
    expect(claims).toMatchObject({ code: 'NO_DECISION_REPLAYED', vacuous: true });
    expect((await gov.verify(proofId)).layers[1]).toMatchObject({
      passed: true,
      code: 'NO_DECISION_REPLAYED',
    });
  });
});

describe('a policy version that was altered in the database', () => {
  it('an altered policy version is an alarm: its decisions cannot be recomputed, and their proofs are refuted', async () => {
    const own = await startPlane();
    const here = governing(own);
    await here.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
    const { evaluationId } = await here.tool('run', 'search');
    await here.ran('run', { evaluationId });
    const { proofId, verified } = await here.layer('run', 'policy_compliance');
    expect(verified).toBe(true);
    await own.sql(`UPDATE policy_version SET normalized = replace(normalized, 'shell', 'search')`);
    expect((await here.layer('run', 'policy_compliance')).failed).toEqual(['decisions_recompute']);
    expect(await here.verify(proofId)).toMatchObject({ verified: false, code: 'LAYER_MISMATCH' });
    await own.sql('DELETE FROM policy_version');
    expect((await here.layer('run', 'policy_compliance')).failed).toEqual(['decisions_recompute']);
    await own.end();
  });
});
