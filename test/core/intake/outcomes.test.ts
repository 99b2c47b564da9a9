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
const decided = (members: object, content = 'touch needs approval.') =>
  claude({ content, is_error: true }, `Error: ${content}`).map((line) => ({
    ...line,
    ...members,
  }));
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
    ['openhands-v1: a flag', openhands({ content: [], error: true })],
    ['mcp: a flag', mcp({ content: [], isError: true })],
    ['mcp: an exit code', mcp({ content: [], structuredContent: { exitCode: 1 } })],
  ])('%s is an error', (_, document) => {
    expect(outcomes(document)).toEqual(['error']);
  });

  it.each([
    ['anthropic: no content', anthropic({})],
    ['anthropic: an empty text', anthropic({ content: '' })],
    ['claude-code: an empty list', claude({ content: [] }, undefined)],
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
    ['mcp: an empty result', mcp({})],
    ['mcp: null', mcp(null)],
  ])('%s is a result, and no error', (_, document) => {
    expect(outcomes(document)).toEqual(['ok']);
  });

  it.each([
    ['chat: an empty text', chat({ content: '' })],
    ['chat: an empty list', chat({ content: [] })],
    ['chat: null', chat({ content: null })],
    ['chat: no content', chat({})],
    ['responses: an empty text', items({ type: 'function_call_output', call_id: 'c1', output: '' })],
    ['responses: null', items({ type: 'function_call_output', call_id: 'c1', output: null })],
    ['codex: an empty text', codex('')],
    ['chat: an error of a measure', chat({ content: '{"error":0.03,"status":"done"}' })],
    ['chat: a list of records', chat({ content: [{ type: 'text', text: '[{"error":"x"}]' }] })],
  ])('%s is a result that does not say how the call ended', (_, document) => {
    expect(outcomes(document)).toEqual(['unknown']);
  });

  const denial = 'Permission to use Bash with command rm has been denied.';
  it.each<[string, unknown, string]>([
    ['claude-code: a flag', claude({ content: '' }, { stdout: '', interrupted: true }), 'interrupted'],
    [
      'claude-code: words of the program',
      claude({ content: '[Request interrupted by user for tool use]' }, undefined),
      'interrupted',
    ],
    ['claude-code: a rule', claude({ content: denial, is_error: true }, `Error: ${denial}`), 'denied'],
    ['claude-code: a printed file', claude({ content: denial }, { stdout: denial }), 'ok'],
    [
      'claude-code: a hook',
      claude({ content: 'PreToolUse:Bash hook error: no', is_error: true }, undefined),
      'denied',
    ],
    [
      'claude-code: who decided, user_reject',
      decided({ permissionDecision: { decision: 'reject', source: 'user_reject' } }),
      'refused',
    ],
    [
      'claude-code: who decided, config',
      decided({ permissionDecision: { decision: 'reject', source: 'config' } }),
      'denied',
    ],
    [
      'claude-code: who decided, hook',
      decided({ permissionDecision: { decision: 'reject', source: 'hook' } }),
      'denied',
    ],
    [
      'claude-code: who decided, invalid_input',
      decided({ permissionDecision: { decision: 'reject', source: 'invalid_input' } }),
      'error',
    ],
    ['claude-code: a rule of its permissions', decided({ toolDenialKind: 'permission-rule' }), 'denied'],
    ['claude-code: a kind of denial', decided({ toolDenialKind: 'interrupted' }), 'interrupted'],
    [
      'claude-code: a call that its user stopped',
      decided({ toolDenialKind: 'user-rejected' }),
      'interrupted',
    ],
    [
      'claude-code: its user, before the call ran',
      decided({ toolDenialKind: 'user-rejected', toolDenialBeforeRun: true }, 'User rejected tool use'),
      'refused',
    ],
    [
      'claude-code: a decision after the call ran',
      decided({ toolDenialAfterRun: true, permissionDecision: { decision: 'reject', source: 'hook' } }),
      'error',
    ],
    [
      'claude-code: a call that the program blocks',
      claude({ content: '<tool_use_error>Blocked: standalone sleep 30.', is_error: true }, undefined),
      'denied',
    ],
    [
      'claude-code: a tool that it does not have',
      claude(
        {
          content: '<tool_use_error>Error: No such tool available: NoSuchTool</tool_use_error>',
          is_error: true,
        },
        undefined,
      ),
      'denied',
    ],
    [
      'claude-code: a timeout',
      claude({ content: 'Exit code 143\nCommand timed out after 2m 0.0s', is_error: true }, undefined),
      'timed_out',
    ],
    [
      'claude-code: older words of a refusal',
      claude({ content: "The user doesn't want to take this action right now." }, undefined),
      'refused',
    ],
    ['codex: a refusal', codex('exec command rejected by user'), 'refused'],
    ['codex: an interruption', codex('aborted by user after 1.2s'), 'interrupted'],
    ['codex: an interruption with its time', codex('Wall time: 4.6 seconds\naborted by user'), 'interrupted'],
    ['codex: a tool that it does not have', codex('unsupported call: spawn_agent'), 'denied'],
    ['codex: a custom tool that it does not have', codex('unsupported custom tool call: nosuch'), 'denied'],
    ['codex: a hook', codex('Command blocked by PreToolUse hook: no'), 'denied'],
    [
      'codex: a timeout',
      codex('{"output":"command timed out after 10000 milliseconds","metadata":{"exit_code":124}}'),
      'timed_out',
    ],
    ['codex: an exit code of 0', codex('{"output":"","metadata":{"exit_code":0}}'), 'ok'],
    ['openhands-v1: a timeout', openhands({ content: [], exit_code: -1, timeout: true }), 'timed_out'],
    [
      'responses: a timeout of a shell',
      items({
        type: 'shell_call_output',
        call_id: 'c1',
        output: [{ stdout: '', stderr: '', outcome: { type: 'timeout' } }],
      }),
      'timed_out',
    ],
    [
      'responses: an item that was stopped',
      items({ type: 'function_call_output', call_id: 'c1', output: '', status: 'incomplete' }),
      'interrupted',
    ],
    ['chat: an exit code of 0', chat({ content: '{"exit_code":0}' }), 'ok'],
    ['chat: a status', chat({ content: 'paid', status: 'success' }), 'ok'],
    ['chat: a status of HTTP', chat({ content: '{"status":200}' }), 'ok'],
    ['chat: a flag and a timeout', chat({ content: '{"timed_out":true}', is_error: true }), 'timed_out'],
    ['mcp: no answer before the exit', [mcp(1)[0], { dir: 'exit', transport: 'stdio' }], 'unanswered'],
    [
      'mcp: a cancelled call',
      [mcp(1)[0], { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }],
      'interrupted',
    ],
  ])('%s keeps its meaning', (_, document, ending) => {
    expect(outcomes(document)).toEqual([ending]);
  });

  it('chat: a result that comes twice is one, and another result of the call is another', () => {
    const [user, asked, result] = chat({ content: 'paid' });
    expect(outcomes([user, asked, result, result])).toEqual(['unknown']);
    expect(outcomes([user, asked, result, { ...result, content: 'paid again' }])).toHaveLength(2);
    // the same id for another call
    expect(outcomes([user, asked, result, asked, result])).toHaveLength(2);
  });

  it('mcp: a call that is answered after it was cancelled has the answer alone', () => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const [request, answer] = mcp({ content: [] });
    expect(outcomes([request, cancelled, answer])).toEqual(['ok']);
  });
});
