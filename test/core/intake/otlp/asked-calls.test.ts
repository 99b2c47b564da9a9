/** The calls that models asked for, as tools that name none take them. */
import { expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { askedIn, joinAsked } from '../../../../src/core/intake/otlp/asked-calls.ts';

const asking = (count: number): Record<string, string> => ({
  'gen_ai.output.messages': JSON.stringify([
    {
      role: 'assistant',
      parts: Array.from({ length: count }, (_, n) => ({
        type: 'tool_call',
        id: `c${n}`,
        name: 'pay',
        arguments: { n },
      })),
    },
  ]),
});

it('reads so many calls of a span of a model, and not one more', () => {
  const most = limits.otlpAskedCalls;
  expect(askedIn(asking(most), 1)?.at(-1)?.id).toBe(`c${most - 1}`);
  expect(askedIn(asking(most + 1), 1)?.map(({ id }) => id)).toEqual(
    askedIn(asking(most), 1)?.map(({ id }) => id),
  );
});

it('takes no call from a span without a time, without arguments, or without calls', () => {
  expect(askedIn(asking(1), undefined)).toBeUndefined();
  const message = {
    role: 'assistant',
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'pay' } }],
  };
  expect(askedIn({ 'output.value': JSON.stringify(message) }, 1)).toBeUndefined();
  expect(askedIn({ 'output.value': 'a "function" of time' }, 1)).toBeUndefined();
});

it('does not take an empty object beside positional arguments for a call without arguments', () => {
  const empty = askedIn(
    {
      'output.value': JSON.stringify([{ type: 'function_call', callId: 'c1', name: 'pay', arguments: '{}' }]),
    },
    1,
  );
  const [{ input = '' } = {}] = empty ?? [];
  const tool = (inputs: readonly string[]) => [
    { spanId: 's', tool: 'pay', startMs: 2, inputs: () => inputs },
  ];
  expect(joinAsked(empty ?? [], tool([input]), new Set()).size).toBe(1);
  expect(joinAsked(empty ?? [], tool(['other', input]), new Set()).size).toBe(0);
});
