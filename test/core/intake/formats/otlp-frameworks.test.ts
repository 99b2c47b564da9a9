/** Spans and log records in the shape of real frameworks. The shapes were sent by the packages that each test names. */
import { describe, expect, it } from 'vitest';
import { importValue, expectToFit, meta, ofType } from '../fits.ts';

const attributes = (values: Record<string, unknown>) =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
let made = 0;
const span = (name: string, values: Record<string, unknown>, members: object = {}) => ({
  traceId: 'a'.repeat(32),
  spanId: (++made).toString(16).padStart(16, '0'),
  name,
  startTimeUnixNano: '1767603600000000000',
  endTimeUnixNano: '1767603601000000000',
  attributes: attributes(values),
  ...members,
});
const read = (...spans: object[]) => {
  const runs = importValue({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  expectToFit(runs);
  return runs;
};

describe('spans of Google ADK (@google/adk 2.0)', () => {
  it('are calls of a model and of tools, also of a tool that threw and has no attributes', () => {
    const runs = read(
      span('call_llm', {
        'gen_ai.system': 'gcp.vertex.agent',
        'gen_ai.request.model': 'gemini-x',
        'gcp.vertex.agent.session_id': 's1',
        'gcp.vertex.agent.llm_request': '{"contents":[]}',
        'gcp.vertex.agent.llm_response': '{"content":{"role":"model","parts":[]}}',
        'gen_ai.usage.input_tokens': 1,
      }),
      span('execute_tool pay', {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'pay',
        'gen_ai.tool.call.id': 'adk-1',
        'gcp.vertex.agent.llm_request': '{}',
        'gcp.vertex.agent.tool_call_args': '{"amount":5}',
        'gcp.vertex.agent.tool_response': '{"result":"paid 5"}',
      }),
      span('execute_tool pay', {}, { status: { code: 2, message: 'too much' } }),
    );
    expect(runs.map(({ runId }) => runId)).toEqual(['s1']);
    expect(meta(ofType(runs, 'model.invoked')[0])).toMatchObject({
      input: { contents: [] },
      output: { content: { role: 'model' } },
      usage: { input_tokens: 1 },
    });
    expect(
      ofType(runs, 'tool.call').map((event) => [
        (event.resource as { name?: string } | undefined)?.name,
        meta(event)['arguments'],
      ]),
    ).toEqual([
      ['pay', { amount: 5 }],
      ['pay', undefined],
    ]);
    expect(ofType(runs, 'tool.result').map((event) => meta(event)['outcome'])).toEqual(['ok', 'error']);
  });
});

describe('spans of Langfuse (@langfuse/otel 5.11)', () => {
  it('have the model, its messages and tokens, and the calls that it asks for', () => {
    const runs = read(
      span('gen', {
        'langfuse.observation.type': 'generation',
        'langfuse.observation.model.name': 'm',
        'langfuse.observation.input': '[{"role":"user","content":"go"}]',
        'langfuse.observation.output':
          '{"role":"assistant","tool_calls":[{"id":"call_0","type":"function","function":{"name":"pay"}}]}',
        'langfuse.observation.usage_details': '{"input":1,"output":2}',
        'session.id': 's',
      }),
    );
    const [model] = ofType(runs, 'model.invoked');
    expect(model?.resource).toMatchObject({ name: 'm' });
    expect(meta(model)).toMatchObject({
      toolCallIds: ['call_0'],
      input: [{ role: 'user', content: 'go' }],
      usage: { input: 1, output: 2 },
    });
    expect(meta(model)['otel']).not.toHaveProperty('langfuse.observation.output');
  });
});

describe('spans of LangChain (@arizeai/openinference-instrumentation-langchain 4.1)', () => {
  const answer = (id: string, status: string) => ({
    'openinference.span.kind': 'TOOL',
    'input.value': '{"amount":5}',
    'output.value': JSON.stringify({
      output: { lc: 1, type: 'constructor', kwargs: { status, content: 'x', tool_call_id: id, name: 'pay' } },
    }),
  });

  it('name the call in the message of the tool, and its ending', () => {
    const runs = read(span('pay', answer('call_0', 'success')), span('pay', answer('call_1', 'error')));
    expect(ofType(runs, 'tool.call').map((event) => meta(event)['toolCallId'])).toEqual(['call_0', 'call_1']);
    expect(ofType(runs, 'tool.result').map((event) => meta(event)['outcome'])).toEqual(['ok', 'error']);
  });
});

describe('semantic-conventions-genai 0.1.0', () => {
  it.each([
    ['create_memory_store', 'memory.write'],
    ['delete_memory_store', 'memory.write'],
    ['search_memory', 'memory.read'],
    ['invoke_workflow', 'workflow.invoked'],
    ['plan', 'agent.planned'],
    ['retrieval', 'kb.query'],
    ['fetch_response', 'agent.step'],
    ['an_operation_of_tomorrow', 'agent.step'],
  ])('reads the operation %s as %s', (operation, eventType) => {
    const [run] = read(span('x', { 'gen_ai.operation.name': operation }));
    expect(run?.events.map((event) => event.eventType)).toEqual([eventType]);
  });

  it.each([
    [{ 'mcp.method.name': 'resources/read', 'mcp.resource.uri': 'file:///a' }, 'kb.query', 'file:///a'],
    [{ 'mcp.method.name': 'prompts/get', 'gen_ai.prompt.name': 'greet' }, 'kb.query', 'greet'],
    [{ 'mcp.method.name': 'tools/list' }, 'agent.step', undefined],
  ])('reads spans of MCP with %j', (values, eventType, name) => {
    const [event] = read(span('x', values))[0]?.events ?? [];
    expect([event?.eventType, (event?.resource as { name?: string } | undefined)?.name]).toEqual([
      eventType,
      name,
    ]);
  });
});

describe('a file of log records of the SDK of OpenAI', () => {
  it('has each message of the conversation once, and each call of a model', () => {
    const message = (role: string, text: string, asked: number, at: number) => ({
      timeUnixNano: `17676036000000${asked}${at.toString().padStart(3, '0')}00`,
      traceId: 'a'.repeat(32),
      spanId: asked.toString().padStart(16, '0'),
      attributes: attributes({
        'event.name': role === 'choice' ? 'gen_ai.choice' : `gen_ai.${role}.message`,
      }),
      body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: text } }] } },
    });
    const said = ['be kind', 'go', 'done', 'yes', 'done', 'yes'];
    const logRecords = [2, 4, 6].flatMap((asked) => [
      ...said
        .slice(0, asked)
        .map((text, at) =>
          message(at === 0 ? 'system' : at % 2 === 1 ? 'user' : 'assistant', text, asked, at),
        ),
      message('choice', 'done', asked, 99),
    ]);
    const spans = [2, 4, 6].map((asked) =>
      span('chat m', { 'gen_ai.operation.name': 'chat' }, { spanId: asked.toString().padStart(16, '0') }),
    );
    const runs = importValue([
      { resourceSpans: [{ scopeSpans: [{ spans }] }] },
      { resourceLogs: [{ scopeLogs: [{ logRecords }] }] },
    ]);
    const counts = ['prompt.submitted', 'agent.step', 'model.invoked', 'x.model.observed'];
    expect(counts.map((type) => ofType(runs, type).length)).toEqual([3, 3, 3, 3]);
    expectToFit(runs);
  });
});

describe('log records of the SDK of OpenAI (@opentelemetry/instrumentation-openai 0.22)', () => {
  it('name the calls that a choice asks for, and the result that a tool message has', () => {
    const record = (name: string, body: string) => ({
      timeUnixNano: '1767603600000000000',
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      attributes: attributes({ 'event.name': name, 'gen_ai.system': 'openai' }),
      body: { kvlistValue: JSON.parse(body) },
    });
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const map = (key: string, values: object[]) => ({ key, value: { kvlistValue: { values } } });
    const call = { kvlistValue: { values: [text('id', 'call_0')] } };
    const choice = map('message', [{ key: 'tool_calls', value: { arrayValue: { values: [call] } } }]);
    const runs = importValue({
      resourceLogs: [
        {
          scopeLogs: [
            {
              logRecords: [
                record('gen_ai.choice', JSON.stringify({ values: [choice] })),
                record(
                  'gen_ai.tool.message',
                  JSON.stringify({ values: [text('id', 'call_0'), text('content', 'paid 5')] }),
                ),
              ],
            },
          ],
        },
      ],
    });
    expect(meta(ofType(runs, 'model.invoked')[0])['toolCallIds']).toEqual(['call_0']);
    expect(ofType(runs, 'tool.result').map((event) => meta(event))).toMatchObject([
      { toolCallId: 'call_0', content: 'paid 5', outcome: 'unknown' },
    ]);
  });
});
