/** In no format does a result end well that says of itself, by a flag or an exit code, that it did not. */
import { describe, expect, it } from 'vitest';
import type { FormatName } from '../../../src/core/intake/names.ts';
import { importText } from './fits.ts';

const at = '2026-01-05T09:00:00Z';
const call = { type: 'tool_use', id: 'c1', name: 'pay', input: {} };
const asked = { id: 'm', role: 'assistant', model: 'x', content: [call] };
const returned = (own: object) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'x', ...own }],
});
const codexLine = (payload: object, type = 'response_item') => ({ timestamp: at, type, payload });

/** Lines with a call and its result, whose record has these members; a text where a result has no record. */
const recordings: Readonly<Record<FormatName, string | ((own: object) => readonly unknown[])>> = {
  'claude-code': (own) => [
    { type: 'assistant', sessionId: 's', uuid: 'u1', timestamp: at, message: asked },
    { type: 'user', sessionId: 's', uuid: 'u2', timestamp: at, message: returned(own) },
  ],
  'claude-stream': (own) => [
    { type: 'assistant', session_id: 's', uuid: 'u1', message: asked },
    { type: 'user', session_id: 's', uuid: 'u2', message: returned(own) },
  ],
  anthropic: (own) => [[{ role: 'user', content: 'go' }, asked, returned(own)]],
  codex: (own) => [
    codexLine({ id: 's', cwd: '/w' }, 'session_meta'),
    codexLine({ type: 'function_call', call_id: 'c1', name: 'pay', arguments: '{}' }),
    codexLine({ type: 'function_call_output', call_id: 'c1', output: 'x', ...own }),
  ],
  'copilot-cli': (own) => [
    {
      type: 'session.start',
      data: { sessionId: 's', producer: 'x' },
      id: 'e1',
      timestamp: at,
      parentId: null,
    },
    {
      type: 'tool.execution_complete',
      data: { toolCallId: 'c1', success: true, result: { content: 'x' }, ...own },
      id: 'e2',
      timestamp: at,
      parentId: 'e1',
    },
  ],
  'gemini-cli': (own) => {
    const result = [{ functionResponse: { id: 'c1', name: 'pay', response: { output: 'x' } } }];
    const toolCalls = [{ id: 'c1', name: 'pay', args: {}, status: 'success', result, ...own }];
    const message = { id: 'm', timestamp: at, type: 'gemini', content: '', toolCalls };
    return [{ sessionId: 's', projectHash: 'p', startTime: at, messages: [message] }];
  },
  auditd: 'a kernel sees no results of tools',
  falco: 'a kernel sees no results of tools',
  tetragon: 'a kernel sees no results of tools',
  langfuse: 'the level of an observation says it',
  mcp: (own) => [
    { dir: 'client->server', msg: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay' } } },
    { dir: 'server->client', msg: { jsonrpc: '2.0', id: 1, result: { content: [], ...own } } },
  ],
  'openai-chat': (own) => [
    [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input: {} }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'pay',
            output: { type: 'text', value: 'x' },
            ...own,
          },
        ],
      },
    ],
  ],
  'openai-responses': (own) => [
    [
      { type: 'function_call', call_id: 'c1', name: 'pay', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'x', ...own },
    ],
  ],
  opencode: 'its metadata are those of the tool',
  'openhands-v1': (own) => [
    {
      kind: 'ActionEvent',
      id: 'e1',
      timestamp: at,
      source: 'agent',
      tool_name: 'pay',
      tool_call_id: 'c1',
      tool_call: { id: 'c1', name: 'pay', arguments: '{}' },
    },
    {
      kind: 'ObservationEvent',
      id: 'e2',
      timestamp: at,
      source: 'environment',
      tool_name: 'pay',
      tool_call_id: 'c1',
      action_id: 'e1',
      observation: { content: [{ type: 'text', text: 'x' }], ...own },
    },
  ],
  openhands: 'its observations have an exit code or success',
  'swe-agent': 'an observation is a text',
  otlp: (own) => {
    const attributes = Object.entries({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'pay',
      'gen_ai.tool.call.result': 'x',
      ...own,
    }).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));
    const times = { startTimeUnixNano: '1767603600000000000', endTimeUnixNano: '1767603601000000000' };
    const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'pay', ...times, attributes };
    return [{ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }];
  },
};
/** A record of a log that reports a call and its end. */
const otlpLog = (own: object): readonly unknown[] => {
  const told = {
    'session.id': 's',
    tool_name: 'pay',
    success: 'true',
    'event.name': 'claude_code.tool_result',
  };
  const attributes = Object.entries({ ...told, ...own }).map(([key, value]) => ({
    key,
    value: { stringValue: String(value) },
  }));
  const logRecords = [{ timeUnixNano: '1767603600000000000', attributes }];
  return [{ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }];
};
const formats = Object.entries({ ...recordings, 'a log of otlp': otlpLog }).flatMap(([name, lines]) =>
  typeof lines === 'string' ? [] : [{ name, lines }],
);
const flags = [
  { is_error: true },
  { isError: 'true' },
  { error: true },
  { error: 'no money' },
  { success: false },
  { exit_code: 1 },
  { exitCode: '-1' },
];

describe('a result that says that it failed', () => {
  it.each(formats)('does not end well in $name', ({ lines }) => {
    const outcomes = [{}, ...flags].map((own) => {
      const text = lines(own).map((line) => JSON.stringify(line));
      const runs = importText(text.join('\n'), { sourceName: text.length > 1 ? 's.jsonl' : 's.json' });
      const results = runs.flatMap(({ events }) => events).filter((each) => each.eventType === 'tool.result');
      return results.map(({ metadata }) => metadata?.['outcome']).join();
    });
    expect(['ok', 'unknown']).toContain(outcomes[0]);
    expect(outcomes.slice(1)).toEqual(flags.map(() => 'error'));
  });
});

describe('results without ids, in another order than their calls', () => {
  const started = (toolName: string, id: string) => ({
    type: 'tool.execution_start',
    data: { toolName, arguments: {} },
    id,
    timestamp: at,
    parentId: null,
  });
  const ended = (success: boolean, id: string) => ({
    type: 'tool.execution_complete',
    data: { success, result: { content: 'x' } },
    id,
    timestamp: at,
    parentId: null,
  });
  const called = (name: string) => ({ type: 'function_call', name, arguments: '{}' });
  const output = (code: number) => ({ type: 'function_call_output', output: `{"exit_code":${code}}` });
  const items = [called('pay'), called('rm'), output(1), output(0)];
  const meta = { type: 'session.start', data: { sessionId: 's', producer: 'x' }, id: 'e0', timestamp: at };

  it.each([
    ['codex', [codexLine({ id: 's', cwd: '/w' }, 'session_meta'), ...items.map((item) => codexLine(item))]],
    ['openai-responses', [items]],
    [
      'copilot-cli',
      [
        { ...meta, parentId: null },
        started('pay', 'e1'),
        started('rm', 'e2'),
        ended(false, 'e3'),
        ended(true, 'e4'),
      ],
    ],
  ])('%s: a call that order alone gave a result has not ended in a known way', (_, lines) => {
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const runs = importText(text, { sourceName: lines.length > 1 ? 's.jsonl' : 's.json' });
    const results = runs.flatMap(({ events }) => events).filter((each) => each.eventType === 'tool.result');
    expect(results.map(({ metadata }) => [metadata?.['matchedBy'], metadata?.['outcome']])).toEqual([
      ['order', 'unknown'],
      ['order', 'unknown'],
    ]);
  });
});
