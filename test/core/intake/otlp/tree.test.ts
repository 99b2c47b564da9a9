/** Spans that report one call, in files and in requests, and how a span ended. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { readBatch, receive } from '../../../../src/core/intake/receive.ts';
import { hasData } from '../../../paths.ts';
import { expectToFit, importFile, importValue, meta, ofType, types } from '../fits.ts';

const attributes = (values: Record<string, string>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
interface Span {
  readonly below?: string;
  readonly status?: object;
  readonly events?: readonly object[];
}
const span = (id: string, values: Record<string, string>, { below, ...members }: Span = {}) => ({
  traceId: 'a'.repeat(32),
  spanId: id.repeat(16),
  ...(below === undefined ? {} : { parentSpanId: below.repeat(16) }),
  name: id,
  startTimeUnixNano: '1767603600000000000',
  endTimeUnixNano: '1767603601000000000',
  attributes: attributes(values),
  ...members,
});
const traces = (...spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

const tool = {
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': 'pay',
  'gen_ai.tool.call.id': 'c1',
};
const mcp = (request: string, more: Record<string, string> = {}) => ({
  'mcp.method.name': 'tools/call',
  'gen_ai.tool.name': 'pay',
  'jsonrpc.request.id': request,
  ...more,
});
const reports = (...spans: object[]) => {
  const [run] = importValue(traces(...spans));
  expectToFit([run!]);
  return run!.events
    .filter(({ eventType }) => /tool/.test(eventType))
    .map((event) => `${event.eventType} ${String(meta(event)['toolCallId'])}`);
};

describe.skipIf(!hasData)('one call in three spans (skipped without cases)', () => {
  it('is one call with its result, and two observations', () => {
    const runs = importFile('../cases/intake/109-otel-mcp-nested/12-mcp.json');
    const calls = ofType(runs, 'tool.call');
    expect(calls.map((event) => meta(event)['toolCallId'])).toEqual(['c1']);
    expect(ofType(runs, 'tool.result').map((event) => meta(event))).toMatchObject([
      { toolCallId: 'c1', content: 'ok', outcome: 'ok' },
    ]);
    expect(ofType(runs, 'x.tool.observed').map((event) => meta(event)['toolCallId'])).toEqual(['c1', 'c1']);
    expectToFit(runs);
  });
});

describe('spans of one call', () => {
  it('are one call in any order of the request', () => {
    const spans = [span('b', tool), span('c', mcp('1'), { below: 'b' }), span('d', mcp('1'), { below: 'c' })];
    for (const given of [spans, spans.toReversed()])
      expect(reports(...given).toSorted()).toEqual([
        'tool.call c1',
        'x.tool.observed c1',
        'x.tool.observed c1',
      ]);
  });

  it('may have spans of no tool between them', () => {
    const http = span('e', { 'http.request.method': 'POST' }, { below: 'b' });
    expect(reports(span('b', tool), http, span('c', mcp('1'), { below: 'e' }))).toEqual([
      'tool.call c1',
      'x.tool.observed c1',
    ]);
  });

  it('have the id of the client where the agent has no span', () => {
    expect(reports(span('c', mcp('1')), span('d', mcp('1'), { below: 'c' }))).toEqual([
      `tool.call import:${'c'.repeat(16)}`,
      `x.tool.observed import:${'c'.repeat(16)}`,
    ]);
  });

  it('have one result, that of the outermost span with one', () => {
    const result = { 'gen_ai.tool.call.result': 'paid' };
    expect(
      reports(span('b', { ...tool, ...result }), span('c', mcp('1', result), { below: 'b' })).filter((each) =>
        each.startsWith('tool.result'),
      ),
    ).toEqual(['tool.result c1']);
  });

  it.each([
    ['another request to the server', mcp('2')],
    ['another tool', mcp('1', { 'gen_ai.tool.name': 'refund' })],
    ['a call id of its own', mcp('1', { 'gen_ai.tool.call.id': 'c2' })],
  ])('are not one call: %s', (_, values) => {
    const found = reports(
      span('b', tool),
      span('c', mcp('1'), { below: 'b' }),
      span('d', values, { below: 'b' }),
    );
    expect(found.filter((each) => each.startsWith('tool.call'))).toHaveLength(2);
  });

  const pay = (amount: unknown) => ({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'pay',
    ...(amount === undefined
      ? {}
      : { 'gen_ai.tool.call.arguments': typeof amount === 'string' ? amount : JSON.stringify({ amount }) }),
  });
  /** Spans of one tool, each below the one before. */
  const chain = (...amounts: unknown[]) =>
    amounts.map((amount, at) => {
      const [id, below] = [(at + 1).toString(16), at.toString(16)];
      return span(id, pay(amount), at === 0 ? {} : { below });
    });
  const callsOf = (spans: object[]) => reports(...spans).filter((each) => each.startsWith('tool.call'));

  it.each([
    ['a tool that calls itself with other arguments', chain(5, 6), 2],
    ['equal arguments', chain(5, 5), 1],
    ['arguments of one span alone', chain(5, undefined), 1],
    ['other arguments beyond a span without any', chain(5, undefined, 6), 2],
    ['arguments in the object of a framework', chain('{"kwargs":{"amount":5}}', 5), 1],
    [
      'arguments as JSON in the object of a framework',
      chain(JSON.stringify({ input: '{"amount":5}' }), 5),
      1,
    ],
    ['other arguments in the object of a framework', chain('{"kwargs":{"amount":5}}', 6), 2],
    ['other texts', chain('five', 'six'), 2],
    ['a text, which may mean the same', chain("{'amount': 5}", 5), 1],
  ])('with %s', (_, spans, count) => {
    for (const given of [spans, spans.toReversed()]) expect(callsOf(given)).toHaveLength(count);
  });

  it('are at most as many levels as the limit says', () => {
    const levels = limits.otlpCallLevels;
    const of = (count: number) => chain(...Array.from({ length: count }, () => 5));
    for (const given of [of(levels), of(levels).toReversed()]) expect(callsOf(given)).toHaveLength(1);
    for (const given of [of(levels + 1), of(levels + 1).toReversed()]) expect(callsOf(given)).toHaveLength(2);
  });

  it('are not one call where an agent stands between them', () => {
    const agent = span('e', { 'gen_ai.operation.name': 'invoke_agent' }, { below: 'b' });
    const found = reports(span('b', tool), agent, span('c', mcp('1'), { below: 'e' }));
    expect(found.filter((each) => each.startsWith('tool.call'))).toHaveLength(2);
  });

  it('survive spans that are each other’s parents', () => {
    expect(reports(span('b', mcp('1'), { below: 'c' }), span('c', mcp('1'), { below: 'b' }))).toHaveLength(2);
  });

  it('claim one call of a received request, with arguments by their hash', () => {
    const inner = span('c', mcp('1', { 'gen_ai.tool.call.arguments': '{"amount":5}' }), { below: 'b' });
    const batch = readBatch('traces', traces(span('b', tool), inner), { atMs: 1767603700000 });
    for (const capture of ['full', 'hashes'] as const) {
      const { events } = receive(batch, { atMs: 1767603700000, capture, known: new Map() });
      expect(events.map(({ event, call }) => [event.eventType, call !== null])).toEqual([
        ['tool.call', true],
        ['x.tool.observed', false],
      ]);
      expect(meta(events[1]!.event)['arguments']).toMatchObject({ bytes: 12 });
    }
  });
});

describe('the outcome of a span', () => {
  const exception = (more: Record<string, string> = {}) => ({
    timeUnixNano: '1767603600500000000',
    name: 'exception',
    attributes: attributes({ 'exception.type': 'ValueError', 'exception.message': 'no', ...more }),
  });
  const result = { 'gen_ai.tool.call.result': 'x' };

  it.each([
    ['an exception and no status is not known', { events: [exception()] }, 'unknown'],
    [
      'an exception that left the span is an error',
      { events: [exception({ 'exception.escaped': 'true' })] },
      'error',
    ],
    ['an exception and the status ok is ok', { events: [exception()], status: { code: 1 } }, 'ok'],
    [
      'an exception and the status error is an error',
      { events: [exception()], status: { code: 2 } },
      'error',
    ],
    ['no status and no exception is ok', {}, 'ok'],
  ])('with %s', (_, members, outcome) => {
    const [run] = importValue(traces(span('b', { ...tool, ...result }, members)));
    expect(meta(ofType([run!], 'tool.result')[0])['outcome']).toBe(outcome);
    expectToFit([run!]);
  });

  it('keeps the type of an exception, and the events of the span as content', () => {
    const batch = readBatch('traces', traces(span('b', tool, { events: [exception()] })), {
      atMs: 1767603700000,
    });
    const of = (capture: 'full' | 'none') =>
      meta(receive(batch, { atMs: 1767603700000, capture, known: new Map() }).events[0]!.event);
    expect(of('full')).toMatchObject({ exceptions: ['ValueError'], spanEvents: [{ name: 'exception' }] });
    expect(of('none')['exceptions']).toEqual(['ValueError']);
    expect(of('none')['spanEvents']).toBeUndefined();
  });
});

describe('a record with attributes of a model', () => {
  it('keeps the messages and the usage of an agent', () => {
    const values = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.usage.input_tokens': '5',
      'gen_ai.output.messages': '[]',
    };
    const [run] = importValue(traces(span('b', values)));
    expect(meta(run?.events[0])['otel']).toEqual(values);
  });

  it.each([
    ['an operation that gov does not know', { 'gen_ai.operation.name': 'rerank' }, 'agent.step'],
    ['no operation', { 'gen_ai.evaluation.name': 'Relevance' }, 'agent.step'],
    ['a raw request', { 'llm.openai.messages': '[]' }, 'agent.step'],
    ['a method of MCP', { 'mcp.method.name': 'tools/list' }, 'agent.step'],
    ['a prompt of MCP', { 'mcp.method.name': 'prompts/get' }, 'kb.query'],
    [
      'a resource of MCP',
      { 'mcp.method.name': 'resources/read', 'mcp.resource.uri': 'file:///x' },
      'kb.query',
    ],
    [
      'messages and a model',
      { 'gen_ai.request.model': 'm', 'gen_ai.prompt.0.content': 'hi' },
      'model.invoked',
    ],
  ])('is recorded: a span with %s', (_, values, type) => {
    const [run] = importValue(traces(span('b', values)));
    expect(types(run)).toEqual([type]);
    expect(JSON.stringify(run)).toContain(Object.values(values).at(-1)?.slice(0, 2));
    expect(run?.changes.get('bookkeeping')).toBeUndefined();
  });

  it.each([
    ['gen_ai.evaluation.result', 'agent.step'],
    ['gen_ai.tool.message', 'agent.step'],
    ['gen_ai.execute_tool.exception', 'run.error'],
  ])('is recorded: a log record %s', (eventName, type) => {
    const logRecords = [{ eventName, attributes: attributes({ 'gen_ai.conversation.id': 's' }) }];
    const [run] = importValue({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
    expect(types(run)).toEqual([type]);
  });

  it('is counted where it says nothing about an agent, also without any run', () => {
    const skipped: number[] = [];
    const metrics = { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm' }, { name: 'n' }] }] }] };
    for (const document of [traces(span('b', { 'http.route': '/' })), metrics])
      expect(importValue(document, { skipped: (records) => skipped.push(records) })).toEqual([]);
    expect(skipped).toEqual([1, 2]);
  });
});
