/** Programs that count their calls: a result answers the call with its number, also where results come in another order. */
import { describe, expect, it } from 'vitest';
import { importText } from './fits.ts';

const at = '2026-01-05T09:00:00Z';
type Write = (id: number) => object;
interface Spelling {
  readonly head?: readonly object[];
  readonly call: Write;
  readonly result: Write;
}

const args = (id: number) => ({ amount: id });
const codexLine = (payload: object, type = 'response_item') => ({ timestamp: at, type, payload });
const spellings: Readonly<Record<string, Spelling>> = {
  anthropic: {
    head: [{ role: 'user', content: 'go' }],
    call: (id) => ({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'pay', input: args(id) }] }),
    result: (id) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `${id}` }] }),
  },
  bedrock: {
    head: [{ role: 'user', content: [{ text: 'go' }] }],
    call: (id) => ({
      role: 'assistant',
      content: [{ toolUse: { toolUseId: id, name: 'pay', input: args(id) } }],
    }),
    result: (id) => ({
      role: 'user',
      content: [{ toolResult: { toolUseId: id, content: [{ text: `${id}` }] } }],
    }),
  },
  'ai-sdk': {
    head: [{ role: 'user', content: 'go' }],
    call: (id) => ({
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: id, toolName: 'pay', input: args(id) }],
    }),
    result: (id) => ({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: id, toolName: 'pay', output: { type: 'text', value: '' } },
      ],
    }),
  },
  'openai-responses': {
    call: (id) => ({ type: 'function_call', call_id: id, name: 'pay', arguments: JSON.stringify(args(id)) }),
    result: (id) => ({ type: 'function_call_output', call_id: id, output: `${id}` }),
  },
  codex: {
    head: [codexLine({ id: 's', cwd: '/w' }, 'session_meta')],
    call: (id) =>
      codexLine({ type: 'function_call', call_id: id, name: 'pay', arguments: JSON.stringify(args(id)) }),
    result: (id) => codexLine({ type: 'function_call_output', call_id: id, output: `${id}` }),
  },
  'copilot-cli': {
    head: [
      {
        type: 'session.start',
        data: { sessionId: 's', producer: 'x' },
        id: 'e',
        timestamp: at,
        parentId: null,
      },
    ],
    call: (id) => ({
      type: 'tool.execution_start',
      data: { toolCallId: id, toolName: 'pay', arguments: args(id) },
      id: `start-${id}`,
      timestamp: at,
      parentId: 'e',
    }),
    result: (id) => ({
      type: 'tool.execution_complete',
      data: { toolCallId: id, success: true, result: { content: `${id}` } },
      id: `end-${id}`,
      timestamp: at,
      parentId: 'e',
    }),
  },
};

describe('ids of calls that are numbers', () => {
  it.each(Object.entries(spellings))('join calls and results of %s', (_, { head = [], call, result }) => {
    const document = [...head, call(1), call(2), result(2), result(1)];
    const runs = importText(document.map((each) => JSON.stringify(each)).join('\n'), {
      sourceName: 's.jsonl',
    });
    const facts = runs
      .flatMap(({ events }) => events)
      .filter(({ eventType }) => eventType.startsWith('tool.'));
    expect(facts.map(({ eventType, metadata }) => [eventType, metadata?.['toolCallId']])).toEqual([
      ['tool.call', '1'],
      ['tool.call', '2'],
      ['tool.result', '2'],
      ['tool.result', '1'],
    ]);
    expect(facts[1]?.metadata?.['arguments']).toEqual(args(2));
  });
});
