import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const evaluate = (body: Record<string, unknown>, headers = {}) =>
  plane.call('POST', '/risk/evaluate', { body: { runId: 'run-1', ...body }, headers });
const denied = [{ policyId: 'pol-a', decision: 'deny', score: 0.2 }];

describe('risk evaluation', () => {
  it('a risk evaluation routes by score, with contributions that sum to it', async () => {
    const { status, body } = await evaluate({
      policyDecisions: denied,
      evaluationSignals: [{ signal: 'pii', value: 0.5 }],
      quotaState: { used: 95, limit: 100, remaining: 5 },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ runId: 'run-1', action: 'block', wouldBeAction: null });
    // deny: floor 0.95 of cap 1; pii 0.5 of cap 0.6; quota (0.95 - 0.8) / 0.2 = 0.75 of cap 0.3:
    // 1 - (1 - 0.95) (1 - 0.3) (1 - 0.225) = 0.972875
    expect(body.score).toBe(0.972875);
    const sum = body.factors.reduce(
      (total: number, factor: { contribution: number }) => total + factor.contribution * 1e6,
      0,
    );
    expect(Math.round(sum)).toBe(972875);
  });

  it('a risk evaluation returns 0 and allow when no input is known', async () => {
    const { body } = await evaluate({});
    expect(body).toMatchObject({ action: 'allow', score: 0, factors: [] });
  });

  it('a risk evaluation gives equal inputs of other runs, in another order, the same hash', async () => {
    const signals = [
      { signal: 'pii', value: 0.1 },
      { signal: 'drift', value: 0.2 },
    ];
    const one = await evaluate({ evaluationSignals: signals });
    const other = await evaluate({ runId: 'run-2', evaluationSignals: signals.toReversed() });
    expect(other.body.deterministicInputsHash).toBe(one.body.deterministicInputsHash);
  });

  it('a risk evaluation is recorded as a leaf from which it can be recomputed', async () => {
    const { body } = await evaluate({ policyDecisions: denied, explicitSignals: { vip: true } });
    const list = await plane.call('GET', '/risk/decisions?runId=run-1&limit=1');
    expect(list.body.data).toEqual([body]);
    const config = (await plane.call('GET', '/risk/config')).body;
    const { bands: _, ...settings } = config;
    const preimage = canonicalize({
      algorithm: 'gov.risk/1',
      config: settings,
      policyDecisions: denied,
      quotaState: {},
      evaluationSignals: [],
      explicitSignals: { vip: true },
    });
    const expected = `sha256:${hash('sha256', `gov.riskinputs/v1\n${preimage}`, 'hex')}`;
    expect(body.deterministicInputsHash).toBe(expected);
  });

  it('a risk evaluation keeps its answer under an idempotency key', async () => {
    const headers = { 'idempotency-key': 'risk-once' };
    const first = await evaluate({ runId: 'run-idem' }, headers);
    const again = await evaluate({ runId: 'run-idem' }, headers);
    expect(again.body).toEqual(first.body);
    const list = await plane.call('GET', '/risk/decisions?runId=run-idem');
    expect(list.body.data).toHaveLength(1);
  });

  it('risk decisions are listed in pages, newest first', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await evaluate({ runId: 'run-pages' })).body.id);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await plane.call('GET', `/risk/decisions?runId=run-pages&limit=2${cursor}`);
      seen.push(...page.body.data.map((decision: { id: string }) => decision.id));
      if (page.body.nextCursor === null) break;
      cursor = `&cursor=${page.body.nextCursor}`;
    }
    expect(seen).toEqual(ids);
  });

  it.each([
    ['a run of the service', { runId: 'gov.system' }, '/runId'],
    [
      'a score that is no number',
      { policyDecisions: [{ ...denied[0], score: '0.2' }] },
      '/policyDecisions/0/score',
    ],
    ['an unknown member', { signals: [] }, '/signals'],
    [
      'too long a word of decision',
      { policyDecisions: [{ ...denied[0], decision: 'a'.repeat(limits.riskDecisionChars + 1) }] },
      '/policyDecisions/0/decision',
    ],
    [
      'too many signals',
      {
        evaluationSignals: Array.from({ length: limits.riskItems + 1 }, () => ({ signal: 'pii', value: 0 })),
      },
      '/evaluationSignals',
    ],
  ])('a risk evaluation rejects %s', async (_, body, pointer) => {
    const answer = await evaluate(body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].pointer).toBe(pointer);
  });

  it('a risk evaluation rejects a number that a double cannot represent', async () => {
    const raw = '{"runId":"run-1","evaluationSignals":[{"signal":"pii","value":1e999}]}';
    expect((await plane.call('POST', '/risk/evaluate', { raw })).status).toBe(400);
  });
});

describe('risk configuration', () => {
  it('the risk configuration is the default until a PUT replaces it, is recorded as an event, and accepts its own answer', async () => {
    const fresh = await startPlane();
    try {
      const before = await fresh.call('GET', '/risk/config');
      expect(before.body).toMatchObject({
        mode: 'adaptive',
        thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 },
        defaultAction: 'escalate',
      });
      const config = { mode: 'monitor', thresholds: before.body.thresholds, defaultAction: 'allow' };
      const put = await fresh.call('PUT', '/risk/config', { body: config });
      expect(put.status).toBe(200);
      expect((await fresh.call('GET', '/risk/config')).body).toEqual(put.body);
      const decided = await fresh.call('POST', '/risk/evaluate', {
        body: { runId: 'r', policyDecisions: denied },
      });
      expect(decided.body).toMatchObject({ action: 'allow', wouldBeAction: 'block' });
      const trail = await fresh.call('GET', '/events?runId=gov.system&eventType=risk.config_changed');
      expect(trail.body.events).toHaveLength(1);
      expect(trail.body.events[0].metadata.config.mode).toBe('monitor');
      expect((await fresh.call('PUT', '/risk/config', { body: put.body })).status).toBe(200);
    } finally {
      await fresh.end();
    }
  });

  it.each([
    ['an unknown mode', { mode: 'lenient' }, 400, '/mode'],
    [
      'a threshold above 1',
      { thresholds: { allow: 0, flag: 0, escalate: 0, block: 1.1 } },
      400,
      '/thresholds/block',
    ],
    ['a threshold left out', { thresholds: { allow: 0, flag: 0, escalate: 0 } }, 400, '/thresholds/block'],
    ['bands of its own', { bands: [{ from: 0, action: 'block' }] }, 400, '/bands'],
    [
      'a signal with an empty range',
      { signals: { pii: { weight: 1, min: 1, max: 1 } } },
      400,
      '/signals/pii',
    ],
  ])('the risk configuration rejects %s', async (_, change, status, pointer) => {
    const { bands: __, ...config } = (await plane.call('GET', '/risk/config')).body;
    const answer = await plane.call('PUT', '/risk/config', { body: { ...config, ...change } });
    expect(answer.status).toBe(status);
    expect(answer.body.errors[0].pointer).toBe(pointer);
  });

  it('a new risk configuration changes neither earlier decisions nor the events of the run', async () => {
    await plane.call('POST', '/events', { body: event({ runId: 'run-kept' }) });
    const { body } = await evaluate({ runId: 'run-kept', policyDecisions: denied });
    const config = (await plane.call('GET', '/risk/config')).body;
    const strict = { ...config, mode: 'strict', bands: undefined };
    expect((await plane.call('PUT', '/risk/config', { body: strict })).status).toBe(200);
    const list = await plane.call('GET', '/risk/decisions?runId=run-kept');
    expect(list.body.data).toEqual([body]);
    const events = await plane.call('GET', '/events?runId=run-kept');
    expect(events.body.events).toHaveLength(1);
  });
});

describe('a configuration that was altered in the database', () => {
  const strict = {
    mode: 'strict',
    thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 },
    defaultAction: 'allow',
  };
  const codes = async (own: TestPlane): Promise<unknown[]> => [
    (await own.call('POST', '/risk/evaluate', { body: { runId: 'r' } })).body.code,
    (await own.call('GET', '/risk/config')).body.code,
    (
      await own.call('POST', '/mcp/tools/evaluate', {
        body: { runId: 'r', tool: { name: 't' }, arguments: {} },
      })
    ).body.code,
  ];
  const faults = Array(3).fill('STORAGE_FAULT');

  it.each([
    ['another mode', "UPDATE risk_config SET config = replace(config, 'strict', 'monitor')"],
    ['none', 'DELETE FROM risk_config'],
    ['no JSON', "UPDATE risk_config SET config = ''"],
  ])(
    'a risk configuration altered in the database to %s decides nothing, until it is restored or replaced',
    async (_, statement) => {
      const own = await startPlane();
      await own.call('PUT', '/risk/config', { body: strict });
      await own.sql('CREATE TABLE kept AS SELECT * FROM risk_config');
      await own.sql(statement);
      expect(await codes(own)).toEqual(faults);
      await own.sql('DELETE FROM risk_config');
      await own.sql('INSERT INTO risk_config SELECT * FROM kept');
      expect(await codes(own)).toEqual([undefined, undefined, undefined]);
      await own.sql(statement);
      expect(await codes(own)).toEqual(faults);
      expect((await own.call('PUT', '/risk/config', { body: strict })).status).toBe(200);
      expect(await codes(own)).toEqual([undefined, undefined, undefined]);
      await own.end();
    },
  );

  it('a risk configuration altered back to an earlier one decides nothing', async () => {
    const own = await startPlane();
    const config = async (): Promise<string> => (await own.sql('SELECT config FROM risk_config'))[0].config;
    await own.call('PUT', '/risk/config', { body: { ...strict, mode: 'monitor' } });
    const before = await config();
    await own.call('POST', '/risk/evaluate', { body: { runId: 'r' } });
    await own.call('PUT', '/risk/config', { body: strict });
    await own.sql(`UPDATE risk_config SET config = '${before}'`);
    expect(await codes(own)).toEqual(faults);
    await own.end();
  });

  it('every risk decision uses the configuration in force at its place in the log, while it changes', async () => {
    const own = await startPlane();
    const here = governing(own);
    await here.ran('busy', {}, 'output.delivered');
    const modes = ['strict', 'monitor', 'permissive', 'adaptive'];
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 4 === 0
          ? own.call('PUT', '/risk/config', { body: { ...strict, mode: modes[(n / 4) % 4] } })
          : here.risk('busy'),
      ),
    );
    const { verified, claims } = await here.layer('busy', 'decision_lineage');
    expect(claims).toMatchObject({ decisions: { n: 30 }, notRecomputed: 0 });
    expect(verified).toBe(true);
    await own.end();
  });
});
