/**
 * An agent of OpenAI Agents JS that calls a tool twice; the second call fails. Its own trace is sent as spans of OTLP with
 * the attributes that OpenInference gives them, one span a request, in the order in which they end.
 */
import { hash } from 'node:crypto';
import {
  Agent,
  Runner,
  setTraceProcessors,
  setTracingDisabled,
  tool,
  Usage,
  withGenerationSpan,
  type ModelProvider,
  type ModelResponse,
  type Span,
} from '@openai/agents-core';
import { z } from 'zod';

export interface AgentsDid {
  readonly calls: readonly number[];
  readonly asked: number;
  readonly spans: readonly object[];
}

/** Returns what the program did, and its spans. */
export async function runAgents(): Promise<AgentsDid> {
  const ended: Span<any>[] = []; // oxlint-disable-line typescript/no-explicit-any -- the type of the package
  const nothing = async (): Promise<void> => {};
  setTracingDisabled(false);
  setTraceProcessors([
    {
      onTraceStart: nothing,
      onTraceEnd: nothing,
      onSpanStart: nothing,
      onSpanEnd: async (span) => void ended.push(span),
      shutdown: nothing,
      forceFlush: nothing,
    },
  ]);
  const calls: number[] = [];
  let asked = 0;
  const pay = tool({
    name: 'pay',
    description: 'Pay an amount',
    parameters: z.object({ amount: z.number() }),
    execute: async ({ amount }) => {
      calls.push(amount);
      if (amount > 100) throw new Error('too much');
      return `paid ${amount}`;
    },
  });
  const answer = (n: number): ModelResponse['output'] =>
    n < 2
      ? [
          {
            type: 'function_call',
            name: 'pay',
            status: 'completed',
            callId: `call_${n}`,
            arguments: JSON.stringify({ amount: n === 0 ? 5 : 500 }),
          },
        ]
      : [
          {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'done' }],
          },
        ];
  const modelProvider: ModelProvider = {
    getModel: () => ({
      getResponse: ({ input }) =>
        withGenerationSpan(async (span) => {
          const items = typeof input === 'string' ? [] : input;
          const output = answer(items.filter(({ type }) => type === 'function_call_result').length);
          span.spanData.model = 'gpt-x';
          span.spanData.output = output.map((item) => ({ ...item }));
          asked += 1;
          return { usage: new Usage(), output };
        }),
      async *getStreamedResponse() {
        yield* [];
        throw new Error('expected no stream');
      },
    }),
  };
  await new Runner({ modelProvider }).run(new Agent({ name: 'payer', tools: [pay] }), 'Pay');
  return { calls, asked, spans: ended.map(asOtlp) };
}

const kinds: Readonly<Record<string, string>> = { agent: 'AGENT', function: 'TOOL', generation: 'LLM' };
const idOf = (id: string): string => hash('sha256', id, 'hex').slice(0, 16);
const nanos = (time: string | null): string => `${Date.parse(time ?? '')}000000`;

// oxlint-disable-next-line typescript/no-explicit-any -- the type of the package
function asOtlp(span: Span<any>): object {
  const { type, name, model, input, output } = span.spanData as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const values: Record<string, unknown> = {
    'openinference.span.kind': kinds[String(type)] ?? 'CHAIN',
    ...(type === 'function' ? { 'tool.name': name } : {}),
    ...(model === undefined ? {} : { 'llm.model_name': model }),
    ...(input === undefined ? {} : { 'input.value': text(input) }),
    ...(output === undefined ? {} : { 'output.value': text(output) }),
  };
  return {
    traceId: span.traceId.replace('trace_', ''),
    spanId: idOf(span.spanId),
    ...(span.parentId === null ? {} : { parentSpanId: idOf(span.parentId) }),
    name: String(name ?? type),
    startTimeUnixNano: nanos(span.startedAt),
    endTimeUnixNano: nanos(span.endedAt),
    status: span.error === null ? { code: 1 } : { code: 2, message: span.error.message },
    attributes: Object.entries(values).map(([key, value]) => ({
      key,
      value: { stringValue: String(value) },
    })),
  };
}
