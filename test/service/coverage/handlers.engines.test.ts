/** Sources of one run over real HTTP: a hook or SDK that asks first, OTLP, and a transcript, in several orders. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { parseTrust } from '../../../src/core/note/checkpoint.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import {
  countsOf,
  log,
  logs,
  post,
  span as otlpSpan,
  tool,
  traceId,
  traces,
} from '../../http/otlp/requests.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
beforeAll(async () => {
  plane = await startPlane();
  gov = governing(plane);
  await gov.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
});
afterAll(() => plane.end());

interface Event {
  readonly eventType: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}
/** The events of a run without those of the service itself. */
const eventsOf = async (runId: string): Promise<Event[]> => {
  const { events } = await gov.must('GET', `/events?runId=${runId}`);
  return events.filter(({ eventType }: Event) => eventType !== 'tool.evaluated');
};
const typesOf = async (runId: string): Promise<string[]> =>
  (await eventsOf(runId)).map(({ eventType }) => eventType);
const coverageOf = (runId: string) => gov.must('GET', `/runs/${runId}/coverage`);
const verdictsOf = async (runId: string): Promise<string[]> =>
  (await coverageOf(runId)).calls.map(({ verdict }: { verdict: string }) => verdict);

/** The governed record of a call, as a hook or the SDK makes it. */
async function governed(runId: string, toolCallId: string): Promise<void> {
  const { evaluationId } = await gov.tool(runId, 'pay');
  await gov.ran(runId, { evaluationId, toolCallId });
}
const result = (runId: string, toolCallId: string) =>
  gov.ran(runId, { toolCallId, ok: true }, 'tool.result', 'pay');

let trace = 100;
const span = (runId: string, ...ids: string[]): object =>
  traces(
    ...ids.map((id, n) =>
      tool(
        n + 1,
        { 'session.id': runId, 'gen_ai.tool.call.id': id, 'gen_ai.tool.call.result': '"ok"' },
        { traceId: traceId(trace++) },
      ),
    ),
  );

describe('a call that several sources report', () => {
  it('is one call where the governed record comes first; telemetry is an observation', async () => {
    await governed('first', 'c1');
    await result('first', 'c1');
    const body = span('first', 'c1');
    expect(countsOf(await post(plane, 'traces', body))).toMatchObject({ kept: 1, repeated: 0 });
    expect(countsOf(await post(plane, 'traces', body))).toMatchObject({ kept: 0, repeated: 1 });
    expect(await typesOf('first')).toEqual([
      'tool.call',
      'tool.result',
      'x.tool.observed',
      'x.tool.observed',
    ]);
    const [, , call, answer] = await eventsOf('first');
    expect(call?.metadata).toMatchObject({
      observed: 'tool.call',
      tool: 'pay',
      toolCallId: 'c1',
      importer: 'otlp',
    });
    expect(answer?.metadata).toMatchObject({
      observed: 'tool.result',
      outcome: 'ok',
      content: { hash: expect.stringMatching(/^sha256:/), bytes: expect.any(Number) },
    });
    expect(await gov.layer('first', 'policy_compliance')).toMatchObject({
      verified: true,
      claims: { governed: 1, undecided: 0 },
    });
    expect(await coverageOf('first')).toMatchObject({
      covered: true,
      confirmed: 1,
      calls: [
        { callId: 'c1', tool: 'pay', verdict: 'governed', decision: 'allowed', sources: ['direct', 'otlp'] },
      ],
      sources: [
        { source: 'direct', calls: 1 },
        { source: 'otlp', calls: 1 },
      ],
    });
  });

  it('is one governed call where telemetry comes first: the governed record is never refused', async () => {
    await post(plane, 'traces', span('late', 'c1'));
    await governed('late', 'c1');
    await result('late', 'c1');
    expect(await typesOf('late')).toEqual(['tool.call', 'tool.result', 'tool.call', 'tool.result']);
    expect(await gov.layer('late', 'policy_compliance')).toMatchObject({
      verified: true,
      claims: { governed: 1, undecided: 0 },
    });
    expect(await verdictsOf('late')).toEqual(['governed']);
  });

  it('is known to the receiver between requests, and telemetry that comes alone is a call', async () => {
    await post(plane, 'traces', span('mixed', 'c1'));
    for (const id of ['c2', 'c3']) {
      await governed('mixed', id);
      await post(plane, 'traces', span('mixed', id));
    }
    await post(plane, 'traces', span('mixed', 'c4', 'c3'));
    const calls = (await eventsOf('mixed')).filter(({ eventType }) => eventType === 'tool.call');
    expect(calls.map(({ metadata }) => metadata['toolCallId'])).toEqual(['c1', 'c2', 'c3', 'c4']);
    expect(await verdictsOf('mixed')).toEqual(['ungoverned', 'ungoverned', 'governed', 'governed']);
    expect(await gov.layer('mixed', 'policy_compliance')).toMatchObject({
      verified: false,
      failed: ['every_governed_event_decided'],
      claims: { governed: 4, undecided: 2 },
    });
  });

  it('is one call where a transcript has it before telemetry', async () => {
    await gov.ran('session', { toolCallId: 'c1', timestampSource: 'source' }, 'tool.call', 'pay');
    await post(plane, 'traces', span('session', 'c1'));
    expect(await typesOf('session')).toEqual(['tool.call', 'x.tool.observed', 'tool.result']);
    expect(await verdictsOf('session')).toEqual(['ungoverned']);
  });

  it('is named where it ran after its denial', async () => {
    const { evaluationId } = await gov.tool('denied', 'shell');
    await gov.ran('denied', { evaluationId, toolCallId: 'c1', status: 'deny' }, 'tool.denied', 'shell');
    expect(await verdictsOf('denied')).toEqual(['denied']);
    const shell = { 'session.id': 'denied', 'gen_ai.tool.call.id': 'c1', 'gen_ai.tool.name': 'shell' };
    await post(plane, 'traces', traces(tool(1, shell, { traceId: traceId(trace++) })));
    expect(await coverageOf('denied')).toMatchObject({ covered: false, counts: { denied_but_ran: 1 } });
  });

  it('is named where another tool ran than was decided', async () => {
    const { evaluationId } = await gov.tool('other', 'read');
    await gov.ran('other', { evaluationId, toolCallId: 'c1' }, 'tool.call', 'read');
    await post(plane, 'traces', span('other', 'c1'));
    expect(await coverageOf('other')).toMatchObject({
      covered: false,
      calls: [{ verdict: 'mismatch', compared: null, detail: 'decided as read, otlp reports pay' }],
    });
  });

  it('is named where the telemetry of a client has another command than was decided', async () => {
    const [client, name] = [{ name: 'claude-code' }, 'Bash'];
    const { evaluationId } = await gov.tool('command', name, { client, arguments: { command: 'echo x' } });
    const metadata = { recordedBy: 'hook', client: client.name, evaluationId };
    for (const toolCallId of ['c1', 'c2'])
      await gov.ran('command', { ...metadata, toolCallId }, 'tool.call', name);
    const ran = (id: string, command: string) =>
      log({
        'event.name': 'claude_code.tool_result',
        'session.id': 'command',
        tool_use_id: id,
        tool_name: name,
        tool_input: JSON.stringify({ command }),
        success: 'true',
      });
    await post(plane, 'logs', logs(ran('c1', 'echo x'), ran('c2', 'rm x')));
    const { calls } = await coverageOf('command');
    expect(calls.map(({ verdict, compared }: Record<string, unknown>) => [verdict, compared])).toEqual([
      ['mismatch', null],
      ['governed', 'action'],
    ]);
  });

  it('reads the decisions about what the kernel saw in the runs that a run leads to, up to a limit', async () => {
    const step = (runId: string, eventType: string, metadata: object) =>
      gov.must('POST', '/events', {
        runId,
        eventType,
        actor: { name: 'gov' },
        resource: { name: 'Bash', type: 'tool' },
        action: 'note',
        timestamp: new Date().toISOString(),
        metadata,
      });
    const [client, name] = [{ name: 'claude-code' }, 'Bash'];
    const { evaluationId } = await gov.tool('session-of-it', name, { client, arguments: { command: 'ls' } });
    const by = { recordedBy: 'hook', client: client.name, evaluationId, toolCallId: 'c1' };
    await step('session-of-it', 'tool.call', by);
    await step('boxed', 'x.kernel.exec', { pid: 2, ppid: 1, path: '/usr/bin/claude', argv: ['claude'] });
    await step('boxed', 'x.kernel.exec', { pid: 3, ppid: 2, path: '/bin/bash', argv: ['bash', '-c', 'ls'] });
    await step('boxed', 'run.linked', { run: 'session-of-it' });
    expect(await coverageOf('boxed')).toMatchObject({
      covered: true,
      calls: [{ callId: 'c1', verdict: 'governed', compared: 'action', sources: ['hook', 'kernel'] }],
    });
    for (let n = 1; n < limits.coverageLinkedRuns; n++)
      await step('boxed', 'run.linked', { run: `other-${n}` });
    expect(await verdictsOf('boxed')).toEqual(['governed']);
    await step('boxed', 'run.linked', { run: 'one-too-many' });
    expect(await verdictsOf('boxed')).toEqual(['unknown']);
  });

  it('keeps the number of each log record, also where a span has reported the call', async () => {
    const record = (number: number, more: Record<string, unknown>) =>
      log({ 'session.id': 'numbered', 'event.sequence': number, ...more });
    const called = {
      'event.name': 'claude_code.tool_result',
      tool_use_id: 'c1',
      tool_name: 'pay',
      success: 'true',
    };
    await governed('numbered', 'c1');
    await post(plane, 'traces', span('numbered', 'c1'));
    await post(plane, 'logs', logs(record(0, { 'event.name': 'startup_phase' }), record(1, called)));
    await post(plane, 'logs', logs(record(3, { 'event.name': 'user_prompt' })));
    expect(await coverageOf('numbered')).toMatchObject({
      covered: false,
      gaps: [{ source: 'otlp', first: 2, last: 2 }],
      counts: { governed: 1, gap: 0 },
    });
  });
});

describe('a call of a model that telemetry and a transcript report', () => {
  /** As the importer of Claude Code's sessions writes it. */
  const recorded = (runId: string, n: number, eventType = 'model.invoked') =>
    gov.ran(
      runId,
      {
        timestampSource: 'source',
        extra: { messageId: `msg_${n}`, requestId: `req_${n}` },
        observed: 'model.invoked',
      },
      eventType,
      'm',
    );
  const request = (runId: string, n: number, at = n): object =>
    log({ 'event.name': 'claude_code.api_request', 'session.id': runId, request_id: `req_${n}`, at });
  const chat = (runId: string, n: number): object =>
    traces(
      modelSpan(n, {
        'session.id': runId,
        'gen_ai.operation.name': 'chat',
        'gen_ai.response.id': `msg_${n}`,
      }),
    );
  const modelSpan = (n: number, values: Record<string, unknown>) =>
    otlpSpan(n, values, { traceId: traceId(trace++) });
  const [call, observed] = ['model.invoked', 'x.model.observed'];

  it('is one where the transcript comes first, however often telemetry comes', async () => {
    await recorded('told', 1);
    const body = logs(request('told', 1), request('told', 2));
    await post(plane, 'logs', body);
    expect(countsOf(await post(plane, 'logs', body))).toMatchObject({ kept: 0, repeated: 2 });
    await post(plane, 'traces', chat('told', 1));
    await post(plane, 'traces', chat('told', 3));
    expect(await typesOf('told')).toEqual([call, observed, call, observed, call]);
    expect((await eventsOf('told'))[1]?.metadata).toMatchObject({
      observed: 'model.invoked',
      importer: 'otlp',
      otel: { request_id: 'req_1' },
    });
  });

  it('is one where reports come in turn, also where a server gives one id to several answers', async () => {
    await post(plane, 'logs', logs(request('turns', 1)));
    // a recording is compared with the run before it is sent
    await recorded('turns', 1, observed);
    await recorded('turns', 1);
    await post(plane, 'logs', logs(request('turns', 1, 2), request('turns', 1, 3)));
    expect(await typesOf('turns')).toEqual([call, observed, call, observed, call]);
  });

  it('is one where two kinds of records have its id, and two calls where none has', async () => {
    const inference = {
      'event.name': 'gen_ai.client.inference.operation.details',
      'gen_ai.response.id': 'msg_1',
    };
    await post(plane, 'logs', logs(log({ ...inference, 'session.id': 'kinds' })));
    await post(plane, 'traces', chat('kinds', 1));
    expect(await typesOf('kinds')).toEqual([call, observed]);
    await gov.ran('unnamed', { timestampSource: 'source' }, 'model.invoked', 'm');
    await post(
      plane,
      'logs',
      logs(log({ 'event.name': 'claude_code.api_request', 'session.id': 'unnamed' })),
    );
    expect(await typesOf('unnamed')).toEqual([call, call]);
  });

  it('leaves the balance of its source whole', async () => {
    await recorded('balance', 1);
    const record = (at: number) => ({ ...request('balance', 1, at) });
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'balanced' } }] };
    await post(plane, 'logs', {
      resourceLogs: [
        { resource, scopeLogs: [{ logRecords: [record(1), record(2), request('balance', 2)] }] },
      ],
    });
    const { data } = await gov.must('GET', '/sources/days');
    expect(data.find(({ service }: { service: string }) => service === 'balanced')).toMatchObject({
      logs: 3,
      recorded: 2,
      observed: 1,
      balanced: true,
    });
  });
});

describe('coverage of a run', () => {
  it('is not found for a run without events', async () => {
    expect((await plane.call('GET', '/runs/nothing/coverage')).status).toBe(404);
  });

  it('is a layer of proofs, which anyone recomputes from disclosed events', async () => {
    await governed('proved', 'c1');
    await result('proved', 'c1');
    await post(plane, 'traces', span('proved', 'c1'));
    const layers = ['event_integrity', 'x-coverage'];
    const proof = await gov.must('POST', '/proofs', { runId: 'proved', composed: { layers } });
    expect(proof.layers).toMatchObject([{ verified: true }, { name: 'x-coverage', verified: true }]);
    expect((await gov.verify(proof.proofId)).layers[1]).toEqual({
      name: 'x-coverage',
      passed: true,
      basis: 'recomputed',
      says: 'judged by rules 4 of 4',
    });
    const keys = (await plane.call('GET', '/log/key')).text.trim().split('\n');
    const trust = parseTrust([...keys.map((key) => `log ${key}`), 'quorum none', ''].join('\n'));
    const verified = async (events: string) => {
      const bundle = await plane.call('GET', `/proofs/${proof.proofId}/bundle?events=${events}`);
      return verifyBundle(Buffer.from(bundle.text), trust);
    };
    expect((await verified('disclosed')).layers[1]).toMatchObject({ passed: true, basis: 'recomputed' });
    expect((await verified('records')).layers[1]).toMatchObject({ passed: true, basis: 'attested' });
  });

  it('does not make a proof of ungoverned calls less authentic, and says what it found', async () => {
    await post(plane, 'traces', span('alone', 'c1'));
    const found = await gov.layer('alone', 'x-coverage');
    expect(found).toMatchObject({
      verified: false,
      failed: ['nothing_ran_ungoverned'],
      claims: { counts: { ungoverned: 1 }, firstFinding: { verdict: 'ungoverned' } },
    });
    expect(await gov.verify(found.proofId)).toMatchObject({ verified: false, authentic: true });
  });

  it('holds vacuously where no call has a second source, and says so', async () => {
    await governed('single', 'c1');
    const { proofId, verified, claims } = await gov.layer('single', 'x-coverage');
    expect([verified, claims['code']]).toEqual([true, 'NO_SECOND_SOURCE']);
    expect((await gov.verify(proofId)).layers[1]).toMatchObject({ passed: true, code: 'NO_SECOND_SOURCE' });
  });
});
