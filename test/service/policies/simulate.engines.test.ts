import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { clockPast } from '../../support/clock/later.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
  await policy('shell', { 'tool.name': 'shell' }, 'deny');
  await policy('amount', { amount: { '>': 100 } }, 'escalate');
});
afterAll(() => plane.end());

async function policy(policyId: string, condition: unknown, action: string): Promise<void> {
  await plane.call('POST', '/governance/policies', {
    body: { policyId, name: `The ${policyId}`, condition, action },
  });
  await plane.call('POST', `/governance/policies/${policyId}/publish`, { body: {} });
}
const post = (path: string, body: unknown): Promise<Answer> =>
  plane.call('POST', `/governance/policies/${path}`, { body });
const leaves = async (): Promise<number> => (await plane.records()).length;
/** Deletes the salted checkpoints of a run's evaluations, as an erasure does. */
async function erase(runId: string): Promise<void> {
  const isOfRun = ({ record }: { record: string }): boolean =>
    record.includes(`"runId":"${runId}"`) && record.includes('"type":"gov.evaluation/1"');
  for (const { index } of (await plane.records()).filter(isOfRun)) {
    const [row] = await plane.sql(`SELECT disclosures FROM body WHERE ${plane.leafAt(index)}`);
    const disclosures = JSON.parse(row.disclosures) as [string, string, Json][];
    const kept = canonicalize(disclosures.filter(([, at]) => at !== '/checkpoint'));
    const text = kept.replaceAll("'", "''");
    await plane.sql(`UPDATE body SET disclosures = '${text}' WHERE ${plane.leafAt(index)}`);
  }
}
const shell = { tool: { name: 'shell' }, amount: 7 };

interface Said {
  readonly policyId: string;
  readonly version: number | null;
  readonly decision: string;
  readonly outcome: string;
}
const said = ({ body }: Answer): unknown[][] =>
  body.decisions.map((each: Said) => [each.policyId, each.version, each.decision, each.outcome]);

describe('a simulation of all policies', () => {
  it("a simulation returns each active policy's decision and reason, and records nothing", async () => {
    const before = await leaves();
    const answer = await post('simulate', { checkpoint: shell });
    expect(answer.status).toBe(200);
    expect(said(answer)).toEqual([
      ['amount', 1, 'allow', 'not_matched'],
      ['shell', 1, 'deny', 'matched'],
    ]);
    expect(answer.body).toMatchObject({
      policyCount: 2,
      summary: { combined: 'deny', decidedBy: ['shell'] },
    });
    const [amount, denied] = answer.body.decisions;
    expect(denied).toMatchObject({
      policyName: 'The shell',
      reasoning: 'deny v1: context.tool.name = "shell"',
      witness: ['context.tool.name'],
    });
    expect(denied.trace[0]).toMatchObject({
      op: '==',
      reads: { 'context.tool.name': 'shell' },
      decisive: true,
    });
    expect(amount.nearest[0]).toMatchObject({ path: 'context.amount' });
    expect(await leaves()).toBe(before);
    expect((await plane.call('GET', '/governance/policy/evaluations')).body.data).toEqual([]);
  });

  it('a simulation without explain has no trace, witness or nearest change', async () => {
    const { body } = await post('simulate', { checkpoint: shell, explain: false });
    for (const decision of body.decisions) {
      expect(Object.keys(decision)).not.toContain('trace');
      expect(Object.keys(decision)).not.toContain('witness');
      expect(Object.keys(decision)).not.toContain('nearest');
    }
  });

  it('a simulation evaluates the named policies, in their order', async () => {
    const answer = await post('simulate', { checkpoint: shell, policyIds: ['shell', 'amount', 'shell'] });
    expect(answer.body.decisions.map(({ policyId }: Said) => policyId)).toEqual(['shell', 'amount']);
    const { status, body } = await post('simulate', { checkpoint: shell, policyIds: ['nobody'] });
    expect([status, body.errors[0].pointer]).toEqual([400, '/policyIds/0']);
  });
});

describe('a checkpoint', () => {
  it('a checkpoint without a member context is the context itself', async () => {
    const decisions = async (checkpoint: unknown) =>
      said(await post('simulate', { checkpoint, explain: false }));
    expect(await decisions({ context: shell })).toEqual(await decisions(shell));
    expect(await decisions({ step: 1, context: shell })).toEqual(await decisions(shell));
    // then a member step is one of the context
    expect((await post('simulate', { checkpoint: { step: 'one', ...shell } })).status).toBe(200);
  });

  it.each([
    [{ context: 1 }, '/checkpoint/context'],
    [{ context: null }, '/checkpoint/context'],
    [{ context: [] }, '/checkpoint/context'],
    [{ context: {}, step: 1.5 }, '/checkpoint/step'],
    [{ context: {}, step: -1 }, '/checkpoint/step'],
    [{ context: {}, 'tool/name': 1 }, '/checkpoint/tool~1name'],
  ])('a simulation rejects the checkpoint %o with its place', async (checkpoint, pointer) => {
    const { status, body } = await post('simulate', { checkpoint });
    expect([status, body.errors[0].pointer]).toEqual([400, pointer]);
    expect(body.errors[0].detail).toMatch(/^expected/);
  });

  it('a checkpoint has a limited canonical size', async () => {
    const of = (bytes: number) => {
      const left = bytes - '{"context":{"a":["",""]}}'.length;
      return { a: ['x'.repeat(Math.floor(left / 2)), 'x'.repeat(Math.ceil(left / 2))] };
    };
    expect((await post('simulate', { checkpoint: of(limits.checkpointBytes) })).status).toBe(200);
    const { body } = await post('simulate', { checkpoint: of(limits.checkpointBytes + 1) });
    expect(body.errors[0]).toMatchObject({ pointer: '/checkpoint', limit: limits.checkpointBytes });
  });
});

describe('a simulation of one policy', () => {
  it('a simulation of one policy uses its newest version and the active versions of the others', async () => {
    await policy('next', { 'tool.name': 'ls' }, 'warn');
    await post('next/versions', { condition: { 'tool.name': 'shell' }, action: 'escalate' });
    await post('shell/versions', { condition: {}, action: 'allow' });
    const answer = await post('next/simulate', { checkpoint: shell, policyIds: ['shell', 'next', 'amount'] });
    expect(said(answer)).toEqual([
      ['next', 2, 'escalate', 'matched'],
      ['shell', 1, 'deny', 'matched'],
      ['amount', 1, 'allow', 'not_matched'],
    ]);
    expect(answer.body).toMatchObject({
      policyId: 'next',
      policyName: 'The next',
      simulatedVersion: 2,
      summary: { total: 3, combined: 'deny' },
    });
    const { policySetHash } = (await post('simulate', { checkpoint: shell })).body.summary;
    expect(answer.body.summary.policySetHash).toBe(policySetHash);
  });

  it('a simulation of one policy needs no active version, and marks inactive policies', async () => {
    await plane.call('POST', '/governance/policies', {
      body: { policyId: 'fresh', name: 'Fresh', condition: {}, action: 'deny' },
    });
    expect(said(await post('fresh/simulate', { checkpoint: {} }))).toEqual([['fresh', 1, 'deny', 'matched']]);
    const beside = await post('shell/simulate', { checkpoint: shell, policyIds: ['fresh'] });
    expect(said(beside)[1]).toEqual(['fresh', null, 'allow', 'inactive']);
    expect(beside.body.decisions[1]).toMatchObject({
      policyName: 'Fresh',
      reasoning: 'inactive: the policy is in status draft, not active',
    });
  });

  it('a simulation answers a repeat with the same Idempotency-Key as the first time', async () => {
    const send = (checkpoint: unknown) =>
      plane.call('POST', '/governance/policies/shell/simulate', {
        body: { checkpoint },
        headers: { 'idempotency-key': 'simulated' },
      });
    const first = await send(shell);
    const again = await send(shell);
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    expect((await send({})).body.code).toBe('IDEMPOTENCY_KEY_REUSE');
  });
});

describe('impact on samples', () => {
  it('impact on samples compares a proposed version with the active one, sample by sample', async () => {
    const { status, body } = await post('shell/impact', {
      proposedVersion: { condition: { 'tool.name': { in: ['shell', 'bash'] } }, action: 'escalate' },
      sampleCheckpoints: [shell, { tool: { name: 'bash' } }, { context: { tool: { name: 'ls' } } }],
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      policyId: 'shell',
      policyName: 'The shell',
      sampleCount: 3,
      changedCount: 2,
      changeRate: 0.666667,
    });
    const told = body.comparisons.map((each: { index: number; changed: boolean; direction: string }) => [
      each.index,
      each.changed,
      each.direction,
    ]);
    expect(told).toEqual([
      [0, true, 'loosened'],
      [1, true, 'tightened'],
      [2, false, 'same'],
    ]);
    expect(body.comparisons[0]).toMatchObject({
      before: { version: 1, decision: 'deny', outcome: 'matched' },
      after: { version: null, decision: 'escalate', outcome: 'matched' },
      clauses: ['$.in'],
    });
    expect(body.comparisons[0].reasoning).toMatch(/^escalate v3: context\.tool\.name/);
  });

  it('impact on samples compares with nothing when no version is active', async () => {
    const { body } = await post('fresh/impact', {
      proposedVersion: { condition: {}, action: 'deny' },
      sampleCheckpoints: [{}],
    });
    expect(body.comparisons[0].before).toEqual({ version: null, decision: 'allow', outcome: 'inactive' });
  });

  it('impact on samples accepts at most 50 samples, and names invalid ones', async () => {
    const proposedVersion = { condition: {}, action: 'deny' };
    const send = (samples: unknown[]) =>
      post('shell/impact', { proposedVersion, sampleCheckpoints: samples });
    const many = Array.from({ length: limits.sampleCheckpoints }, () => ({}));
    expect((await send(many)).body.sampleCount).toBe(limits.sampleCheckpoints);
    expect((await send([...many, {}])).body.errors[0].pointer).toBe('/sampleCheckpoints');
    expect((await send([{}, { context: 1 }])).body.errors[0].pointer).toBe('/sampleCheckpoints/1/context');
    const bad = await post('shell/impact', {
      proposedVersion: { condition: { nope: [1, 2] }, action: 'deny' },
      sampleCheckpoints: [{}],
    });
    expect(bad.status).toBe(400);
    expect(bad.body.errors[0].pointer).toMatch(/^\/proposedVersion\/condition/);
  });
});

describe('impact on history', () => {
  const proposedVersion = { condition: { 'tool.name': { in: ['shell', 'bash'] } }, action: 'escalate' };
  const history = (body: Record<string, unknown> = {}): Promise<Answer> =>
    post('shell/impact/history', { proposedVersion, ...body });
  const times: string[] = [];

  beforeAll(async () => {
    for (const [runId, name, actor] of [
      ['h-1', 'shell', 'anna'],
      ['h-1', 'shell', 'anna'],
      ['h-2', 'bash', 'bert'],
      ['h-3', 'ls', { id: 'k', name: 'carl' }],
    ] as const) {
      const context = { tool: { name }, actor, amount: 1 };
      const { body } = await plane.call('POST', '/governance/policy/evaluate', {
        body: { runId, checkpoint: { context } },
      });
      times.push(body.evaluatedAt);
      await clockPast(Date.parse(body.evaluatedAt)); // so that each has a time of its own
    }
  });

  it('impact on history counts the new decisions on recorded checkpoints, by agent and tool, with examples', async () => {
    const { status, body } = await history();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      policyId: 'shell',
      sampleCount: 4,
      changedCount: 3,
      changeRate: 0.75,
      replayed: 4,
      notReplayable: { count: 0, paths: [] },
      tightened: 1,
      loosened: 2,
      window: { startTime: null, endTime: null, evaluations: 4, complete: true },
    });
    expect(body.byAgent).toEqual([
      { key: 'anna', total: 2, tightened: 0, loosened: 2 },
      { key: 'bert', total: 1, tightened: 1, loosened: 0 },
      { key: 'carl', total: 1, tightened: 0, loosened: 0 },
    ]);
    expect(body.byTool.map(({ key }: { key: string }) => key)).toEqual(['shell', 'bash', 'ls']);
    expect(body.interval.low).toBeLessThan(0.75);
    expect(body.interval.high).toBeGreaterThan(0.75);
    expect(body.examples.tightened).toMatchObject([{ runId: 'h-2', after: { decision: 'escalate' } }]);
    expect(body.examples.loosened).toHaveLength(1);
    expect(body.examples.loosened[0].reasoning).toMatch(/^escalate v3/);
  });

  it('impact on history reads the newest evaluations of the period up to the limit, and says whether that was all', async () => {
    const window = async (body: Record<string, unknown>) => (await history(body)).body.window;
    expect(await window({ limit: 3 })).toMatchObject({ evaluations: 3, complete: false });
    expect(await window({ limit: 4 })).toMatchObject({ evaluations: 4, complete: true });
    expect(await window({ startTime: times[1] })).toMatchObject({ evaluations: 3, startTime: times[1] });
    expect(await window({ endTime: times[1] })).toMatchObject({ evaluations: 2, complete: true });
    expect(await window({ startTime: times[1], endTime: times[2] })).toMatchObject({ evaluations: 2 });
    expect(await window({ endTime: '2000-01-01T00:00:00Z' })).toMatchObject({
      evaluations: 0,
      complete: true,
    });
    expect(await window({ startTime: '2999-01-01T00:00:00Z' })).toMatchObject({ evaluations: 0 });
    const wrong = await history({ startTime: times[1], endTime: times[0] });
    expect([wrong.status, wrong.body.errors[0]]).toMatchObject([400, { pointer: '/endTime', in: 'body' }]);
    expect((await history({ limit: limits.historyEvaluations + 1 })).body.errors[0].pointer).toBe('/limit');
    expect((await history({ limit: limits.historyEvaluations })).status).toBe(200);
  });

  it('impact on history uses the values that were read when a checkpoint was erased, and names missing ones', async () => {
    await erase('h-2');
    const { body } = await history();
    expect(body).toMatchObject({ replayed: 4, notReplayable: { count: 0 }, tightened: 1 });
    const other = await post('shell/impact/history', {
      proposedVersion: {
        condition: { and: [{ '==': [{ val: ['context', 'actor'] }, 'bert'] }] },
        action: 'deny',
      },
    });
    expect(other.body.notReplayable).toEqual({ count: 1, paths: ['context.actor'] });
    expect(other.body.replayed).toBe(3);
  });

  it('impact on history reads page by page, so that other requests are answered in between', async () => {
    const { body } = await history();
    const before = body.window.evaluations;
    await Promise.all(
      Array.from({ length: 50 }, () =>
        plane.call('POST', '/governance/policy/evaluate', {
          body: { runId: 'h-4', checkpoint: { context: { tool: { name: 'shell' } } } },
        }),
      ),
    );
    expect((await history()).body.window).toMatchObject({ evaluations: before + 50, complete: true });
  });
});
