import { describe, expect, it } from 'vitest';
import { readHookInput, type HookInput } from '../../../../src/core/agents/hook-input.ts';
import { hasData } from '../../../paths.ts';
import { expectToFit, importFile, importValue, meta, ofType, readData, total, types } from '../fits.ts';

const claude = 'agents/claude-code-2.1.331-allowed';
const codex = 'agents/codex-0.169-allowed';

describe.skipIf(!hasData)('importing OTLP files (skipped without the recorded runs)', () => {
  it('the OTLP importer finds 31 tool calls in 8 runs, each caused by the model that asked', () => {
    // a trace may be spread over requests, and only its last span names the run
    const requests = ['0001', '0002'].map((name) =>
      JSON.parse(readData(`otlp/vercel-ai-sdk-7-genai.json/${name}.traces.json`)),
    );
    const runs = importValue(requests);
    expect(runs.length).toBe(8);
    expect(ofType(runs, 'tool.call').length).toBe(31);
    const asked = new Set(ofType(runs, 'model.invoked').flatMap((event) => meta(event)['toolCallIds'] ?? []));
    expect(ofType(runs, 'tool.call').every((event) => asked.has(meta(event)['toolCallId']))).toBe(true);
    expectToFit(runs);
  });

  it('the OTLP importer reads logs of Codex, drops internal spans, and counts both', () => {
    const [run] = importFile('otlp/codex-cli-0.169/0004.logs.json');
    const count = (type: string) => ofType([run!], type).length;
    expect(
      ['prompt.submitted', 'model.invoked', 'tool.decision', 'tool.call', 'tool.result'].map(count),
    ).toEqual([1, 5, 4, 4, 4]);
    expect(run?.changes.get('bookkeeping')).toBe(28);
    const [spans] = importFile('otlp/codex-cli-0.169/0001.traces.json');
    expect(types(spans)).toEqual(['agent.step', 'agent.step']);
    expect(meta(spans?.events[0])['otel']).toMatchObject({
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
    expect(spans?.changes.get('bookkeeping')).toBe(440);
  });

  it('the OTLP importer reads protobuf logs of Claude Code and Codex into their session runs', () => {
    const logs = ['001', '006', '012'].flatMap((name) => importFile(`${claude}/${name}_v1_logs`));
    expect(new Set(logs.map(({ runId }) => runId))).toEqual(
      new Set(['a48c2586-1147-4b76-9f7a-4637e11f95e6']),
    );
    expect(total(logs, ({ items }) => items)).toBe(26);
    expect(ofType(logs, 'tool.decision').map((event) => meta(event)['toolCallId'])).toEqual(['toolu_01FAKE']);
    const spans = ['007', '011'].flatMap((name) => importFile(`${claude}/${name}_v1_traces`));
    expect(ofType(spans, 'tool.call').map((event) => meta(event)['toolCallId'])).toEqual(['toolu_01FAKE']);
    expect(ofType(spans, 'model.invoked').length).toBe(2);
    const other = ['002', '004', '008'].flatMap((name) => importFile(`${codex}/${name}_v1_logs`));
    expect(ofType(other, 'tool.call').map((event) => meta(event)['toolCallId'])).toEqual(['call_1']);
    expectToFit([...logs, ...spans, ...other]);
  });
});

const attributes = (values: Record<string, string>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
const span = (spanId: string, values: Record<string, string>, members: object = {}) => ({
  traceId: 'a'.repeat(32),
  spanId,
  name: spanId,
  startTimeUnixNano: '1767603600000000000',
  endTimeUnixNano: '1767603601000000000',
  attributes: attributes(values),
  ...members,
});
const traces = (...spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const log = (values: Record<string, string>) => ({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes: attributes(values) }] }] }],
});

describe('importing spans and logs', () => {
  const tool = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'pay',
    'gen_ai.tool.call.id': 'c1',
  };

  it('the OTLP importer takes the run id from an ancestor span, else from the trace', () => {
    const [run] = importValue(
      traces(
        span('b'.repeat(16), tool, { parentSpanId: 'c'.repeat(16) }),
        span('c'.repeat(16), { 'session.id': 'my-session' }),
      ),
    );
    expect(run?.runId).toBe('my-session');
    expect(importValue(traces(span('b'.repeat(16), tool)))[0]?.runId).toBe(`trace:${'a'.repeat(32)}`);
  });

  it('the OTLP importer records a call in both a span and a log once and reports that', () => {
    const both = [
      traces(span('b'.repeat(16), { ...tool, 'session.id': 's' })),
      log({
        'event.name': 'claude_code.tool_result',
        'session.id': 's',
        tool_use_id: 'c1',
        tool_name: 'pay',
      }),
    ];
    const [run] = importValue(both);
    expect(types(run)).toEqual(['tool.result', 'tool.call']);
    expect(run?.changes.get('call_merged')).toBe(1);
  });

  it.each([
    ['an empty text', { 'gen_ai.tool.call.result': '' }, 'ok'],
    ['an exit code of 1', { 'gen_ai.tool.call.result': '{"exit_code":1}' }, 'error'],
    ['a result of MCP that is an error', { 'output.value': '{"isError":true,"content":[]}' }, 'error'],
    ['an error type', { 'error.type': '500' }, 'error'],
    ['the type of a timeout', { 'error.type': 'timeout' }, 'timed_out'],
    ['the exception of a timeout', { 'error.type': 'java.net.SocketTimeoutException' }, 'timed_out'],
    [
      'an error level of Langfuse',
      { 'langfuse.observation.level': 'ERROR', 'langfuse.observation.status_message': 'too much' },
      'error',
    ],
    ['an output of Langfuse', { 'langfuse.observation.output': 'paid' }, 'ok'],
  ])('the OTLP importer records a result of a span with %s', (_, more, outcome) => {
    const [run] = importValue(traces(span('b'.repeat(16), { ...tool, ...more })));
    const [result] = ofType([run!], 'tool.result');
    expect(meta(result)).toMatchObject({ toolCallId: 'c1', outcome });
  });

  it('the OTLP importer reads a call of a model in a span and a log with one id once, also of a program that numbers none', () => {
    const id = { key: 'gen_ai.response.id', value: { stringValue: 'resp_1' } };
    const named = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const resource = (service: string) => ({ attributes: [named('service.name', service)] });
    const attributes = (name: string, ...more: object[]) => [
      named(name, 'chat'),
      named('session.id', 's'),
      named('event.name', 'gen_ai.client.inference.operation.details'),
      ...more,
    ];
    const read = (service: string, spans: object[], logs: object[]) => {
      const documents = [
        { resourceSpans: [{ resource: resource(service), scopeSpans: [{ spans }] }] },
        { resourceLogs: [{ resource: resource(service), scopeLogs: [{ logRecords: logs }] }] },
      ];
      return types(importValue(documents)[0]).filter((type) => type.includes('model'));
    };
    const span = (n: number, ...more: object[]) => ({
      traceId: 'a'.repeat(32),
      spanId: `b${String(n).padStart(15, '0')}`,
      startTimeUnixNano: '1767603600000000000',
      attributes: attributes('gen_ai.operation.name', ...more),
    });
    const log = (n: number, ...more: object[]) => ({
      timeUnixNano: `176760360100000000${n}`,
      attributes: attributes('gen_ai.operation.name', ...more),
    });
    const [call, observed] = ['model.invoked', 'x.model.observed'];
    expect(read('agent', [span(1, id)], [log(1, id)])).toEqual([call, observed]);
    expect(read('agent', [span(1)], [log(1, id)])).toEqual([call, call]);
    // Codex reports each call in each kind of record
    expect(read('codex_cli_rs', [span(1), span(2, id)], [log(1, id), log(2)])).toEqual([
      call,
      call,
      observed,
      observed,
    ]);
  });

  it('the OTLP importer reads the exit code in the output that Codex logs', () => {
    const of = { 'conversation.id': 's', call_id: 'c', tool_name: 'exec_command', success: 'true' };
    const outcomeOf = (output: string) => {
      const [run] = importValue(log({ 'event.name': 'codex.tool_result', ...of, output }));
      return meta(ofType([run!], 'tool.result')[0])['outcome'];
    };
    const head = 'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code';
    expect([outcomeOf(`${head} 1\nOutput:\n`), outcomeOf(`${head} 0\nOutput:\nExit code: 1`)]).toEqual([
      'error',
      'ok',
    ]);
  });

  it('the OTLP importer reads a call of a model by OpenLLMetry, with messages in numbered attributes', () => {
    const [run] = importValue(
      traces(
        span('b'.repeat(16), {
          'llm.request.type': 'chat',
          'gen_ai.request.model': 'm',
          'gen_ai.prompt.1.role': 'tool',
          'gen_ai.prompt.1.tool_call_id': 'c0',
          'gen_ai.prompt.0.role': 'user',
          'gen_ai.prompt.0.content': 'weather and news',
          'gen_ai.completion.0.role': 'assistant',
          'gen_ai.completion.0.tool_calls.0.id': 'c1',
          'gen_ai.completion.0.tool_calls.0.name': 'get_weather',
          'gen_ai.completion.0.tool_calls.1.id': 'c2',
          'gen_ai.completion.0.tool_calls.1.name': 'get_news',
        }),
      ),
    );
    expect(types(run)).toEqual(['model.invoked']);
    expect(run?.events[0]?.resource).toMatchObject({ name: 'm' });
    const { toolCallIds, toolResultIds, input, output, otel } = meta(run?.events[0]);
    expect([toolCallIds, toolResultIds, otel]).toEqual([['c1', 'c2'], ['c0'], undefined]);
    expect(input).toEqual([
      { role: 'user', content: 'weather and news' },
      { role: 'tool', tool_call_id: 'c0' },
    ]);
    expect(output).toEqual([
      {
        role: 'assistant',
        tool_calls: [
          { id: 'c1', name: 'get_weather' },
          { id: 'c2', name: 'get_news' },
        ],
      },
    ]);
    expectToFit([run!]);
  });

  it('the OTLP importer records a repeated span once, and a refused call as blocked', () => {
    const one = span('b'.repeat(16), tool);
    expect(importValue(traces(one, one))[0]?.events.length).toBe(1);
    const [run] = importValue(
      log({ 'event.name': 'codex.tool_decision', 'conversation.id': 's', decision: 'denied', call_id: 'c' }),
    );
    expect(types(run)).toEqual(['tool.call_blocked']);
  });

  it.each([
    ['unsupported call: pay', { mcp_server: '' }, ['tool.call_blocked']],
    ['unsupported call: pay', { mcp_server: 'bank' }, ['tool.call', 'tool.result']],
    ['unsupported call: pay', { success: 'true' }, ['tool.call', 'tool.result']],
    ['unsupported call: refund', {}, ['tool.call', 'tool.result']],
    ['unsupported call: mcp__bankpay', { tool_namespace: 'mcp__bank' }, ['tool.call_blocked']],
    ['unsupported call: pay', { tool_namespace: 'functions' }, ['tool.call_blocked']],
    ['1 tool', { tool_name: 'tool_search', tool_namespace: 'functions' }, ['agent.step']],
    ['1 tool', { tool_name: 'tool_search', mcp_server: 'bank' }, ['tool.call', 'tool.result']],
    ['1 tool', { tool_name: 'tool_search', tool_namespace: 'mcp__bank' }, ['tool.call', 'tool.result']],
    ['', { tool_name: 'write_stdin', arguments: '{"session_id":1}' }, ['agent.step']],
    ['', { tool_name: 'write_stdin', arguments: '{"chars":"\\u0003"}' }, ['tool.call', 'tool.result']],
    ['', { tool_name: 'write_stdin', arguments: 'no JSON' }, ['tool.call', 'tool.result']],
  ])('the OTLP importer reads the output "%s" of Codex with %j as %j', (output, more, expected) => {
    const of = { 'conversation.id': 's', call_id: 'c', tool_name: 'pay', success: 'false', output };
    const [run] = importValue(log({ 'event.name': 'codex.tool_result', ...of, ...more }));
    expect(types(run)).toEqual(expected);
  });

  it.each([
    [{ success: 'true' }, ['tool.call', 'tool.result']],
    [{ success: 'false', error_type: 'policy_violation' }, ['tool.call_blocked']],
    [{ success: 'false', decision: 'reject' }, ['tool.call_blocked']],
    [{ success: 'false', error_type: 'shell_execute_error' }, ['tool.call', 'tool.result']],
  ])(
    'the OTLP importer reads a call of Gemini CLI with %j as %j, under the id of its hook',
    (more, expected) => {
      const of = { 'session.id': 's', function_name: 'pay', function_args: '{\n  "amount": 12\n}' };
      const [run] = importValue(log({ 'event.name': 'gemini_cli.tool_call', ...of, ...more }));
      expect(types(run)).toEqual(expected);
      const hook = {
        hook_event_name: 'BeforeTool',
        session_id: 's',
        tool_name: 'pay',
        tool_input: { amount: 12 },
      };
      const read = readHookInput('gemini', Buffer.from(JSON.stringify(hook)));
      const { tool } = read as HookInput;
      for (const { metadata, resource } of run?.events ?? [])
        expect([metadata?.['toolCallId'], resource]).toEqual([tool?.callId, { name: 'pay', type: 'tool' }]);
    },
  );

  it('the OTLP importer reads the span of a call of Gemini CLI as a step, because its log reports the call', () => {
    const call = { ...tool, 'session.id': 's', 'gen_ai.operation.name': 'tool_call' };
    const spans = [span('b'.repeat(16), call, { name: 'tool_call' })];
    const typesIn = (name: string) =>
      types(importValue({ resourceSpans: [{ scopeSpans: [{ scope: { name }, spans }] }] })[0]);
    expect([typesIn('gemini-cli'), typesIn('other')]).toEqual([['workflow.invoked'], ['tool.call']]);
  });
});
