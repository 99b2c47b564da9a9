/** A span of a model below a span of a model: one call where both have one answer, else two. */
import { describe, expect, it } from 'vitest';
import { readBatch, receive } from '../../../../src/core/intake/receive.ts';
import { joinCalls, type KnownSpan } from '../../../../src/core/intake/otlp/joins.ts';
import { importValue, meta } from '../fits.ts';

const attributes = (values: Record<string, string>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
const trace = 'a'.repeat(32);
const span = (id: string, below: string | null, values: Record<string, string>) => ({
  traceId: trace,
  spanId: id.repeat(16),
  ...(below === null ? {} : { parentSpanId: below.repeat(16) }),
  name: id,
  startTimeUnixNano: '1767603600000000000',
  endTimeUnixNano: '1767603601000000000',
  attributes: attributes(values),
});
const traces = (spans: readonly object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
type Span = ReturnType<typeof span>;

const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm-1' };
const text = (content: string) => ({
  ...chat,
  'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content }] }]),
});
/** As OpenInference writes what LangChain answers, and OpenLLMetry what OpenAI answers. */
const langchain = (content: string) => ({
  'openinference.span.kind': 'LLM',
  'output.value': JSON.stringify({ generations: [[{ text: content, message: { kwargs: { content } } }]] }),
});
const openai = (content: string) => ({
  'llm.request.type': 'chat',
  'gen_ai.completion.0.role': 'assistant',
  'gen_ai.completion.0.content': content,
});
const asked = (id: string) => ({
  ...chat,
  'gen_ai.output.messages': JSON.stringify([
    { role: 'assistant', parts: [{ type: 'tool_call', id, name: 'pay', arguments: {} }] },
  ]),
});

const inFile = (spans: readonly Span[]): number =>
  importValue(traces(spans))[0]!.events.filter(({ eventType }) => eventType === 'model.invoked').length;

/** Receives each list of spans as a request. Returns the events `model.invoked` that no later event reads otherwise. */
function received(requests: readonly (readonly Span[])[]): number {
  const atMs = 1767603700000;
  let known: readonly KnownSpan[] = [];
  let invoked = 0;
  const runs = new Map<string, string>();
  for (const spans of requests) {
    const batch = readBatch('traces', traces(spans), { atMs });
    const earlier = new Map([[trace, known]]);
    const {
      events,
      calls,
      traces: named,
    } = receive(batch, { atMs, capture: 'hashes', known: runs, earlier });
    for (const [id, run] of named) runs.set(id, run);
    const byId = new Map(events.map(({ event }) => [event.clientEventId ?? '', event]));
    for (const each of calls) {
      const joined = joinCalls(each, { events: byId, elsewhere: new Set(), atMs });
      // as facts keep them
      known = JSON.parse(JSON.stringify(joined.known)) as KnownSpan[];
      invoked += [...byId.values()].filter(
        ({ eventType, clientEventId = '' }) =>
          eventType === 'model.invoked' && !joined.observations.has(clientEventId),
      ).length;
      invoked -= joined.completions.filter(
        ({ metadata }) => meta({ metadata })['added'].readAs === 'x.model.observed',
      ).length;
    }
  }
  return invoked;
}

const ordersOf = <Item>(items: readonly Item[]): Item[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item, at) => ordersOf(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));

describe('spans of models below each other', () => {
  const id = (value: string) => ({ 'gen_ai.response.id': value });
  it.each<[string, Span[], number]>([
    ['of one answer', [span('b', null, text('Paid.')), span('c', 'b', text('Paid.'))], 1],
    [
      'of one answer in two conventions',
      [span('b', null, langchain('Paid.')), span('c', 'b', openai('Paid.'))],
      1,
    ],
    [
      'of one response',
      [span('b', null, { ...chat, ...id('r1') }), span('c', 'b', { ...chat, ...id('r1') })],
      1,
    ],
    ['that ask for one call', [span('b', null, asked('c1')), span('c', 'b', asked('c1'))], 1],
    ['of two answers', [span('b', null, text('Paid.')), span('c', 'b', text('Refused.'))], 2],
    [
      'of two responses with one text',
      [span('b', null, { ...text('Ok.'), ...id('r1') }), span('c', 'b', { ...text('Ok.'), ...id('r2') })],
      2,
    ],
    ['that ask for two calls', [span('b', null, asked('c1')), span('c', 'b', asked('c2'))], 2],
    ['without an answer', [span('b', null, chat), span('c', 'b', chat)], 2],
    [
      'of which the outer one has the last of two answers',
      [span('b', null, text('Paid.')), span('c', 'b', text('Wait.')), span('d', 'b', text('Paid.'))],
      2,
    ],
    [
      'of which two inner ones have one answer',
      [span('b', null, text('Ok.')), span('c', 'b', text('Ok.')), span('d', 'b', text('Ok.'))],
      2,
    ],
    [
      'with an agent between them',
      [
        span('b', null, text('Ok.')),
        span('e', 'b', { 'gen_ai.operation.name': 'invoke_agent' }),
        span('c', 'e', text('Ok.')),
      ],
      2,
    ],
  ])('%s', (_, spans, count) => {
    for (const order of ordersOf(spans)) {
      const hint = order.map(({ name }) => name).join(' ');
      expect(inFile(order), hint).toBe(count);
      expect(received([order]), hint).toBe(count);
      expect(received(order.map((each) => [each])), hint).toBe(count);
    }
  });

  const levels = [span('b', null, text('Ok.')), span('c', 'b', text('Ok.')), span('d', 'c', text('Ok.'))];
  const hop = span('f', 'b', { 'http.request.method': 'POST' });

  it.each<[string, Span[]]>([
    ['in three levels', levels],
    ['in four levels', [...levels, span('e', 'd', text('Ok.'))]],
  ])('are one call %s, in one request and in every order of requests', (_, spans) => {
    for (const order of ordersOf(spans)) {
      const hint = order.map(({ name }) => name).join(' ');
      expect(received([order]), hint).toBe(1);
      expect(received(order.map((each) => [each])), hint).toBe(1);
      expect(received([...order, ...order].map((each) => [each])), `${hint}, twice`).toBe(1);
    }
  });

  it('are one call around a span that says nothing, unless that comes before the inner one', () => {
    const [outer, inner] = [span('b', null, text('Ok.')), span('c', 'f', text('Ok.'))];
    for (const order of ordersOf([outer, hop, inner])) {
      const hint = order.map(({ name }) => name).join(' ');
      expect(received([order]), hint).toBe(1);
      // each call of a model has such a span below it, so it is not kept for later requests
      expect(received(order.map((each) => [each])), hint).toBe(
        order.indexOf(hop) < order.indexOf(inner) ? 2 : 1,
      );
    }
  });
});
