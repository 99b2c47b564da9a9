/** A call, a prompt and a call of a model that several sources report are one in every list, sum and report, in any order. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { AuditEvent } from '../../../../src/contract/events.ts';
import { timelineOf } from '../../../../src/console/runs/timeline.ts';
import { reconcile } from '../../../../src/core/intake/reconcile.ts';
import { digestOf } from '../../../../src/core/json/digest.ts';
import { log, logs, post, span, traceId, traces } from '../../../http/otlp/requests.ts';
import { importValue } from '../../../core/intake/fits.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { holdClock } from '../templates/filled.ts';
import { built, figuresOf, rowsOf } from '../templates/world.ts';

let service: TestService;
let ada: Tenant;
let projectId: string;
beforeAll(async () => {
  holdClock();
  service = await startService();
  ada = await service.signUp('ada');
  projectId = (await ada.call('GET', '/auth/identity')).body.projectId;
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});

const must = async (path: string, body: object): Promise<void> =>
  expect([200, 201]).toContain((await ada.call('POST', path, { body })).status);
const eventsOf = async (runId: string): Promise<AuditEvent[]> =>
  (await ada.call('GET', `/events?runId=${runId}&limit=500`)).body.events;

/** A program that asks before each call, and records its prompts. */
const asking = (recordedBy: 'hook' | 'mcp') => async (runId: string) => {
  const at = { runId, timestamp: '2026-01-05T09:00:00Z' };
  const resource = { name: 'pay', type: 'tool' };
  const facts = { toolCallId: 'c1', recordedBy };
  if (recordedBy === 'hook')
    await must(
      '/events',
      event({ ...at, eventType: 'prompt.submitted', metadata: { recordedBy, content: digestOf('Pay 5') } }),
    );
  const decided = { ...facts, evaluationId: 'pev_01jq3v5k8hf7wb3c9x2m4n6p8r', arguments: { amount: 5 } };
  await must('/events', event({ ...at, eventType: 'tool.call', resource, metadata: decided }));
  await must(
    '/events',
    event({ ...at, eventType: 'tool.result', resource, metadata: { ...facts, outcome: 'ok' } }),
  );
};

let used = 7000;
const sources = {
  hook: asking('hook'),
  mcp: asking('mcp'),
  telemetry: async (runId: string) => {
    const values = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'pay',
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.tool.call.arguments': '{"amount":5}',
      'gen_ai.tool.call.result': 'paid',
      'gen_ai.conversation.id': runId,
    };
    const plane = { origin: service.origin, key: ada.keys.production };
    const sent = await post(plane, 'traces', traces(span(1, values, { traceId: traceId((used += 1)) })));
    expect(sent.status).toBe(200);
    const record = (name: string, more: Record<string, unknown>) =>
      log({ 'event.name': `claude_code.${name}`, 'session.id': runId, ...more });
    const requests = ['req_1', 'req_2'].map((id) => record('api_request', { request_id: id, model: 'm' }));
    const prompt = record('user_prompt', { prompt: '<REDACTED>' });
    expect((await post(plane, 'logs', logs(prompt, ...requests))).status).toBe(200);
  },
  transcript: async (runId: string) => {
    const answered = (n: number, content: object) => ({
      type: 'assistant',
      requestId: `req_${n}`,
      message: { id: `msg_${n}`, role: 'assistant', model: 'm', stop_reason: null, content: [content] },
    });
    const said = (content: unknown) => ({ type: 'user', message: { role: 'user', content } });
    const lines = [
      said('Pay 5'),
      answered(1, { type: 'tool_use', id: 'c1', name: 'pay', input: { amount: 5 } }),
      said([{ type: 'tool_result', tool_use_id: 'c1', content: 'paid', is_error: false }]),
      answered(2, { type: 'text', text: 'Paid.' }),
    ];
    const recording = lines.map((line, no) => ({
      sessionId: runId,
      uuid: `l${no}`,
      timestamp: '2026-01-05T09:00:00Z',
      ...line,
    }));
    const [run] = importValue(recording);
    const found = reconcile(run!, await eventsOf(runId));
    if (!('events' in found))
      throw new Error(`expected a recording of the run, got ${JSON.stringify(found)}`);
    await must('/events/batch', { events: found.events.filter((each) => each !== null) });
  },
} as const;
type Source = keyof typeof sources;

const ordersOf = (items: readonly Source[]): Source[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item, at) => ordersOf(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));

it('a call by hook, proxy, telemetry and transcript is one everywhere, in all orders', async () => {
  const orders = ordersOf(['hook', 'mcp', 'telemetry', 'transcript']);
  const lists = new Set<number>();
  for (const order of orders) {
    const runId = order.join('-');
    for (const source of order) await sources[source](runId);
    const { body: coverage } = await ada.call('GET', `/runs/${runId}/coverage`);
    expect(coverage.calls, runId).toMatchObject([
      { callId: 'c1', verdict: 'governed', ending: 'ok', sources: ['hook', 'mcp', 'otlp', 'transcript'] },
    ]);
    const events = await eventsOf(runId);
    lists.add(events.length);
    const entries = timelineOf({ events, evaluations: [], approvals: [] });
    const shown = (kind: string) => entries.filter((each) => each.kind === kind && !each.isPart).length;
    expect(['prompt', 'model', 'call', 'output'].map(shown), runId).toEqual([1, 2, 1, 1]);
    const recorded = (type: string) => events.filter(({ eventType }) => eventType === type).length;
    expect(['model.invoked', 'x.model.observed', 'output.delivered'].map(recorded), runId).toEqual([2, 2, 1]);
  }
  // the list of runs has as many events of each run
  expect(lists.size).toBe(1);
  const { body: runs } = await ada.call('GET', '/runs?limit=100');
  const listed = runs.data.filter(({ runId }: { runId: string }) => runId.includes('telemetry'));
  expect(listed).toHaveLength(orders.length);
  expect(new Set(listed.map(({ events }: { events: number }) => events))).toEqual(lists);

  const report = await built(service.services, [projectId, 'tool-access']);
  expect(figuresOf(report)).toMatchObject({ calls: orders.length, undecided: 0, refused: 0 });
  const rows = rowsOf(report, 'tool-access', 'agent', 'tool', 'calls', 'undecided');
  expect(rows.reduce((sum, { calls }) => sum + Number(calls), 0)).toBe(orders.length);
  const logging = await built(service.services, [projectId, 'ai-act-logging']);
  const facts = logging.contents.sections
    .flatMap(({ blocks }) => blocks.flatMap((block) => ('facts' in block ? block.facts : [])))
    .filter(({ label }) => label.startsWith('Tool calls'));
  expect(facts).toMatchObject([{ value: orders.length }, { value: 0 }]);
});

it('a call that several sources report as refused, or as failed, is one failure', async () => {
  const told = async (runId: string, eventType: string, metadata: object) =>
    must('/events', event({ runId, eventType, resource: { name: 'pay', type: 'tool' }, metadata }));
  const [hook, telemetry, transcript] = [
    { recordedBy: 'hook' },
    { importer: 'otlp', timestampSource: 'source' },
    { timestampSource: 'source' },
  ];
  const failed = { toolCallId: 'c1', outcome: 'error' };
  await told('failed', 'tool.result', { ...hook, ...failed });
  await told('failed', 'tool.result', { ...telemetry, ...failed });
  await told('failed', 'x.tool.observed', { ...transcript, ...failed, observed: 'tool.result' });
  const refused = { toolCallId: 'c1', evaluationId: 'pev_01jq3v5k8hf7wb3c9x2m4n6p8r' };
  await told('refused', 'tool.denied', { ...hook, ...refused });
  await told('refused', 'tool.call_blocked', { ...telemetry, toolCallId: 'c1', decision: 'reject' });
  await told('refused', 'x.tool.observed', { ...transcript, toolCallId: 'c1', outcome: 'denied' });
  // nothing says that these are of one call
  for (let n = 0; n < 2; n++) await told('unnamed', 'tool.result', { ...telemetry, outcome: 'error' });
  const report = await built(service.services, [projectId, 'incident-bundle']);
  const rows = rowsOf(report, 'affected-runs', 'runId', 'failures');
  expect(Object.fromEntries(rows.map(({ runId, failures }) => [runId, failures]))).toEqual({
    failed: 1,
    refused: 1,
    unnamed: 2,
  });
  expect(figuresOf(report)).toMatchObject({ failures: 4 });
});
