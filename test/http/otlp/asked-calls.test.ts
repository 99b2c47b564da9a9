/** Spans of tools that name no call, with the span of the model that asked for it, in any order of requests. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { nanos, post, span, spanId, traceId, traces } from './requests.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

type MadeSpan = (trace: string) => object;
const at = (second: number) => ({ startTimeUnixNano: nanos(Date.UTC(2026, 0, 5, 9, 0, second)) });
const args = (amount: number): string => JSON.stringify({ amount });
const made =
  (n: number, second: number, values: Record<string, unknown>): MadeSpan =>
  (trace) =>
    span(n, values, { traceId: trace, name: 'pay', ...at(second) });

interface Asked {
  readonly id: string;
  readonly amount: number;
}
/** How the tracing of each program writes the span of a model, and that of a tool. */
const programs = {
  langfuse: {
    model: (...asked: Asked[]) => ({
      'langfuse.observation.type': 'generation',
      'langfuse.observation.output': JSON.stringify({
        role: 'assistant',
        tool_calls: asked.map(({ id, amount }) => ({
          id,
          type: 'function',
          function: { name: 'pay', arguments: args(amount) },
        })),
      }),
    }),
    tool: (amount: number) => ({
      'langfuse.observation.type': 'tool',
      'langfuse.observation.input': args(amount),
      'langfuse.observation.output': '"ok"',
    }),
  },
  OpenLLMetry: {
    model: (...asked: Asked[]) => ({
      'llm.request.type': 'chat',
      'gen_ai.request.model': 'm',
      ...Object.fromEntries(
        asked.flatMap(({ id, amount }, n) => [
          [`gen_ai.completion.0.tool_calls.${n}.id`, id],
          [`gen_ai.completion.0.tool_calls.${n}.name`, 'pay'],
          [`gen_ai.completion.0.tool_calls.${n}.arguments`, args(amount)],
        ]),
      ),
    }),
    tool: (amount: number) => ({
      'traceloop.span.kind': 'tool',
      'traceloop.entity.name': 'pay',
      'traceloop.entity.input': JSON.stringify({ args: [{ amount }], kwargs: {} }),
      'traceloop.entity.output': '"ok"',
    }),
  },
  'OpenAI Agents': {
    model: (...asked: Asked[]) => ({
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'm',
      ...Object.fromEntries(
        asked.flatMap(({ id, amount }, n) => {
          const call = `llm.output_messages.0.message.tool_calls.${n}.tool_call`;
          return [
            [`${call}.id`, id],
            [`${call}.function.name`, 'pay'],
            [`${call}.function.arguments`, args(amount)],
          ];
        }),
      ),
    }),
    tool: (amount: number) => ({
      'openinference.span.kind': 'TOOL',
      'tool.name': 'pay',
      'input.value': args(amount),
      'output.value': 'ok',
    }),
  },
};
const { model, tool } = programs.langfuse;

const ordersOf = <Item>(items: readonly Item[]): Item[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item, n) => ordersOf(items.toSpliced(n, 1)).map((rest) => [item, ...rest]));

let used = 5000;
/** Sends spans of a new trace, each inner list as a request; returns the run. */
async function send(
  requests: readonly (readonly MadeSpan[])[],
  run = `asked-${(used += 1)}`,
): Promise<string> {
  const trace = traceId((used += 1));
  const session = { key: 'session.id', value: { stringValue: run } };
  for (const each of requests) {
    const spans = each.map((one) => {
      const values = one(trace) as { attributes: object[] };
      return { ...values, attributes: [...values.attributes, session] };
    });
    expect((await post(plane, 'traces', traces(...spans))).status).toBe(200);
  }
  return run;
}

const oneEach = (spans: readonly MadeSpan[]): MadeSpan[][] => spans.map((each) => [each]);
const callsOf = async (run: string): Promise<{ callId: string | null; sources: string[] }[]> =>
  (await plane.call('GET', `/runs/${run}/coverage`)).body.calls;
const idsOf = async (run: string) => (await callsOf(run)).map(({ callId }) => callId).toSorted();

interface Event {
  readonly eventType: string;
  readonly metadata: Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- read member by member
}
/** How each call got its id, from its event or what completes it. */
async function matchedIn(run: string): Promise<string[]> {
  const events: Event[] = (await plane.call('GET', `/events?runId=${run}`)).body.events;
  return events.flatMap(({ eventType, metadata }) => {
    if (eventType === 'tool.call' && metadata['matchedBy'] !== undefined)
      return [`${metadata['toolCallId']} ${metadata['matchedBy']}`];
    const { added, completedType } = metadata;
    return eventType === 'event.completed' && completedType === 'tool.call'
      ? [`${added.toolCallId} ${added.matchedBy}`]
      : [];
  });
}

describe('a tool that names no call', () => {
  it.each(Object.entries(programs))('of %s has the call that the model asked for', async (_, program) => {
    const spans = [
      made(1, 1, program.model({ id: 'c1', amount: 5 }, { id: 'c2', amount: 500 })),
      made(2, 2, program.tool(5)),
      made(3, 2, program.tool(500)),
    ];
    for (const order of ordersOf(spans)) {
      const run = await send(oneEach(order));
      expect(await idsOf(run)).toEqual(['c1', 'c2']);
      expect((await matchedIn(run)).toSorted()).toEqual(['c1 arguments', 'c2 arguments']);
    }
    expect(await idsOf(await send([spans]))).toEqual(['c1', 'c2']);
  });

  it('is one call with the record of a hook, whichever comes first', async () => {
    const spans = [made(1, 1, model({ id: 'c1', amount: 5 })), made(2, 2, tool(5))];
    for (const order of ordersOf([...spans, 'hook'] as const)) {
      const run = `hooked-${(used += 1)}`;
      const trace = order.filter((each) => each !== 'hook');
      const hook = order.indexOf('hook');
      const id = (used += 1);
      const record = async (): Promise<void> => {
        const of = { runId: run, eventType: 'tool.call', resource: { name: 'pay', type: 'tool' } };
        const metadata = { toolCallId: 'c1', recordedBy: 'hook' };
        expect((await plane.call('POST', '/events', { body: event({ ...of, metadata }) })).status).toBe(201);
      };
      const session = { key: 'session.id', value: { stringValue: run } };
      for (const [n, each] of trace.entries()) {
        if (n === hook) await record();
        const values = each(traceId(id)) as { attributes: object[] };
        const sent = { ...values, attributes: [...values.attributes, session] };
        expect((await post(plane, 'traces', traces(sent))).status).toBe(200);
      }
      if (hook === 2) await record();
      expect(await callsOf(run)).toMatchObject([{ callId: 'c1', sources: ['hook', 'otlp'] }]);
    }
  });

  it('has the one before it, where a model asks for an equal call again', async () => {
    const spans = [
      made(1, 1, model({ id: 'c1', amount: 5 })),
      made(2, 2, tool(5)),
      made(3, 3, model({ id: 'c2', amount: 5 })),
      made(4, 4, tool(5)),
    ];
    for (const requests of [[spans], oneEach(spans), [spans.slice(0, 3), spans.slice(3)]]) {
      const run = await send(requests);
      expect((await matchedIn(run)).toSorted()).toEqual(['c1 arguments', 'c2 arguments']);
      expect(await idsOf(run)).toEqual(['c1', 'c2']);
    }
    for (const order of ordersOf(spans)) expect(await idsOf(await send(oneEach(order)))).toHaveLength(2);
  });

  it('has none of two equal calls: nothing says which one', async () => {
    const spans = [
      made(1, 1, model({ id: 'c1', amount: 5 }, { id: 'c2', amount: 5 })),
      made(2, 2, tool(5)),
      made(3, 3, tool(5)),
    ];
    for (const order of ordersOf(spans))
      expect(await idsOf(await send(oneEach(order)))).toEqual([null, null]);
  });

  it('keeps a call of its own where the model asked for another one, or asked later', async () => {
    const asked = model({ id: 'c1', amount: 5 });
    expect(await idsOf(await send([[made(1, 1, asked), made(2, 2, tool(6))]]))).toEqual([null]);
    expect(await idsOf(await send([[made(1, 3, asked), made(2, 2, tool(5))]]))).toEqual([null]);
    const again = made(3, 2, model({ id: 'c1', amount: 7 }));
    expect(await idsOf(await send([[made(1, 1, asked), again, made(2, 3, tool(5))]]))).toEqual([null]);
    const named = { ...tool(5), 'gen_ai.tool.call.id': 'c1' };
    const two = [made(1, 1, asked), made(2, 2, named), made(3, 3, tool(5))];
    expect(await idsOf(await send([two]))).toEqual(['c1', null]);
  });

  it('is one call with the span of its MCP client, in every order', async () => {
    const client: MadeSpan = (trace) => ({
      ...span(
        3,
        { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'pay', 'jsonrpc.request.id': '7' },
        { traceId: trace, parentSpanId: spanId(2), ...at(3) },
      ),
    });
    const spans = [made(1, 1, model({ id: 'c1', amount: 5 })), made(2, 2, tool(5)), client];
    for (const order of ordersOf(spans)) expect(await idsOf(await send(oneEach(order)))).toEqual(['c1']);
  });
});
