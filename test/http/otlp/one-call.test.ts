/** One call in several spans, in any order of requests, alone and with the record of a hook. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { post, span, spanId, tool, traceId, traces } from './requests.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

interface Event {
  readonly eventType: string;
  readonly clientEventId: string;
  readonly metadata: Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- read member by member
}
const eventsOf = async (runId: string): Promise<Event[]> =>
  (await plane.call('GET', `/events?runId=${runId}`)).body.events;
const coverageOf = async (runId: string) => (await plane.call('GET', `/runs/${runId}/coverage`)).body;

type MadeSpan = (trace: string) => object;
const agent: MadeSpan = (trace) => span(1, { 'gen_ai.operation.name': 'invoke_agent' }, { traceId: trace });
const outer: MadeSpan = (trace) =>
  tool(
    2,
    { 'gen_ai.tool.call.id': 'c1', 'gen_ai.tool.call.arguments': '{"amount":5}' },
    { traceId: trace, parentSpanId: spanId(1), name: 'execute_tool pay' },
  );
const mcp =
  (n: number, below: number, more: Record<string, unknown> = {}, members: object = {}): MadeSpan =>
  (trace) =>
    span(
      n,
      {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'pay',
        'mcp.session.id': 'm1',
        'jsonrpc.request.id': '7',
        ...more,
      },
      { traceId: trace, parentSpanId: spanId(below), name: 'tools/call pay', ...members },
    );
const client = mcp(3, 2, { 'gen_ai.tool.call.result': '"ok"' });
const server = mcp(4, 3);

const ordersOf = <Item>(items: readonly Item[]): Item[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item, at) => ordersOf(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));

let used = 1000;
/** Sends spans of a new trace, each inner list as a request; returns the run. */
async function send(requests: readonly (readonly MadeSpan[])[], run?: string): Promise<string> {
  const trace = traceId((used += 1));
  for (const made of requests) {
    const spans = made.map((each) => {
      const values = each(trace) as { attributes: object[] };
      const named = { key: 'session.id', value: { stringValue: run } };
      return run === undefined ? values : { ...values, attributes: [...values.attributes, named] };
    });
    expect((await post(plane, 'traces', traces(...spans))).status).toBe(200);
  }
  return run ?? `trace:${trace}`;
}

async function expectOneCall(run: string, sources: readonly string[], hint: string): Promise<void> {
  const events = await eventsOf(run);
  const { calls } = await coverageOf(run);
  expect(calls, hint).toMatchObject([{ callId: 'c1', tool: 'pay', ending: 'ok', sources }]);
  const plain = events.filter(({ eventType }) => eventType === 'tool.call' || eventType === 'tool.result');
  const copies = events.filter(
    ({ eventType, metadata }) =>
      eventType === 'event.completed' && metadata['added'].readAs === 'x.tool.observed',
  );
  expect(plain.length - copies.length, hint).toBe(2);
}

describe('spans of one call in several requests', () => {
  it('are one call in every order, one a request and two a request', async () => {
    for (const order of ordersOf([agent, outer, client, server])) {
      const hint = order.map((each) => [agent, outer, client, server].indexOf(each) + 1).join(' ');
      for (const requests of [order.map((each) => [each]), [order.slice(0, 2), order.slice(2)]]) {
        const run = await send(requests);
        await expectOneCall(run, ['otlp'], hint);
      }
    }
  });

  it('are one call also where an exporter sends all of them again', async () => {
    const run = `again-${(used += 1)}`;
    const requests = [[server], [client], [outer], [server, client, outer]];
    const trace = traceId(used);
    for (const made of [...requests, ...requests])
      await post(
        plane,
        'traces',
        traces(...made.map((each) => each(trace)), span(9, { 'session.id': run }, { traceId: trace })),
      );
    await expectOneCall(run, ['otlp'], 'again');
  });

  it('are one call with the record of a hook, in every order', async () => {
    for (const order of ordersOf([outer, client, server])) {
      const run = `hooked-${(used += 1)}`;
      const of = { runId: run, eventType: 'tool.call', resource: { name: 'pay', type: 'tool' } };
      const metadata = { toolCallId: 'c1', recordedBy: 'hook' };
      expect((await plane.call('POST', '/events', { body: event({ ...of, metadata }) })).status).toBe(201);
      await send(
        order.map((each) => [each]),
        run,
      );
      await expectOneCall(run, ['hook', 'otlp'], run);
    }
  });

  it('are one call where a span of no tool stands between them and comes in a request of its own', async () => {
    const http: MadeSpan = (trace) =>
      span(5, { 'http.request.method': 'POST' }, { traceId: trace, parentSpanId: spanId(3) });
    const below = mcp(4, 5, { 'jsonrpc.request.id': '8' });
    const same = mcp(4, 5);
    for (const order of ordersOf([outer, client, http, same])) {
      if (order[0] === http) continue; // nothing says yet that the trace is an agent's
      await expectOneCall(await send(order.map((each) => [each])), ['otlp'], 'http');
    }
    const run = await send([[below], [http], [client], [outer]]);
    const { calls } = await coverageOf(run);
    expect(calls).toHaveLength(2); // another request of JSON-RPC is another call
  });

  it('are one call of client and server where the spans between them never come', async () => {
    const sides = (request: string) => [
      mcp(3, 2, { 'jsonrpc.request.id': request }, { kind: 3 }),
      mcp(4, 77, {}, { kind: 2 }),
    ];
    for (const order of ordersOf(sides('7')))
      expect((await coverageOf(await send(order.map((each) => [each])))).calls).toHaveLength(1);
    const other = await send(sides('8').map((each) => [each]));
    expect((await coverageOf(other)).calls).toHaveLength(2);
  });

  it('are two calls where one span of a tool holds two requests', async () => {
    const second = mcp(6, 2, { 'jsonrpc.request.id': '8' });
    for (const order of ordersOf([outer, client, second])) {
      const run = await send(order.map((each) => [each]));
      expect((await coverageOf(run)).calls, run).toHaveLength(2);
    }
  });

  it('are two calls where two spans of one side have one request', async () => {
    const kind = 'SPAN_KIND_SERVER';
    const servers = [mcp(6, 2, {}, { kind }), mcp(7, 2, {}, { kind })] as const;
    for (const order of ordersOf([outer, ...servers])) {
      const run = await send(order.map((each) => [each]));
      expect((await coverageOf(run)).calls, run).toHaveLength(2);
    }
  });

  it('are two calls where a tool calls itself with other arguments', async () => {
    const pay =
      (n: number, amount?: number): MadeSpan =>
      (trace) =>
        tool(n, amount === undefined ? {} : { 'gen_ai.tool.call.arguments': `{"amount":${amount}}` }, {
          traceId: trace,
          ...(n === 2 ? {} : { parentSpanId: spanId(n - 1) }),
        });
    for (const order of ordersOf([pay(2, 5), pay(3), pay(4, 6)]))
      expect((await coverageOf(await send(order.map((each) => [each])))).calls).toHaveLength(2);
    for (const order of ordersOf([pay(2, 5), pay(3), pay(4, 5)])) {
      const hint = order.map((each) => JSON.stringify(each('t'))).join('\n');
      expect((await coverageOf(await send(order.map((each) => [each])))).calls, hint).toHaveLength(1);
    }
  });

  it('are joined by the service alone: no client may write that two calls are one', async () => {
    const run = await send([[client], [outer]]);
    const joined = (await eventsOf(run)).find(({ eventType }) => eventType === 'event.completed');
    const forged = event({ runId: run, eventType: 'event.completed', metadata: joined?.metadata });
    const alone = await plane.call('POST', '/events', { body: forged });
    expect([alone.status, alone.body.errors]).toMatchObject([
      400,
      [{ pointer: '/metadata/importer', code: 'NOT_ALLOWED' }],
    ]);
    const { body } = await plane.call('POST', '/events/batch', { body: { events: [forged, event()] } });
    expect(body.results).toMatchObject([{ status: 'rejected' }, { status: 'accepted' }]);
  });

  it('keep the arguments that only the outer span has', async () => {
    const run = await send([[client], [outer]]);
    const joined = (await eventsOf(run)).find(({ eventType }) => eventType === 'event.completed');
    expect(joined?.metadata).toMatchObject({
      completedType: 'tool.call',
      toolCallId: `import:${spanId(3)}`,
      added: { toolCallId: 'c1', arguments: { bytes: 12 } },
    });
  });
});
