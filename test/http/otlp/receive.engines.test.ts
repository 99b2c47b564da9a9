import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { Sender } from './sender.ts';
import { countsOf, log, logs, post, span, spanId, tool, traceId, traces } from './requests.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({
    extraKeys: { reader: { scopes: ['events:read'] }, other: { scopes: ['*'], project: 'other' } },
  });
});
afterAll(() => plane.end());

interface Event {
  readonly runId: string;
  readonly eventType: string;
  readonly metadata: Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- read member by member
}

const eventsOf = async (runId: string, key = plane.key): Promise<Event[]> =>
  (await plane.call('GET', `/events?runId=${runId}`, { key })).body.events;
const typesOf = async (runId: string): Promise<string[]> =>
  (await eventsOf(runId)).map(({ eventType }) => eventType);

describe('the receiver', () => {
  it('takes spans of the OpenTelemetry SDK in JSON and protobuf, also compressed, in one run', async () => {
    for (const [name, encoding, compression] of [
      ['json', 'json', 'none'],
      ['protobuf', 'protobuf', 'gzip'],
    ] as const) {
      const sender = new Sender({ origin: plane.origin, key: plane.key, encoding, compression });
      sender.conversation(`sdk-${name}`, 3);
      expect(await sender.end(), name).toEqual([]);
      const types = await typesOf(`sdk-${name}`);
      expect(
        types.filter((type) => type === 'tool.call'),
        name,
      ).toHaveLength(3);
      expect(
        types.filter((type) => type === 'agent.invoked'),
        name,
      ).toHaveLength(1);
    }
  });

  it('takes log records of the SDK', async () => {
    const sender = new Sender({
      origin: plane.origin,
      key: plane.key,
      encoding: 'json',
      compression: 'gzip',
    });
    for (let n = 0; n < 5; n++)
      sender.log({
        'event.name': 'user_prompt',
        'session.id': 'sdk-logs',
        'event.sequence': n,
        prompt: 'hi',
      });
    expect(await sender.end()).toEqual([]);
    expect(await typesOf('sdk-logs')).toEqual(Array(5).fill('prompt.submitted'));
  });

  it('takes a key whose header an exporter took from a variable without decoding it', async () => {
    // OTEL_EXPORTER_OTLP_HEADERS is percent-encoded; Claude Code 2.1 sends it as it is
    const headers = { authorization: `Bearer%20${plane.key}` };
    const answer = await post(plane, 'traces', traces(tool(1, {}, { traceId: traceId(95) })), {
      key: null,
      headers,
    });
    expect([answer.status, countsOf(answer)['kept']]).toEqual([200, 1]);
  });

  it('counts no record twice that an exporter repeats', async () => {
    const answers: number[] = [];
    for (let time = 0; time < 2; time++) {
      const answer = await post(
        plane,
        'logs',
        logs(log({ 'event.name': 'user_prompt', 'session.id': 'repeat', prompt: 'hi' })),
      );
      answers.push(countsOf(answer)['kept']!, countsOf(answer)['repeated']!);
    }
    expect(answers).toEqual([1, 0, 0, 1]);
    expect(await typesOf('repeat')).toEqual(['prompt.submitted']);
  });

  it('answers below both base paths and at the root, with the project of the key alone', async () => {
    const named = (run: string) => traces(tool(1, { 'session.id': run }, { traceId: traceId(90) }));
    expect((await post(plane, 'traces', named('below'), { path: '/api/v1/otlp/v1/traces' })).status).toBe(
      200,
    );
    expect(
      (await post(plane, 'traces', named('below'), { path: '/sandbox/api/v1/otlp/v1/traces' })).status,
    ).toBe(401);
    expect((await post(plane, 'traces', named('below'), { key: plane.keys['other']! })).status).toBe(200);
    expect(await eventsOf('below')).toHaveLength(1);
    expect(await eventsOf('below', plane.keys['other']!)).toHaveLength(1);
  });

  it('keeps a trace in the run that was named first, and says where earlier records are', async () => {
    const trace = traceId(2);
    const at = (n: number, values: object = {}) =>
      tool(n, { ...values }, { traceId: trace, parentSpanId: spanId(9) });
    await post(plane, 'traces', traces(at(1)));
    await post(plane, 'traces', traces(at(2, { 'gen_ai.conversation.id': 'conv-2' })));
    await post(plane, 'traces', traces(at(3)));
    await post(plane, 'logs', logs(log({ 'event.name': 'gen_ai.user.message' }, { traceId: trace })));
    // a later name does not move the trace, and a repeat of the first span does not either
    await post(plane, 'traces', traces(at(4, { 'gen_ai.conversation.id': 'conv-3' }), at(1), at(5)));
    expect(await typesOf(`trace:${trace}`)).toEqual(['tool.call']);
    expect(await typesOf('conv-3')).toEqual(['tool.call']);
    const events = await eventsOf('conv-2');
    expect(events.map(({ eventType }) => eventType)).toEqual([
      'run.linked',
      'tool.call',
      'tool.call',
      'prompt.submitted',
      'tool.call',
    ]);
    expect(events[0]?.metadata).toMatchObject({ traceId: trace, run: `trace:${trace}` });
  });

  it('joins children to a parent that ends in a later request', async () => {
    const trace = traceId(3);
    const agent = { 'gen_ai.operation.name': 'invoke_agent', 'session.id': 'joined' };
    await post(
      plane,
      'traces',
      traces(tool(1, { 'session.id': 'joined' }, { traceId: trace, parentSpanId: spanId(2) })),
    );
    await post(plane, 'traces', traces(span(2, agent, { traceId: trace })));
    const [child, parent] = (await eventsOf('joined')) as (Event & { clientEventId: string })[];
    expect(child?.metadata['parentEventId']).toBe(parent?.clientEventId);
  });

  it('records a call once that a span and a log report, whichever comes first', async () => {
    const result = { 'event.name': 'claude_code.tool_result', tool_name: 'pay' };
    for (const first of ['logs', 'traces']) {
      const run = `call-${first}`;
      const bodies = {
        logs: logs(log({ ...result, 'session.id': run, tool_use_id: 'c1' })),
        traces: traces(
          tool(7, { 'session.id': run, 'gen_ai.tool.call.id': 'c1' }, { traceId: traceId(first.length) }),
        ),
      };
      for (const signal of [first, first === 'logs' ? 'traces' : 'logs'] as const)
        expect((await post(plane, signal, bodies[signal as 'logs'])).status).toBe(200);
      const calls = (await typesOf(run)).filter((type) => type === 'tool.call');
      expect(calls, first).toHaveLength(1);
    }
    // two spans with one call id are two calls: models number them anew
    const twice = (n: number) =>
      tool(n, { 'session.id': 'twice', 'gen_ai.tool.call.id': 'c1' }, { traceId: traceId(8) });
    await post(plane, 'traces', traces(twice(1), twice(2)));
    expect(await typesOf('twice')).toEqual(['tool.call', 'tool.call']);
  });

  it('records two requests at once without losing what one of them learned', async () => {
    const body = (n: number) =>
      traces(tool(n, n === 0 ? { 'session.id': 'at-once' } : {}, { traceId: traceId(11) }));
    await post(plane, 'traces', body(0));
    await Promise.all(Array.from({ length: 20 }, (_, n) => post(plane, 'traces', body(n % 10))));
    expect(await eventsOf('at-once')).toHaveLength(10);
  });

  it('keeps hashes of content, and no text of it', async () => {
    const secret = 'a secret of a person';
    const values = {
      'session.id': 'hashed',
      'gen_ai.tool.call.arguments': JSON.stringify({ note: secret }),
      'gen_ai.tool.call.result': secret,
      'user.email': 'zoe@example.com',
      'some.note': secret.repeat(20),
    };
    const status = { code: 2, message: secret };
    await post(plane, 'traces', traces(tool(1, values, { traceId: traceId(12), status })));
    await post(plane, 'logs', logs(log({ 'session.id': 'hashed' }, { body: { stringValue: secret } })));
    const events = await eventsOf('hashed');
    expect(JSON.stringify(events)).not.toMatch(/secret|zoe@/);
    // {"note":"a secret of a person"}
    expect(events[0]?.metadata['arguments']).toEqual({
      hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      bytes: 31,
    });
    expect(events).toHaveLength(3);
  });

  it('needs a key with the scope, and says so in the form of the protocol', async () => {
    const none = await post(plane, 'traces', traces(), { key: null });
    expect([none.status, none.body]).toEqual([
      401,
      { code: 16, message: expect.stringContaining('expected an API key') },
    ]);
    expect(none.headers['www-authenticate']).toBe('Bearer realm="gov"');
    const weak = await post(plane, 'traces', traces(), { key: plane.keys['reader']! });
    expect([weak.status, weak.body.code]).toEqual([403, 7]);
    const get = await plane.call('GET', `${plane.origin}/v1/traces`);
    expect([get.status, get.headers['allow']]).toEqual([405, 'POST']);
  });

  it('counts metrics and records none', async () => {
    const metrics = { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'a' }, { name: 'b' }] }] }] };
    const answer = await post(plane, 'metrics', metrics);
    expect([answer.status, answer.body, countsOf(answer)]).toEqual([
      200,
      {},
      { kept: 0, repeated: 0, filtered: 2, rejected: 0 },
    ]);
  });
});
