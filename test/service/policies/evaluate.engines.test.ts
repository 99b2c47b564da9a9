import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { meteredTypes } from '../../../src/contract/operation.ts';
import {
  applyPolicyChange,
  type VersionsInForce,
  type PolicyChange,
} from '../../../src/core/decided/policy-change.ts';
import { policySetHash } from '../../../src/core/policies/language/hash.ts';
import { governing } from '../support/governed.ts';
import { event, startPlane, type CallOptions, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { other: { scopes: ['*'], project: 'other' } } });
  await policy('b-shell', { 'tool.name': 'shell' }, 'deny', 'high');
  await policy('a-money', { 'tool.name': 'pay' }, 'escalate', 'critical');
  await policy('c-write', { 'tool.kind': 'write' }, 'warn', 'low');
  await policy('d-read', { 'tool.kind': 'read' }, 'allow');
});
afterAll(() => plane.end());

async function policy(
  policyId: string,
  condition: unknown,
  action: string,
  severity?: string,
): Promise<void> {
  await draft(policyId, condition, action, severity);
  await plane.call('POST', `/governance/policies/${policyId}/publish`, { body: {} });
}
const draft = (policyId: string, condition: unknown, action: string, severity?: string): Promise<Answer> =>
  plane.call('POST', '/governance/policies', {
    body: { policyId, name: policyId, condition, action, ...(severity === undefined ? {} : { severity }) },
  });
const move = (policyId: string, targetStatus: string): Promise<Answer> =>
  plane.call('POST', `/governance/policies/${policyId}/transition`, { body: { targetStatus } });
const evaluate = (context: unknown, members: object = {}, options: CallOptions = {}): Promise<Answer> =>
  plane.call('POST', '/governance/policy/evaluate', {
    ...options,
    body: { runId: 'run-1', checkpoint: { context }, ...members },
  });
const tool = (name: string, kind = 'read') => ({ tool: { name, kind } });
const records = async (query = '') =>
  (await plane.call('GET', `/governance/policy/evaluations${query}`)).body;

interface Said {
  readonly policyId: string;
  readonly decision: string;
  readonly outcome: string;
}
const said = ({ body }: Answer): string[][] =>
  body.decisions.map(({ policyId, decision, outcome }: Said) => [policyId, decision, outcome]);

describe('an evaluation', () => {
  it("an evaluation returns each active policy's decision, by id, and the most restrictive applicable one", async () => {
    const answer = await evaluate(tool('shell', 'write'), {
      checkpoint: { step: 3, context: tool('shell', 'write') },
    });
    expect(answer.status).toBe(200);
    expect(said(answer)).toEqual([
      ['a-money', 'allow', 'not_matched'],
      ['b-shell', 'deny', 'matched'],
      ['c-write', 'warn', 'matched'],
      ['d-read', 'allow', 'not_matched'],
    ]);
    expect(answer.body).toMatchObject({
      runId: 'run-1',
      combined: 'deny',
      approvalId: null,
      summary: {
        total: 4,
        matched: 2,
        indeterminate: 0,
        byDecision: { allow: 2, warn: 1, escalate: 0, deny: 1 },
        combined: 'deny',
        decidedBy: ['b-shell'],
        maxSeverity: 'high',
        engine: 'gov.cond/1',
      },
    });
    expect(answer.body.decisions[1].reasoning).toBe('deny v1: context.tool.name = "shell"');
  });

  it('an evaluation fails closed when a condition cannot be decided', async () => {
    const answer = await evaluate({});
    expect(said(answer)).toEqual([
      ['a-money', 'escalate', 'indeterminate'],
      ['b-shell', 'deny', 'indeterminate'],
      ['c-write', 'warn', 'indeterminate'],
      ['d-read', 'escalate', 'indeterminate'],
    ]);
    expect([answer.body.combined, answer.body.summary.indeterminate]).toEqual(['deny', 4]);
  });

  it('an evaluation of named policies returns them in their order, each once, and marks inactive ones', async () => {
    await draft('resting', {}, 'deny');
    const answer = await evaluate(tool('pay', 'write'), {
      policies: ['c-write', 'resting', 'a-money', 'c-write'],
    });
    expect(said(answer)).toEqual([
      ['c-write', 'warn', 'matched'],
      ['resting', 'allow', 'inactive'],
      ['a-money', 'escalate', 'matched'],
    ]);
    expect(answer.body.decisions[1]).toMatchObject({
      version: null,
      reasoning: 'inactive: the policy is in status draft, not active',
    });
    expect(answer.body.summary.total).toBe(3);
    const [record] = (await records('?limit=1')).data;
    expect(record).toMatchObject({ policySource: 'requested', policyCount: 3 });
  });

  it('an evaluation of unknown policies is rejected, and names all of them', async () => {
    const { status, body } = await evaluate({}, { policies: ['b-shell', 'nobody', 'resting', 'no-one'] });
    expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.errors).toMatchObject([
      {
        pointer: '/policies/1',
        code: 'UNKNOWN_POLICY',
        detail: 'expected a policy of this project, got nobody',
      },
      { pointer: '/policies/3' },
    ]);
  });

  it('an evaluation sees only the policies of its project', async () => {
    const key = plane.keys['other'] ?? '';
    const { body } = await evaluate(tool('shell'), {}, { key });
    expect([body.combined, body.decisions]).toEqual(['allow', []]);
    expect((await evaluate({}, { policies: ['b-shell'] }, { key })).status).toBe(400);
    const theirs = await plane.call('GET', '/governance/policy/evaluations', { key });
    expect(theirs.body.data.map(({ id }: { id: string }) => id)).toEqual([body.evaluationId]);
  });

  it('an evaluation that escalates opens an approval, with the first escalating policy as its reason', async () => {
    const { body } = await evaluate(tool('pay'));
    expect(body.combined).toBe('escalate');
    const approval = await plane.call('GET', `/approvals/${body.approvalId}`);
    expect(approval.body).toMatchObject({
      evaluationId: body.evaluationId,
      runId: 'run-1',
      status: 'pending',
      reason: 'escalate v1: context.tool.name = "pay"',
    });
    const hours = (Date.parse(approval.body.expiresAt) - Date.parse(approval.body.requestedAt)) / 3_600_000;
    expect(hours).toBe(limits.approvalHours);
  });

  it('an evaluation runs once for an Idempotency-Key', async () => {
    const options = { headers: { 'idempotency-key': 'evaluate-once' } };
    const first = await evaluate(tool('pay'), {}, options);
    const again = await evaluate(tool('pay'), {}, options);
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    const { data } = await records();
    expect(data.filter(({ id }: { id: string }) => id === first.body.evaluationId)).toHaveLength(1);
  });

  it('an evaluation is no event, is not metered, and is the newest decision of its run', async () => {
    await plane.call('POST', '/events', { body: event({ runId: 'decided' }) });
    const units = (): Promise<number[]> => Promise.all(meteredTypes.map((type) => plane.units(type)));
    const before = await units();
    expect(before[meteredTypes.indexOf('audit_event')]).toBe(1);
    await evaluate(tool('shell'), { runId: 'decided' });
    await evaluate(tool('ls', 'write'), { runId: 'decided' });
    expect(await units()).toEqual(before);
    expect((await plane.call('GET', '/events/count?runId=decided')).body.count).toBe(1);
    const { body } = await plane.call('GET', '/runs?limit=200');
    const run = body.data.find(({ runId }: { runId: string }) => runId === 'decided');
    expect(run).toMatchObject({ events: 1, lastDecision: 'warn' });
  });

  it('an evaluation keeps names such as __proto__ as data', async () => {
    const raw =
      '{"runId":"proto","checkpoint":{"context":{"__proto__":{"tool":{"name":"shell"}},"tool":{"name":"ls","kind":"read"}}}}';
    const { body } = await plane.call('POST', '/governance/policy/evaluate', {
      raw,
      headers: { 'content-type': 'application/json' },
    });
    expect(body.combined).toBe('allow');
    const { text } = await plane.call('GET', '/governance/policy/evaluations?runId=proto');
    expect(text).toContain('"__proto__":{"tool":{"name":"shell"}}');
  });
});

describe('a policy in review', () => {
  it('a policy in review is evaluated and recorded, never returned, never enforced', async () => {
    await draft('shadow', { 'tool.name': 'ls' }, 'deny');
    await move('shadow', 'review');
    const answer = await evaluate(tool('ls'), { runId: 'shadowed' });
    expect(answer.body.combined).toBe('allow');
    expect(answer.text).not.toContain('shadow"');
    const [record] = (await records('?runId=shadowed')).data;
    expect(record.shadow).toMatchObject([
      {
        policyId: 'shadow',
        version: 1,
        decision: 'deny',
        outcome: 'matched',
        reasoning: 'deny v1: context.tool.name = "ls"',
      },
    ]);
    await move('shadow', 'archived');
  });
});

describe('the record of an evaluation', () => {
  it('the record of an evaluation contains request and answer, newest first, in pages, by run', async () => {
    const made: string[] = [];
    for (let at = 0; at < 5; at++)
      made.push((await evaluate({ ...tool('shell'), at }, { runId: 'paged' })).body.evaluationId);
    const seen: { id: string; checkpoint: { context: { at: number } } }[] = [];
    for (let cursor = ''; ;) {
      const page = await records(`?runId=paged&limit=2${cursor}`);
      seen.push(...page.data);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    expect(seen.map(({ id }) => id)).toEqual(made.toReversed());
    expect(seen.map(({ checkpoint }) => checkpoint.context.at)).toEqual([4, 3, 2, 1, 0]);
    expect(seen[0]).toMatchObject({ runId: 'paged', policySource: 'active', combined: 'deny' });
  });

  it('the record of an evaluation commits to the checkpoint and does not show it to readers of the log', async () => {
    await evaluate({ ...tool('shell'), secret: 'hunter2' }, { runId: 'secret' });
    const texts = (await plane.records()).map(({ record }) => record);
    expect(texts.some((text) => text.includes('"runId":"secret"'))).toBe(true);
    expect(texts.filter((text) => text.includes('hunter2') || text.includes('context.tool'))).toEqual([]);
  });
});

describe('the limits of an evaluation', () => {
  /** A context whose checkpoint has so many canonical bytes: {"context":{"a":["…","…"]}}. */
  const contextOf = (bytes: number) => {
    const left = bytes - '{"context":{"a":["",""]}}'.length;
    return { a: ['x'.repeat(Math.floor(left / 2)), 'x'.repeat(Math.ceil(left / 2))] };
  };

  it('an evaluation limits the canonical bytes of the checkpoint', async () => {
    expect((await evaluate(contextOf(limits.checkpointBytes))).status).toBe(200);
    const { status, body } = await evaluate(contextOf(limits.checkpointBytes + 1));
    expect([status, body.errors[0]]).toMatchObject([
      400,
      { pointer: '/checkpoint', code: 'TOO_LARGE', limit: limits.checkpointBytes },
    ]);
  });

  it('an evaluation limits the number of policies', async () => {
    const ids = (count: number) => Array.from({ length: count }, () => 'b-shell');
    expect((await evaluate({}, { policies: ids(limits.policyIds) })).body.decisions).toHaveLength(1);
    expect((await evaluate({}, { policies: ids(limits.policyIds + 1) })).status).toBe(400);
  });

  it.each([
    [{ runId: undefined }, '/runId'],
    [{ runId: 'gov.system' }, '/runId'],
    [{ checkpoint: {} }, '/checkpoint/context'],
    [{ checkpoint: { context: [] } }, '/checkpoint/context'],
    [{ checkpoint: { context: {}, step: -1 } }, '/checkpoint/step'],
    [{ checkpoint: { context: {}, steps: 1 } }, '/checkpoint/steps'],
    [{ policies: ['../x'] }, '/policies/0'],
  ])('an evaluation rejects %o', async (members, pointer) => {
    const { status, body } = await evaluate({}, members);
    expect([status, body.errors[0].pointer]).toEqual([400, pointer]);
  });
});

describe('evaluations that race changes of policies', () => {
  it('evaluations that race changes are recorded with the set in force at their place in the log', async () => {
    const publishing = new AbortController();
    const change = async (policyId: string): Promise<void> => {
      await draft(policyId, {}, 'warn');
      for (let at = 0; at < 6; at++) {
        await move(policyId, at % 2 === 0 ? 'active' : 'disabled');
        await plane.call('POST', `/governance/policies/${policyId}/versions`, {
          body: { condition: {}, action: 'warn' },
        });
        await plane.call('POST', `/governance/policies/${policyId}/publish`, { body: {} });
      }
    };
    const asking = async (): Promise<number[]> => {
      const statuses: number[] = [];
      while (!publishing.signal.aborted)
        statuses.push((await evaluate(tool('ls'), { runId: 'raced' })).status);
      return statuses;
    };
    const askers = Array.from({ length: 6 }, asking);
    await Promise.all(['race-a', 'race-b'].map(change));
    publishing.abort();
    const statuses = (await Promise.all(askers)).flat();
    // 503 where the policies changed five times during one evaluation; never a wrong set
    expect(statuses.filter((status) => status !== 503).every((status) => status === 200)).toBe(true);
    const sets = await setsByIndex();
    const seen: { sequence: number; policySetHash: string }[] = [];
    for (let cursor = ''; ;) {
      const page = await records(`?runId=raced&limit=200${cursor}`);
      seen.push(...page.data);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    expect(seen).toHaveLength(statuses.filter((status) => status === 200).length);
    expect(new Set(seen.map((each) => each.policySetHash)).size).toBeGreaterThan(3);
    for (const { sequence, policySetHash: hash } of seen) expect(hash).toBe(sets(sequence));
  });

  /** The policySetHash in force below an index, from the gov.policy/1 leaves alone. */
  async function setsByIndex(): Promise<(index: number) => string> {
    const rows = await plane.records();
    const inForce: VersionsInForce = new Map();
    const hashes: { index: number; hash: string }[] = [{ index: -1, hash: policySetHash([]) }];
    for (const { index, record } of rows.filter((row) => row.record.includes('"type":"gov.policy/1"'))) {
      applyPolicyChange(inForce, JSON.parse(record) as PolicyChange);
      const set = [...inForce].map(([policyId, { policyHash }]) => ({ policyId, policyHash }));
      hashes.push({ index, hash: policySetHash(set) });
    }
    return (index) => hashes.findLast((each) => each.index < index)?.hash ?? '';
  }
});

describe('many active policies', () => {
  it('an evaluation of more than 200 policies returns only the applicable ones', async () => {
    const missing = limits.policiesListed - (await evaluate({})).body.summary.total;
    const names = Array.from({ length: missing + 1 }, (_, at) => `zz-${at}`);
    for (const name of names.slice(0, -1)) await policy(name, { 'tool.name': name }, 'warn');
    expect((await evaluate(tool('zz-0'))).body.decisions).toHaveLength(limits.policiesListed);
    await policy(names.at(-1) ?? '', { 'tool.name': 'never' }, 'warn');
    const { body } = await evaluate(tool('zz-0', 'none'));
    expect(body.decisions.map(({ policyId }: Said) => policyId)).toContain('zz-0');
    expect(body.decisions.every(({ outcome }: Said) => outcome === 'matched')).toBe(true);
    expect(body.summary.total).toBe(limits.policiesListed + 1);
    const [record] = (await records('?limit=1')).data;
    expect(record).toMatchObject({ policyCount: limits.policiesListed + 1 });
    expect(record.decisions.map(({ policyId }: Said) => policyId)).toContain('zz-0');
    // where all have a say, the list is committed to as one
    const all = await evaluate({});
    expect(all.body.decisions.length).toBeGreaterThan(limits.policiesListed);
    const [whole] = (await records('?limit=1')).data;
    expect(whole.decisions).toHaveLength(all.body.decisions.length);
    // the gravest are explained, the others named
    const isBrief = ({ reasoning }: { reasoning: string }): boolean =>
      reasoning.includes('no room to explain');
    expect(all.body.decisions.filter(isBrief)).toHaveLength(
      all.body.decisions.length - limits.decisionsReasoned,
    );
    expect(all.body.decisions.filter(isBrief).every(({ decision }: Said) => decision === 'warn')).toBe(true);
    expect(whole.decisions).toEqual(
      all.body.decisions.map((each: object) => expect.objectContaining(each) as unknown),
    );
    const simulated = await plane.call('POST', '/governance/policies/simulate', { body: { checkpoint: {} } });
    expect(simulated.body.explained).toBe(limits.decisionsExplained);
    const traced = simulated.body.decisions.filter((each: object) => 'trace' in each);
    expect(traced).toHaveLength(limits.decisionsExplained);
    expect(traced.map(({ decision }: Said) => decision)).toContain('deny');
    // and it is held against its leaf as any other
    const governed = governing(plane);
    await governed.ran('run-1', {}, 'agent.started');
    expect((await governed.layer('run-1', 'policy_compliance')).failed).not.toContain('decisions_recompute');
    const { result } = await governed.replay({ runId: 'run-1' });
    expect(result.steps.filter(({ status }: { status: string }) => status !== 'match')).toEqual([]);
  });
});
