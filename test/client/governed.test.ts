import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createClient,
  GovNetworkError,
  GovOutcomeUnrecorded,
  governedInvoke,
  GovToolRefused,
} from '../../src/client/index.ts';
import type { Client, GovernedCall } from '../../src/client/index.ts';
import { startRecordingProxy, type RecordingProxy } from '../support/recording-proxy.ts';
import { startPlane, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
let client: Client;
let approver: Client;
let agent: Client;
beforeAll(async () => {
  plane = await startPlane({
    extraKeys: {
      approver: { scopes: ['approvals:decide', 'governance:read'] },
      agent: { scopes: ['tools:evaluate', 'events:write'] },
    },
  });
  const connect = (apiKey: string): Client =>
    createClient({ baseUrl: plane.baseUrl, apiKey, env: {}, retries: 0 });
  client = connect(plane.key);
  approver = connect(plane.keys['approver'] ?? '');
  agent = connect(plane.keys['agent'] ?? '');
  for (const [policyId, name, action] of [
    ['no-shell', 'shell', 'deny'],
    ['ask-refund', 'refund', 'escalate'],
  ] as const) {
    await client.createPolicy({
      body: { policyId, name: policyId, condition: { 'tool.name': name }, action },
    });
    await client.publishPolicy({ params: { policyId }, body: {} });
  }
});
afterAll(async () => {
  for (const each of [client, approver, agent]) each.close();
  await plane.end();
});

let runs = 0;
let runId = '';
beforeEach(() => {
  runId = `run-${(runs += 1)}`;
});
const call = (name: string, more: Partial<GovernedCall> = {}): GovernedCall => ({
  tool: { name },
  arguments: { q: 1 },
  runId,
  actor: 'planner',
  ...more,
});
const events = async () => (await client.listEvents({ query: { runId } })).body.events;
const types = async () => (await events()).map(({ eventType }) => eventType);
// oxlint-disable-next-line typescript/no-explicit-any -- each test says what it expects of it
const failure = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => expect.unreachable('expected a refusal'),
    (error: unknown) => error,
  );

describe('governedInvoke', () => {
  it('governedInvoke runs an allowed tool between a start and an outcome that name the evaluation', async () => {
    let startRecorded: string[] = [];
    const value = await governedInvoke(client, call('search'), async (decision) => {
      startRecorded = await types();
      return decision?.decision;
    });
    expect(value).toBe('allow');
    expect(startRecorded).toEqual(['tool.evaluated', 'tool.call']);
    const [evaluated, start, end] = await events();
    expect(start?.metadata['evaluationId']).toBe(evaluated?.metadata['evaluationId']);
    expect(end).toMatchObject({ eventType: 'tool.result', action: 'complete', metadata: { ok: true } });
    expect(end?.metadata['toolCallId']).toBe(start?.metadata['toolCallId']);
  });

  it('governedInvoke does not run a denied tool and records the refusal', async () => {
    let ran = false;
    const refused = await failure(governedInvoke(client, call('shell'), () => (ran = true)));
    expect(refused).toBeInstanceOf(GovToolRefused);
    expect(refused.decision.matchedPolicies).toMatchObject([{ policyId: 'no-shell' }]);
    expect(ran).toBe(false);
    expect(await types()).toEqual(['tool.evaluated', 'tool.denied']);
  });

  it('governedInvoke refuses an escalation at once when it has no approval timeout', async () => {
    const refused = await failure(governedInvoke(client, call('refund'), () => 1));
    expect(refused.approval.status).toBe('pending');
    expect(refused.message).toContain(`gov approvals approve ${refused.approval.approvalId}`);
  });

  it('governedInvoke runs an escalated tool after a person approved it', async () => {
    const running = governedInvoke(client, call('refund'), () => 'refunded', { approvalTimeoutMs: 20_000 });
    await decideNext('approved');
    expect(await running).toBe('refunded');
    const [asked, used, start] = await events();
    expect([asked?.metadata['decision'], used?.metadata['decision']]).toEqual(['escalate', 'allow']);
    expect(start?.eventType).toBe('tool.call');
    expect(start?.metadata['approvalId']).toBe(asked?.metadata['approvalId']);
    expect(start?.metadata['evaluationId']).toBe(used?.metadata['evaluationId']);
    const { body } = await client.createProof({
      body: { runId, composed: { layers: ['policy_compliance'] } },
    });
    expect(body).toMatchObject({ layers: [{}, { name: 'policy_compliance', verified: true }] });
  });

  it('governedInvoke continues with the approval of an earlier call of the same run, and uses it once', async () => {
    const invoke = () => governedInvoke(client, call('refund'), () => 'refunded');
    const refused = await failure(invoke());
    await decideNext('approved');
    expect(await invoke()).toBe('refunded');
    const again = await failure(invoke());
    expect(again.approval).toMatchObject({ status: 'pending' });
    expect(again.approval.approvalId).not.toBe(refused.approval.approvalId);
  });

  it('two governedInvoke of one approved call at once run it once', async () => {
    await failure(governedInvoke(client, call('refund'), () => 1));
    await decideNext('approved');
    const both = await Promise.allSettled([1, 2].map(() => governedInvoke(client, call('refund'), () => 1)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('governedInvoke does not run an escalated tool that a person denied', async () => {
    const running = failure(governedInvoke(client, call('refund'), () => 1, { approvalTimeoutMs: 20_000 }));
    await decideNext('denied');
    const refused = await running;
    expect(refused.approval.status).toBe('denied');
    expect(refused.message).toMatch(/; denied by key_\S+$/);
    expect(await types()).toEqual(['tool.evaluated', 'tool.denied']);
  });

  it('governedInvoke waits for a person with a key that may not read approvals', async () => {
    const invoke = (wait: number) =>
      governedInvoke(agent, call('refund'), () => 'refunded', { approvalTimeoutMs: wait });
    const refused = await failure(invoke(0));
    expect(refused).toMatchObject({ approval: null, approvalStatus: 'pending' });
    expect(refused.message).toContain(`gov approvals approve ${refused.decision.approvalId}`);
    const running = invoke(20_000);
    await decideNext('approved');
    expect(await running).toBe('refunded');
    const denied = failure(invoke(20_000));
    await decideNext('denied');
    expect(await denied).toMatchObject({ approval: null, approvalStatus: 'denied' });
  });

  async function decideNext(outcome: 'approved' | 'denied'): Promise<void> {
    for (;;) {
      const { body } = await approver.listApprovals({ query: { runId, status: 'pending' } });
      const [open] = body.data;
      if (open === undefined) continue;
      await approver.decideApproval({ params: { approvalId: open.approvalId }, body: { outcome } });
      return;
    }
  }

  it('governedInvoke records the error of a tool and throws it to the caller', async () => {
    const thrown = await failure(
      governedInvoke(client, call('search'), () => {
        throw new RangeError('no such row');
      }),
    );
    expect(thrown).toBeInstanceOf(RangeError);
    const last = (await events()).at(-1);
    expect(last).toMatchObject({ action: 'fail', metadata: { ok: false, error: 'RangeError: no such row' } });
  });

  it.each([
    ['a message of many surrogate pairs', new Error('\u{1f600}'.repeat(200))],
    ['a message that JSON cannot hold', new Error('a\0b\ud800')],
    ['an object without a text', Object.create(null)],
  ])('governedInvoke records the outcome of a tool that throws %s', async (_, error) => {
    const thrown = await failure(
      governedInvoke(client, call('search'), () => {
        throw error;
      }),
    );
    expect(thrown).toBe(error);
    expect((await events()).at(-1)).toMatchObject({ eventType: 'tool.result', metadata: { ok: false } });
  });

  it('governedInvoke records the outcome of a tool when its signal aborts during the run', async () => {
    const stop = new AbortController();
    const options = { signal: stop.signal };
    await governedInvoke(client, call('search'), () => stop.abort(), options);
    expect(await types()).toEqual(['tool.evaluated', 'tool.call', 'tool.result']);
  });

  it.each(['', 'a b', 'a'.repeat(129)])(
    'governedInvoke refuses the invocation id %j before it sends a request',
    async (invocationId) => {
      const refused = await failure(governedInvoke(client, call('search'), () => 1, { invocationId }));
      expect(refused).toBeInstanceOf(TypeError);
      expect(await types()).toEqual([]);
    },
  );

  it('governedInvoke evaluates and runs one invocation id only once', async () => {
    let ran = 0;
    const options = { invocationId: 'inv-once' };
    await governedInvoke(client, call('search'), () => (ran += 1), options);
    expect(await failure(governedInvoke(client, call('search'), () => (ran += 1), options))).toBeInstanceOf(
      TypeError,
    );
    expect(ran).toBe(1);
    expect(await types()).toEqual(['tool.evaluated', 'tool.call', 'tool.result']);
  });

  describe('without a service', () => {
    const nowhere = createClient({
      baseUrl: 'http://127.0.0.1:9/api/v1',
      apiKey: 'gov_live_x',
      env: {},
      retries: 0,
    });
    const readOnly = { tool: { name: 'search', annotations: { readOnlyHint: true } } };

    it('governedInvoke runs no tool when the service is unreachable', async () => {
      let ran = false;
      await failure(governedInvoke(nowhere, call('search', readOnly), () => (ran = true)));
      expect(ran).toBe(false);
    });

    const open = { failMode: 'open' } as const;

    it('a read-only tool runs without the service in fail mode open, and its caller gets its result', async () => {
      const value = await governedInvoke(
        nowhere,
        call('search', readOnly),
        (decision) => ({ decision, rows: 3 }),
        open,
      );
      expect(value).toEqual({ decision: null, rows: 3 });
    });

    it('a read-only tool that fails without the service in fail mode open throws its own error', async () => {
      const thrown = await failure(
        governedInvoke(
          nowhere,
          call('search', readOnly),
          () => {
            throw new RangeError('no such row');
          },
          open,
        ),
      );
      expect(thrown).toBeInstanceOf(RangeError);
    });

    it('a tool that is not read-only does not run without the service, even in fail mode open', async () => {
      let ran = false;
      await failure(governedInvoke(nowhere, call('search'), () => (ran = true), { failMode: 'open' }));
      expect(ran).toBe(false);
    });
  });

  describe('with a service that goes away', () => {
    const readOnly = { tool: { name: 'search', annotations: { readOnlyHint: true } } };
    const open = { failMode: 'open' } as const;
    let proxy: RecordingProxy;
    let through: Client;
    let notes: unknown[];
    let onAnswer: () => void;
    const unrecorded = (eventType: string) => ({
      kind: 'unrecorded',
      runId,
      eventType,
      tool: expect.any(String),
      reason: expect.stringContaining('connect'),
    });
    const goAway = (): void => {
      proxy.port = 0;
      through.close();
    };
    beforeEach(async () => {
      proxy = await startRecordingProxy();
      proxy.port = plane.port;
      notes = [];
      onAnswer = () => {};
      through = createClient({
        baseUrl: plane.baseUrl.replace(plane.origin, proxy.origin),
        apiKey: plane.key,
        env: {},
        retries: 0,
        observe: (note) => {
          if (note.kind === 'unrecorded') notes.push(note);
          else if (note.kind === 'response') onAnswer();
        },
      });
    });
    afterEach(async () => {
      through.close();
      await proxy.close();
    });

    it('a service that goes away while a read-only tool runs takes no result in fail mode open, and the run says what it lacks', async () => {
      const value = await governedInvoke(through, call('search', readOnly), () => (goAway(), 7), open);
      expect(value).toBe(7);
      expect(notes).toEqual([unrecorded('tool.result')]);
      expect(await governedInvoke(through, call('search', readOnly), () => 8, open)).toBe(8);
      expect(notes).toEqual(['tool.result', 'tool.call', 'tool.result'].map(unrecorded));
      proxy.port = plane.port;
      expect(await governedInvoke(through, call('search', readOnly), () => 9, open)).toBe(9);
      expect((await types()).join(' ')).toBe(
        'tool.evaluated tool.call tool.evaluated recorder.dropped tool.call tool.result',
      );
      expect((await events())[3]?.metadata).toMatchObject({ dropped: 3, reasons: ['unsent'] });
    });

    it('a service that goes away while a tool runs leaves an outcome that governedInvoke throws, unless fail mode is open', async () => {
      const thrown = await failure(governedInvoke(through, call('search', readOnly), () => (goAway(), 7)));
      expect(thrown).toBeInstanceOf(GovOutcomeUnrecorded);
      expect(thrown.outcome).toEqual({ value: 7 });
    });

    it('a result that its description cannot read reaches the caller like one that could not be recorded', async () => {
      const record = {
        result: () => {
          throw new RangeError('no such member');
        },
      };
      const run = (more: object) =>
        governedInvoke(through, call('search', readOnly), () => 7, { record, ...more });
      expect(await run(open)).toBe(7);
      const thrown = await failure(run({}));
      expect(thrown).toBeInstanceOf(GovOutcomeUnrecorded);
      expect(thrown.outcome).toEqual({ value: 7 });
    });

    it('a refusal stays a refusal where the service goes away before it is recorded', async () => {
      onAnswer = goAway;
      const refused = await failure(governedInvoke(through, call('shell'), () => 1));
      expect(refused).toBeInstanceOf(GovToolRefused);
      expect(notes).toEqual([unrecorded('tool.denied')]);
    });

    it('an allowed read-only tool runs in fail mode open where the service goes away before its start is recorded', async () => {
      onAnswer = goAway;
      const run = () => governedInvoke(through, call('search', readOnly), () => 7, open);
      expect(await run()).toBe(7);
      onAnswer = goAway;
      proxy.port = plane.port;
      const closed = failure(governedInvoke(through, call('search', readOnly), () => 7));
      expect(await closed).toBeInstanceOf(GovNetworkError);
    });
  });

  it('governedInvoke runs no tool when the service refuses the call, even in fail mode open', async () => {
    let ran = false;
    const bad = call('search', {
      tool: { name: 'search', annotations: { readOnlyHint: true } },
      runId: 'gov.system',
    });
    await failure(governedInvoke(client, bad, () => (ran = true), { failMode: 'open' }));
    expect(ran).toBe(false);
  });
});
