/** What clients send again with each request, and what several records report, is recorded once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/core/json/digest.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { countsOf, log, logs, post, span, spanId, traceId, traces } from './requests.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const typesOf = async (run: string): Promise<Record<string, number>> => {
  const { body } = await plane.call('GET', `/events?runId=${run}&limit=500`);
  const counts: Record<string, number> = {};
  for (const { eventType } of body.events as { eventType: string }[])
    counts[eventType] = (counts[eventType] ?? 0) + 1;
  return counts;
};

/** A message as the instrumentation of the SDK of OpenAI writes it, in the span of the request. */
const message = (role: string, content: string, within: { trace: number; span: number }, at: number) =>
  log(
    { 'event.name': role === 'choice' ? 'gen_ai.choice' : `gen_ai.${role}.message` },
    {
      traceId: traceId(within.trace),
      spanId: spanId(within.span),
      timeUnixNano: String(1_767_603_600_000_000_000n + BigInt(at)),
      body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: content } }] } },
    },
  );

/** A conversation of 11 messages: each request has all of them so far. */
const words = ['be kind', 'go', 'done 1', 'yes', 'done 2', 'yes', 'done 3', 'yes', 'done 4', 'no', 'done 5'];
const roleOf = (at: number): string => (at === 0 ? 'system' : at % 2 === 1 ? 'user' : 'assistant');

function conversation(trace: number): object[][] {
  const requests: object[][] = [];
  for (let asked = 2; asked < words.length; asked += 2) {
    const within = { trace, span: asked };
    const sent = words
      .slice(0, asked)
      .map((text, at) => message(roleOf(at), text, within, asked * 1000 + at));
    requests.push([...sent, message('choice', `done ${asked / 2}`, within, asked * 1000 + 99)]);
  }
  return requests;
}

describe('the history of a conversation', () => {
  it('is recorded once, also where requests repeat, are cut, or come in other batches', async () => {
    const expected = { 'agent.step': 5, 'prompt.submitted': 5, 'model.invoked': 5 };
    const requests = conversation(300);
    for (const records of requests) expect((await post(plane, 'logs', logs(...records))).status).toBe(200);
    expect(await typesOf(`trace:${traceId(300)}`)).toEqual(expected);
    const again = countsOf(await post(plane, 'logs', logs(...(requests.at(-1) ?? []))));
    expect([again['kept'], again['repeated']]).toEqual([0, requests.at(-1)?.length]);
    expect(await typesOf(`trace:${traceId(300)}`)).toEqual(expected);

    await post(plane, 'logs', logs(...conversation(301).flat()));
    expect(await typesOf(`trace:${traceId(301)}`)).toEqual(expected);
    for (const record of conversation(302).flat()) await post(plane, 'logs', logs(record));
    expect(await typesOf(`trace:${traceId(302)}`)).toEqual(expected);
  });

  it('has an equal result of each call, also where no request repeats the one before', async () => {
    const trace = 320;
    const place = (at: number, body?: object) => ({
      traceId: traceId(trace),
      spanId: spanId(at),
      timeUnixNano: String(1_767_603_600_000_000_000n + BigInt(at)),
      ...(body === undefined ? {} : { body }),
    });
    const name = { 'event.name': 'gen_ai.tool.message' };
    const result = (id: string, at: number) => {
      const members = Object.entries({ id, content: 'ok' });
      const values = members.map(([key, value]) => ({ key, value: { stringValue: value } }));
      return log(name, place(at, { kvlistValue: { values } }));
    };
    for (const record of [result('c1', 1), result('c2', 2)]) await post(plane, 'logs', logs(record));
    // the whole history, with one new result
    await post(plane, 'logs', logs(result('c1', 3), result('c2', 3), result('c3', 3)));
    // programs that send no content name the call in an attribute
    for (const [at, id] of ['c4', 'c5'].entries())
      await post(plane, 'logs', logs(log({ ...name, 'gen_ai.tool.call.id': id }, place(10 + at))));
    const { body } = await plane.call('GET', `/events?runId=trace:${traceId(trace)}`);
    const results = (body.events as { eventType: string; metadata: { toolCallId: string } }[]).filter(
      ({ eventType }) => eventType === 'tool.result',
    );
    expect(results.map(({ metadata }) => metadata.toolCallId).toSorted()).toEqual([
      'c1',
      'c2',
      'c3',
      'c4',
      'c5',
    ]);
  });

  it('is another one in another run', async () => {
    await post(plane, 'logs', logs(...conversation(303).flat(), ...conversation(304).flat()));
    for (const trace of [303, 304])
      expect((await typesOf(`trace:${traceId(trace)}`))['prompt.submitted']).toBe(5);
  });
});

describe('a call of a model', () => {
  it('is one where its span and its log record name each other, whichever comes first', async () => {
    const chat = (trace: number) =>
      traces(
        span(
          2,
          { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
          { traceId: traceId(trace) },
        ),
      );
    const choice = (trace: number) => logs(message('choice', 'x', { trace, span: 2 }, 1));
    for (const trace of [310, 311]) {
      const bodies = [
        ['traces', chat(trace)],
        ['logs', choice(trace)],
      ] as const;
      for (const [signal, body] of trace === 310 ? bodies : bodies.toReversed())
        await post(plane, signal, body);
      expect(await typesOf(`trace:${traceId(trace)}`)).toEqual({ 'model.invoked': 1, 'x.model.observed': 1 });
    }
    // two choices of one answer
    const two = [0, 1].map((at) => message('choice', `choice ${at}`, { trace: 312, span: 2 }, at));
    await post(plane, 'logs', logs(...two));
    expect(await typesOf(`trace:${traceId(312)}`)).toEqual({ 'model.invoked': 1, 'x.model.observed': 1 });
  });

  it('of Gemini CLI is one in a span and three log records, in any order', async () => {
    const [calls, scope] = [5, { name: 'gemini-cli' }];
    const program = [{ key: 'service.name', value: { stringValue: 'gemini-cli' } }];
    const of = (run: string) => {
      const numbers = Array.from({ length: calls }, (_, n) => n);
      const records = numbers.flatMap((n) => {
        const record = (name: string, more: object = {}) =>
          log(
            { 'event.name': name, 'session.id': run, model: 'gemini-2.5-flash', n, ...more },
            { spanId: spanId(n) },
          );
        const details = 'gen_ai.client.inference.operation.details';
        const answer = { 'gen_ai.output.messages': '[]' };
        return [record('gemini_cli.api_request'), record(details), record(details, answer)];
      });
      const values = { 'gen_ai.operation.name': 'llm_call', 'gen_ai.conversation.id': run };
      const spans = numbers.map((n) => span(n + 1, values, { traceId: traceId(run.length * 10 + n) }));
      const resource = { attributes: program };
      return {
        logs: { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: records }] }] },
        traces: { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] },
      };
    };
    for (const [run, order] of [
      ['gemini-1', ['logs', 'traces']],
      ['gemini-22', ['traces', 'logs']],
      ['gemini-333', ['traces', 'logs', 'traces', 'logs']],
    ] as const) {
      const bodies = of(run);
      for (const signal of order) await post(plane, signal, bodies[signal]);
      expect(await typesOf(run), run).toEqual({ 'model.invoked': 5, 'x.model.observed': 15 });
    }
  });
});

describe('a prompt', () => {
  const hooked = async (run: string, text: string): Promise<void> => {
    const metadata = { recordedBy: 'hook', content: digestOf(text) };
    const body = event({ runId: run, eventType: 'prompt.submitted', metadata });
    expect((await plane.call('POST', '/events', { body })).status).toBe(201);
  };
  const told = (run: string, n: number, prompt?: string) =>
    log({
      'event.name': 'user_prompt',
      'session.id': run,
      'event.sequence': n,
      ...(prompt === undefined ? {} : { prompt }),
    });

  it('that a hook and telemetry record is one prompt, with its text and without', async () => {
    for (const [run, isTold] of [
      ['told', true],
      ['untold', false],
    ] as const) {
      for (const text of ['yes', 'no', 'yes']) await hooked(run, text);
      const prompts = ['yes', 'no', 'yes', 'yes'].map((text, n) =>
        told(run, n, isTold ? text : '<REDACTED>'),
      );
      for (const sent of [prompts.slice(0, 2), prompts])
        expect((await post(plane, 'logs', logs(...sent))).body).toEqual({});
      // the hook lacks the fourth
      expect(await typesOf(run), run).toEqual({ 'prompt.submitted': 4, 'x.prompt.observed': 3 });
    }
  });

  it('that only telemetry records is a prompt each time', async () => {
    await post(plane, 'logs', logs(told('alone', 0, 'yes'), told('alone', 1, 'yes')));
    expect(await typesOf('alone')).toEqual({ 'prompt.submitted': 2 });
    const [first] = (await plane.call('GET', '/events?runId=untold')).body.events;
    expect(JSON.stringify(first)).not.toContain('REDACTED');
  });
});
