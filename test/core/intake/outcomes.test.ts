/** Each format's own spelling of a failed call, and of a result without content. */
import { describe, expect, it } from 'vitest';
import { importValue, meta, ofType } from './fits.ts';

const chat = (result: object) => [
  { role: 'user', content: 'go' },
  { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'run', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'c1', ...result },
];
const anthropic = (result: object) => [
  { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'run', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', ...result }] },
];
const claude = (result: object, details: unknown) => [
  {
    type: 'user',
    sessionId: 's',
    uuid: 'u1',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', ...result }] },
    toolUseResult: details,
  },
];
const items = (...written: object[]) => [
  { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' },
  ...written,
];
const codex = (output: unknown) => [
  { type: 'session_meta', timestamp: '2026-01-05T09:00:00Z', payload: { id: 's' } },
  {
    type: 'response_item',
    timestamp: '2026-01-05T09:00:01Z',
    payload: { type: 'function_call_output', call_id: 'c1', output },
  },
];
const openhands = (observation: object) => [
  {
    kind: 'ObservationEvent',
    id: 'e2',
    timestamp: '2026-01-05T09:00:01',
    source: 'environment',
    tool_call_id: 'c1',
    observation,
  },
];
const mcp = (result: unknown) => [
  { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run', arguments: {} } },
  { jsonrpc: '2.0', id: 1, result },
];

const codexFailed = (event: object) => {
  const [meta, output] = codex('patch failed');
  return [
    meta,
    { type: 'event_msg', timestamp: '2026-01-05T09:00:01Z', payload: { call_id: 'c1', ...event } },
    output,
  ];
};
const sdk = (result: object) => [
  { role: 'user', content: 'go' },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'run', input: {} }] },
  { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'run', ...result }] },
];
const langfuse = (output: unknown) => ({
  trace: { id: 't' },
  observations: [{ id: 'o', type: 'TOOL', name: 'run', startTime: '2026-01-05T09:00:00Z', output }],
});
const span = (result: string) => ({
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              traceId: 'a'.repeat(32),
              spanId: 'b'.repeat(16),
              name: 'run',
              attributes: [
                { key: 'gen_ai.tool.name', value: { stringValue: 'run' } },
                { key: 'gen_ai.tool.call.result', value: { stringValue: result } },
              ],
            },
          ],
        },
      ],
    },
  ],
});

const outcomes = (document: unknown) =>
  importValue(document).flatMap((run) => ofType([run], 'tool.result').map((event) => meta(event)['outcome']));

describe('the outcome of a call', () => {
  it.each([
    [
      'claude-code: a text',
      claude({ content: "The user doesn't want to proceed with this tool use." }, undefined),
    ],
    [
      'claude-code: a list of texts',
      claude(
        { content: [{ type: 'text', text: "The user doesn't want to proceed with this tool use." }] },
        undefined,
      ),
    ],
    ['AI SDK: a denied call', sdk({ output: { type: 'execution-denied', reason: 'no' } })],
    [
      'openhands-v1: a rejected call',
      [{ ...openhands({})[0], kind: 'UserRejectObservation', rejection_reason: 'no' }],
    ],
  ])('%s is refused', (_, document) => {
    expect(outcomes(document)).toEqual(['refused']);
  });

  it.each([
    ['chat: a text that begins with Error', chat({ content: 'Error: no' })],
    ['chat: a text part that begins with Error', chat({ content: [{ type: 'text', text: 'Error: no' }] })],
    ['chat: JSON with an exit code', chat({ content: '{"output":"","exit_code":1}' })],
    ['chat: a status', chat({ content: 'no', status: 'error' })],
    ['chat: a flag', chat({ content: 'no', is_error: true })],
    ['anthropic: a flag', anthropic({ content: 'no', is_error: true })],
    [
      'anthropic: a return code',
      anthropic({ content: { type: 'bash_code_execution_result', return_code: 1, stdout: '' } }),
    ],
    ['claude-code: an exit code', claude({ content: 'Exit code 1' }, undefined)],
    ['claude-code: an interruption', claude({ content: '' }, { stdout: '', interrupted: true })],
    [
      'responses: a status',
      items({ type: 'function_call_output', call_id: 'c1', output: '', status: 'failed' }),
    ],
    [
      'responses: an exit code of a shell',
      items({
        type: 'shell_call_output',
        call_id: 'c1',
        output: [{ stdout: '', stderr: 'no', outcome: { type: 'exit', exit_code: 1 } }],
      }),
    ],
    ['codex: JSON', codex('{"output":"no","metadata":{"exit_code":1}}')],
    ['codex: a text', codex('Wall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nno')],
    ['codex: content with success: false', codex({ content: 'no', success: false })],
    ['codex: content with success: false, as a text', codex('{"content":"no","success":false}')],
    ['codex: a patch that failed', codexFailed({ type: 'patch_apply_end', success: false })],
    ['codex: a call of MCP that failed', codexFailed({ type: 'mcp_tool_call_end', result: { Err: 'no' } })],
    [
      'codex: a call of MCP whose result is an error',
      codexFailed({ type: 'mcp_tool_call_end', result: { Ok: { content: [], isError: true } } }),
    ],
    ['chat: success: false', chat({ content: '{"success":false}' })],
    ['chat: an error', chat({ content: '{"error":"no such order"}' })],
    ['chat: a status of HTTP', chat({ content: '{"statusCode":404,"message":"Not Found"}' })],
    ['AI SDK: an error in JSON', sdk({ output: { type: 'json', value: { error: { code: 5 } } } })],
    ['langfuse: an error in JSON', langfuse({ ok: false })],
    ['OTLP: a problem of HTTP', span('{"type":"about:blank","status":500}')],
    [
      'responses: an error in JSON',
      items({ type: 'function_call_output', call_id: 'c1', output: '{"error":true}' }),
    ],
    ['mcp: an error in JSON', mcp({ content: [{ type: 'text', text: '{"success":false}' }] })],
    ['anthropic: an error in JSON', anthropic({ content: '{"error":"no"}' })],
    [
      'openhands: a result of MCP',
      [{ id: 1, source: 'agent', observation: 'mcp', content: '{"isError":true,"content":[]}' }],
    ],
    ['openhands-v1: a timeout', openhands({ content: [], exit_code: -1, timeout: true })],
    ['openhands-v1: a flag', openhands({ content: [], error: true })],
    ['mcp: a flag', mcp({ content: [], isError: true })],
    ['mcp: an exit code', mcp({ content: [], structuredContent: { exitCode: 1 } })],
  ])('%s is an error', (_, document) => {
    expect(outcomes(document)).toEqual(['error']);
  });

  it.each([
    ['chat: an empty text', chat({ content: '' })],
    ['chat: an empty list', chat({ content: [] })],
    ['chat: null', chat({ content: null })],
    ['chat: no content', chat({})],
    ['anthropic: no content', anthropic({})],
    ['anthropic: an empty text', anthropic({ content: '' })],
    ['claude-code: an empty list', claude({ content: [] }, undefined)],
    ['responses: an empty text', items({ type: 'function_call_output', call_id: 'c1', output: '' })],
    ['responses: null', items({ type: 'function_call_output', call_id: 'c1', output: null })],
    ['codex: an empty text', codex('')],
    ['codex: printed words of another command', codex('Process exited with code 0\nOutput:\nExit code: 1')],
    ['openhands-v1: no content', openhands({ exit_code: 0 })],
    [
      'codex: printed JSON of a command that ended with 0',
      codex('{"output":"{\\"error\\":\\"x\\"}","metadata":{"exit_code":0}}'),
    ],
    [
      'anthropic: printed JSON of a call without an error',
      anthropic({ content: '{"error":"x"}', is_error: false }),
    ],
    [
      'mcp: printed JSON of a call without an error',
      mcp({ content: [{ type: 'text', text: '{"error":"x"}' }], isError: false }),
    ],
    ['chat: an error that is null', chat({ content: '{"error":null,"success":true}' })],
    ['chat: an error of a measure', chat({ content: '{"error":0.03,"status":"done"}' })],
    ['chat: a list of records', chat({ content: [{ type: 'text', text: '[{"error":"x"}]' }] })],
    ['mcp: an empty result', mcp({})],
    ['mcp: null', mcp(null)],
  ])('%s is a result, and no error', (_, document) => {
    expect(outcomes(document)).toEqual(['ok']);
  });
});
