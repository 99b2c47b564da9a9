import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readHookInput, type HookInput } from '../../../src/core/agents/hook-input.ts';
import { callOf, reportEvent, rulingEvent } from '../../../src/core/agents/hook-events.ts';
import { decided } from '../../../src/core/agents/hook-answer.ts';
import { agentClients } from '../../../src/core/agents/clients.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import { documents } from '../../../src/core/intake/source.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { ToolDecision } from '../../../src/contract/tools.ts';
import { data, hasData } from '../../paths.ts';

const read = (client: (typeof agentClients)[number], value: unknown) =>
  readHookInput(client, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
const good = (client: (typeof agentClients)[number], value: unknown): HookInput => {
  const input = read(client, value);
  if ('fault' in input) throw new Error(input.fault);
  return input;
};

const call = {
  session_id: 's-1',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: 'ls' },
  tool_use_id: 'toolu_1',
};
const stamp = { id: 'x', nowMs: Date.parse('2026-03-01T12:00:00Z') };
const decision: ToolDecision = {
  evaluationId: 'pev_01m8e7w8x1f2js0crxsyzkqgsq',
  decision: 'allow',
  allowed: true,
  reason: 'no active policy objects',
  matchedPolicies: [],
  obligations: [],
  riskScore: 0,
  argumentsHash: `sha256:${'0'.repeat(64)}`,
  actionHash: `sha256:${'1'.repeat(64)}`,
  approvalId: null,
  evaluatedAt: '2026-03-01T12:00:00Z',
  expiresAt: '2026-03-01T12:01:00Z',
};

describe('readHookInput', () => {
  it.each([
    ['claude-code', 'PostToolUse', { tool_response: { stdout: '', interrupted: true } }],
    ['codex', 'PostToolUse', { tool_response: 'Exit code: 1\nWall time: 1 seconds\nOutput:\n' }],
    ['codex', 'PostToolUse', { tool_response: { output: '', metadata: { exit_code: 1 } } }],
    ['gemini', 'AfterTool', { tool_response: { llmContent: 'Output: no\nExit Code: 1\nSignal: (none)' } }],
    ['gemini', 'AfterTool', { tool_response: { error: { message: 'no' } } }],
    ['cursor', 'postToolUse', { tool_output: '{"exitCode":1}' }],
    ['opencode', 'tool.execute.after', { tool_response: '', exit_code: 1 }],
  ] as const)('a result of %s in %s with %j is a failure', (client, hook_event_name, more) => {
    const input = good(client, { ...call, hook_event_name, ...more });
    expect(input.moment).toBe('failure');
    const outcome =
      'tool_response' in more && typeof more.tool_response === 'object' && 'interrupted' in more.tool_response
        ? 'interrupted'
        : 'error';
    expect(reportEvent(input, stamp).metadata).toMatchObject({ outcome });
    expect(input.content).toBeDefined();
  });

  it.each([
    ['gemini', 'AfterTool', { tool_response: { llmContent: 'Output: yes\nExit Code: 0' } }],
    ['gemini', 'AfterTool', { tool_response: { llmContent: 'Output: log:\nExit Code: 1\n\nend' } }],
    ['codex', 'PostToolUse', { tool_response: '' }],
    ['opencode', 'tool.execute.after', { tool_response: '', exit_code: 0 }],
  ] as const)('a result of %s in %s with %j is no failure', (client, hook_event_name, more) => {
    expect(good(client, { ...call, hook_event_name, ...more }).moment).toBe('result');
  });

  it.each([
    ['nothing', ''],
    ['a text that is not JSON', '{"session_id":'],
    ['a list', []],
    ['null', 'null'],
    ['an event without a name', { ...call, hook_event_name: undefined }],
    ['an unknown event', { ...call, hook_event_name: 'BeforeEverything' }],
    ['an event named like a member of every object', { ...call, hook_event_name: 'constructor' }],
    ['a call without a session', { ...call, session_id: undefined }],
    ['a call without a tool', { ...call, tool_name: undefined }],
    ['a call without an id', { ...call, tool_use_id: undefined }],
    ['a call with an empty id', { ...call, tool_use_id: '' }],
    ['a call whose arguments are a list', { ...call, tool_input: [1] }],
    ['a repeated member', '{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}'],
    ['a number that a double cannot carry', JSON.stringify(call).replace('"ls"', '12345678901234567890')],
    ['a lone surrogate', JSON.stringify(call).replace('ls', '\\ud800')],
  ])('readHookInput says that %s may be a call, which must not run', (_what, value) => {
    expect(read('claude-code', value)).toMatchObject({
      gates: true,
      fault: expect.stringMatching(/expected/),
    });
  });

  it('readHookInput says what it expected of an empty input, once', () => {
    const fault = 'expected a JSON value, got the end of the text at byte 0';
    expect(read('claude-code', '')).toMatchObject({ gates: true, fault });
  });

  it('readHookInput reads a report whose content is beyond strict JSON, because it decides nothing', () => {
    const text = JSON.stringify({ ...call, hook_event_name: 'PostToolUse', tool_response: 'N' });
    const input = good('claude-code', text.replace('"N"', '12345678901234567890'));
    expect(input).toMatchObject({ moment: 'result', content: '12345678901234567890' });
    const { tool_use_id: _id, ...without } = call;
    expect(read('claude-code', { ...without, hook_event_name: 'PostToolUse' })).toMatchObject({
      gates: false,
    });
  });

  it('readHookInput says that an empty text came where it expects one', () => {
    expect(read('claude-code', { ...call, tool_use_id: '' })).toMatchObject({
      fault: expect.stringContaining('expected a text in tool_use_id, got an empty one'),
    });
  });

  it('readHookInput knows the members and events of each client', () => {
    expect(good('codex', { ...call, tool_input: 'patch' }).tool?.arguments).toEqual({ input: 'patch' });
    const cursor = { ...call, session_id: undefined, conversation_id: 'c-1', hook_event_name: 'preToolUse' };
    expect(good('cursor', cursor)).toMatchObject({ moment: 'call', session: 'c-1' });
    expect(good('opencode', { ...call, hook_event_name: 'tool.execute.before' }).moment).toBe('call');
    const gemini = {
      ...call,
      tool_use_id: undefined,
      hook_event_name: 'BeforeTool',
      mcp_context: { server_name: 'ledger', tool_name: 'pay' },
    };
    const before = good('gemini', gemini).tool;
    expect(before?.mcp).toEqual({ server: 'ledger', name: 'pay' });
    const after = good('gemini', { ...gemini, hook_event_name: 'AfterTool', tool_response: 'ok' }).tool;
    expect(after?.callId).toBe(before?.callId);
  });

  it('readHookInput takes a result of Gemini CLI with an error as a failure, and keeps it', () => {
    const after = { ...call, tool_use_id: undefined, hook_event_name: 'AfterTool' };
    const error = { message: 'not pinned', type: 'mcp_tool_error' };
    const response = { llmContent: 'x', returnDisplay: 'x', error };
    expect(good('gemini', { ...after, tool_response: response })).toMatchObject({
      moment: 'failure',
      content: response,
    });
    expect(good('gemini', { ...after, tool_response: { llmContent: 'x' } }).moment).toBe('result');
  });

  it('readHookInput refuses an MCP tool of Gemini CLI whose server is not named', () => {
    const before = { ...call, tool_use_id: undefined, hook_event_name: 'BeforeTool', tool_name: 'mcp_a_pay' };
    expect(read('gemini', before)).toEqual({
      gates: true,
      fault: 'BeforeTool: expected the server of mcp_a_pay in mcp_context, got none',
    });
    expect(read('gemini', { ...before, mcp_context: { server_name: 'a', tool_name: 'pay' } })).toMatchObject({
      tool: { mcp: { server: 'a', name: 'pay' } },
    });
  });

  it('readHookInput accepts a text of the largest size that a hook reads', () => {
    const large = { ...call, tool_input: { command: 'x'.repeat(limits.hookInputBytes / 2) } };
    expect(read('claude-code', large)).toMatchObject({ moment: 'call' });
  });
});

describe('the events of a hook', () => {
  it('a call of an MCP tool and its event have the own name and server of the tool, and keep the name of the client', () => {
    const input = good('claude-code', { ...call, tool_name: 'mcp__ledger__pay__all', cwd: '/w' });
    expect(callOf(input, input.tool!)).toMatchObject({
      tool: { name: 'pay__all', server: 'ledger' },
      context: { client: 'claude-code', toolName: 'mcp__ledger__pay__all', cwd: '/w' },
      runId: 's-1',
    });
    const event = rulingEvent(input, { tool: input.tool!, decision }, stamp);
    expect(event).toMatchObject({
      resource: { name: 'pay__all', type: 'mcp_tool' },
      metadata: { server: { name: 'ledger' }, toolName: 'mcp__ledger__pay__all' },
    });
  });

  it('a call and its refusal carry the id of the call and the evaluation', () => {
    const input = good('codex', call);
    const allowed = rulingEvent(input, { tool: input.tool!, decision }, stamp);
    expect(allowed).toMatchObject({
      runId: 's-1',
      eventType: 'tool.call',
      metadata: { toolCallId: 'toolu_1', evaluationId: decision.evaluationId, decision: 'allow' },
    });
    const denied = { ...decision, decision: 'deny' as const, allowed: false };
    expect(rulingEvent(input, { tool: input.tool!, decision: denied }, stamp)).toMatchObject({
      eventType: 'tool.denied',
      metadata: { toolCallId: 'toolu_1', status: 'deny' },
    });
  });

  it('a report keeps prompts and results by their hash', () => {
    const input = good('claude-code', { ...call, hook_event_name: 'UserPromptSubmit', prompt: 'my secret' });
    const event = reportEvent(input, stamp);
    expect(event.eventType).toBe('prompt.submitted');
    expect(JSON.stringify(event)).not.toContain('secret');
    expect(event.metadata?.['content']).toMatchObject({ bytes: 11 });
    expect(event.metadata).not.toHaveProperty('timestampSource');
  });

  it('a session that is resumed does not start again', () => {
    const of = (source: string) =>
      reportEvent(good('codex', { ...call, hook_event_name: 'SessionStart', source }), stamp).eventType;
    expect(['startup', 'clear', 'resume', 'compact'].map(of)).toEqual([
      'run.started',
      'run.started',
      'agent.step',
      'agent.step',
    ]);
  });

  it.each(agentClients)('%s gets a refusal in its own form, and an allowed call no permission', (client) => {
    const denied = decided(client, { ...decision, decision: 'deny', allowed: false, reason: 'no shell' });
    expect(denied.exitCode).toBe(0);
    expect(denied.stdout).toContain('no shell (decision pev_');
    expect(JSON.stringify(JSON.parse(denied.stdout))).toMatch(
      /"(permissionDecision|permission|decision)":"deny"/,
    );
    expect(decided(client, decision)).toEqual({ stdout: '{}\n', stderr: '', exitCode: 0 });
    const warned = decided(client, { ...decision, decision: 'warn', reason: 'careful' });
    expect(warned.stdout).toContain('careful');
    expect(warned.stdout).not.toMatch(/"allow"/);
    const approvalId = 'apr_01m8e7w8x1f2js0crxsyzkqgsq';
    const escalated = { ...decision, decision: 'escalate' as const, allowed: false, approvalId };
    expect(decided(client, escalated).stdout).toContain(`gov approvals show ${approvalId}`);
  });

  it.each(agentClients)('%s shows hidden characters in the reason of a decision as escapes', (client) => {
    const reason = 'tool.name is "pa\u200by\ufe0f"';
    for (const of of [
      { ...decision, decision: 'deny' as const, allowed: false, reason },
      { ...decision, decision: 'warn' as const, reason },
    ]) {
      const { stdout } = decided(client, of);
      expect(
        Object.values(JSON.parse(stdout))
          .map((each) => JSON.stringify(each))
          .join(),
      ).toContain('pa\\\\u200by\\\\ufe0f');
    }
  });
});

describe.skipIf(!hasData)('recorded hooks of real clients', () => {
  const folder = 'agents/claude-code-2.1.331-allowed';
  const claude = (): HookInput[] =>
    readdirSync(data(folder))
      .filter((name) => name.endsWith('_hook'))
      .toSorted()
      .map((name) => good('claude-code', readFileSync(data(`${folder}/${name}`), 'utf8')));
  const codex = (): HookInput[] =>
    readFileSync(data('agents/codex-hooks.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => good('codex', line));

  it('the moments of a session of Claude Code 2.1.331 and of Codex 0.169 are known', () => {
    expect(claude().map(({ moment }) => moment)).toEqual(['prompt', 'call', 'result', 'stop', 'end']);
    expect(codex().map(({ moment }) => moment)).toEqual(['start', 'call', 'stop']);
  });

  it('a hook names run, call, tool and agent as the importer of the transcript does', () => {
    const name = 'agents/transcript-a48c2586-1147-4b76-9f7a-4637e11f95e6.jsonl';
    const lines = documents(readFileSync(data(name), 'utf8'), name);
    const [run] = importRuns(lines, { format: 'claude-code', importedAt: 0, sourceName: name });
    const imported = run?.events.find(({ eventType }) => eventType === 'tool.call');
    const input = claude().find(({ moment }) => moment === 'call');
    const event = rulingEvent(input!, { tool: input!.tool!, decision }, stamp);
    for (const member of ['runId', 'eventType', 'actor', 'resource', 'action'] as const)
      expect(event[member]).toEqual(imported?.[member]);
    expect(event.metadata?.['toolCallId']).toBe(imported?.metadata?.['toolCallId']);
    expect(imported?.metadata?.['arguments']).toEqual(input!.tool!.arguments);
  });
});
