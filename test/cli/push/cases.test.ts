/** Sessions that once were read wrong: what a user sees of each after `events push`. The files are made by us. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../../src/contract/events.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
});
afterAll(() => plane.end());

type Line = Readonly<Record<string, unknown>>;
const at = (second: number) => `2026-11-20T10:00:${String(second).padStart(2, '0')}Z`;
/** Writes lines of a session of Claude Code; each has its place as id and time. */
const claude = (sessionId: string, lines: readonly Line[]): string =>
  lines
    .map((each, no) => JSON.stringify({ sessionId, uuid: `l${no}`, timestamp: at(no), ...each }))
    .join('\n');
const asked = (content: unknown, more: Line = {}): Line => ({
  type: 'user',
  message: { role: 'user', content },
  ...more,
});
const answered = (id: string, content: unknown, more: Line = {}): Line => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'm', stop_reason: null, content },
  ...more,
});
const use = (id: string, name: string, input: Line = {}) => ({ type: 'tool_use', id, name, input });
const result = (id: string, content: unknown, more: Line = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});

interface Seen {
  readonly exit: number | null;
  readonly text: string;
  /** `call pay {…}`, `result pay ok`, `prompt …`, `output …`: the facts of the run, with actors of subagents. */
  readonly facts: readonly string[];
  /** Whether each file of the run was read whole. */
  readonly balanced: boolean;
}

async function pushed(runId: string, ...files: readonly string[]): Promise<Seen> {
  const { code, stdout, stderr } = await plane.gov(`events push --from auto ${files.join(' ')}`);
  const { body } = await plane.call('GET', `/events?runId=${encodeURIComponent(runId)}&limit=200`);
  const events: readonly AuditEvent[] = body.events ?? [];
  const balance = await plane.gov(`runs balance ${runId} -o json`);
  const isRead = balance.code === 0 && JSON.parse(balance.stdout).files.length > 0;
  return { exit: code, text: stdout + stderr, facts: events.flatMap(factOf), balanced: isRead };
}

function factOf({ eventType, actor, resource, metadata }: AuditEvent): string[] {
  const tool = typeof resource === 'object' && resource !== null ? resource.name : resource;
  const by = typeof actor === 'object' && String(actor.name).includes('/') ? [`by ${actor.name}`] : [];
  const join = (...parts: readonly unknown[]) => [
    [...parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))), ...by].join(' '),
  ];
  switch (eventType) {
    case 'tool.call':
      return join('call', tool, metadata['arguments'] ?? {});
    case 'tool.result':
      return join('result', tool, metadata['outcome']);
    case 'prompt.submitted':
      return join('prompt', metadata['content']);
    case 'output.delivered':
      return join('output', metadata['content']);
    case 'run.error':
      return join('error', metadata['content'] ?? '');
    case 'x.tool.observed':
    case 'x.unknown':
      return join(eventType);
    default:
      return [];
  }
}
const text = (words: string) => [{ text: words, type: 'text' }];

describe('a session that was read wrong before', () => {
  it('a subagent in a file of its own is in the run of its session, in any order, again and again', async () => {
    const main = claude('s101', [
      asked('Clean up'),
      answered('m1', [use('t1', 'Agent', { prompt: 'remove tmp' })]),
      asked([result('t1', 'done')], { toolUseResult: { agentId: 'a1' } }),
    ]);
    const own = { isSidechain: true, agentId: 'a1' };
    const agent = claude('s101', [
      { ...asked('remove tmp', own), uuid: 'x1' },
      { ...answered('m2', [use('t2', 'Bash', { command: 'rm -rf tmp' })], own), uuid: 'x2' },
      { ...asked([result('t2', '')], own), uuid: 'x3' },
    ]);
    plane.write('s101.jsonl', main);
    plane.write('s101/subagents/agent-a1.jsonl', agent);
    const files = ['s101/subagents/agent-a1.jsonl', 's101.jsonl'];
    const first = await pushed('s101', ...files);
    expect([first.exit, first.balanced]).toEqual([0, true]);
    expect(first.facts.toSorted()).toEqual([
      'call Agent {"prompt":"remove tmp"}',
      'call Bash {"command":"rm -rf tmp"} by claude-code/a1',
      'prompt Clean up',
      'prompt remove tmp by claude-code/a1',
      'result Agent ok',
      'result Bash ok by claude-code/a1',
    ]);
    expect((await pushed('s101', ...files.toReversed())).facts).toEqual(first.facts);
  });

  it('calls of a subagent that only lines of progress have are its calls', async () => {
    const progress = (type: string, message: Line, no: number): Line => ({
      type: 'progress',
      data: {
        type: 'agent_progress',
        agentId: 'a1',
        message: { type, uuid: `p${no}`, timestamp: at(no), message },
      },
      parentToolUseID: 't1',
    });
    const asks = {
      id: 'm2',
      role: 'assistant',
      model: 'm',
      content: [use('t2', 'Bash', { command: 'rm tmp' })],
    };
    plane.write(
      's102.jsonl',
      claude('s102', [
        asked('Clean up'),
        answered('m1', [use('t1', 'Task')]),
        progress('assistant', asks, 2),
        progress('user', { role: 'user', content: [result('t2', '')] }, 3),
        asked([result('t1', 'done')], { toolUseResult: { agentId: 'a1' } }),
      ]),
    );
    const { exit, facts, balanced } = await pushed('s102', 's102.jsonl');
    expect([exit, balanced]).toEqual([0, true]);
    expect(facts).toEqual([
      'prompt Clean up',
      'call Task {}',
      'call Bash {"command":"rm tmp"} by claude-code/a1',
      'result Bash ok by claude-code/a1',
      'result Task ok',
    ]);
  });

  it('a session of Qwen Code is refused by name', async () => {
    const parts = [{ functionCall: { id: 'c1', name: 'read', args: {} } }];
    plane.write(
      'qwen.jsonl',
      claude('s103', [
        { type: 'user', message: { role: 'user', parts: [{ text: 'Show it' }] } },
        { type: 'assistant', message: { role: 'model', parts } },
      ]),
    );
    const { exit, text: said, facts } = await pushed('s103', 'qwen.jsonl');
    expect([exit, facts]).toEqual([2, []]);
    expect(said).toContain('looks like a session of Qwen Code');
  });

  it('one call that a stream wrote three times is one call, with the last input', async () => {
    const [beginning, whole] = [text('Let'), text('Let me pay.')];
    plane.write(
      's106.jsonl',
      claude('s106', [
        asked('Pay'),
        answered('m1', beginning),
        answered('m1', [...whole, use('t1', 'pay')]),
        answered('m1', [...whole, use('t1', 'pay', { amount: 100 })]),
        asked([result('t1', 'sent')]),
        asked([result('t1', 'sent')]),
      ]),
    );
    const { facts, balanced } = await pushed('s106', 's106.jsonl');
    expect([facts, balanced]).toEqual([['prompt Pay', 'call pay {"amount":100}', 'result pay ok'], true]);
  });

  it('a call that its user refused did not fail, an interruption is no prompt, an error of the API no answer', async () => {
    const refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    plane.write(
      's107.jsonl',
      claude('s107', [
        asked('Go'),
        answered('m1', [use('t1', 'Bash', { command: 'rm -rf /srv' })]),
        asked([result('t1', refusal, { is_error: true })], { toolUseResult: 'User rejected tool use' }),
        asked(text('[Request interrupted by user for tool use]')),
        {
          type: 'assistant',
          isApiErrorMessage: true,
          message: { id: 'x', role: 'assistant', model: '<synthetic>', content: text('API Error: 500') },
        },
      ]),
    );
    const { facts, balanced } = await pushed('s107', 's107.jsonl');
    expect([facts, balanced]).toEqual([
      [
        'prompt Go',
        'call Bash {"command":"rm -rf /srv"}',
        'result Bash refused',
        `error ${JSON.stringify(text('API Error: 500'))}`,
      ],
      true,
    ]);
  });

  it('what a person types while the agent works is a prompt', async () => {
    const queue = (operation: string, more: Line = {}): Line => ({
      type: 'queue-operation',
      operation,
      uuid: undefined,
      ...more,
    });
    plane.write(
      's121.jsonl',
      claude('s121', [
        asked('List invoices'),
        answered('m1', [use('t1', 'Bash')]),
        queue('enqueue', { content: 'Also delete the old ones' }),
        asked([result('t1', 'x')]),
        queue('remove'),
      ]),
    );
    const { facts, balanced } = await pushed('s121', 's121.jsonl');
    expect([facts.filter((fact) => fact.startsWith('prompt')), balanced]).toEqual([
      ['prompt List invoices', 'prompt Also delete the old ones'],
      true,
    ]);
  });

  it('a fork of Codex has its own calls, and counts those of its parent', async () => {
    const line = (no: number, type: string, payload: Line): string =>
      JSON.stringify({ timestamp: `2026-11-21T09:00:${String(no).padStart(2, '0')}Z`, type, payload });
    const [old, own] = ['01a10000-0000-7000-8000-00000000000a', '01a1ffff-0000-7000-8000-00000000000b'];
    const [parent, fork] = ['01a10000-0000-7000-8000-000000000001', '01a1f000-0000-7000-8000-000000000002'];
    const turn = (from: number, turnId: string, id: string, command: string): string[] => [
      line(from, 'turn_context', { turn_id: turnId, cwd: '/srv', model: 'm' }),
      line(from + 1, 'response_item', {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: `do ${id}` }],
      }),
      line(from + 2, 'response_item', {
        type: 'function_call',
        call_id: id,
        name: 'shell',
        arguments: JSON.stringify({ command }),
      }),
      line(from + 3, 'response_item', { type: 'function_call_output', call_id: id, output: 'sent' }),
    ];
    const meta = (no: number, id: string, more: Line = {}) =>
      line(no, 'session_meta', { id, timestamp: at(no), cwd: '/srv', ...more });
    plane.write(
      'fork.jsonl',
      [
        meta(0, fork, { forked_from_id: parent }),
        meta(1, parent),
        ...turn(2, old, 'p1', 'transfer 100'),
        ...turn(8, own, 'c1', 'date'),
      ].join('\n'),
    );
    const { exit, text: said, facts, balanced } = await pushed(fork, 'fork.jsonl');
    expect([exit, balanced]).toEqual([0, true]);
    expect(facts.filter((fact) => fact.startsWith('call'))).toEqual(['call shell {"command":"date"}']);
    expect(said).toContain(`inherited from run ${parent}: 1 call`);
  });

  it('messages of Bedrock Converse have a call and its failed result', async () => {
    plane.write('bedrock.json', [
      { role: 'user', content: [{ text: 'Pay bob' }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'pay', input: { amount: 5 } } }] },
      {
        role: 'user',
        content: [{ toolResult: { toolUseId: 'c1', content: [{ json: { ok: false } }], status: 'error' } }],
      },
    ]);
    const { exit, facts, balanced } = await pushed('b112', 'bedrock.json', '--run b112');
    expect([exit, balanced]).toEqual([0, true]);
    expect(facts).toEqual(['prompt [{"text":"Pay bob"}]', 'call pay {"amount":5}', 'result pay error']);
  });

  it('a tool of Langfuse that timed out has a result, with its call', async () => {
    const observation = (id: string, more: Line) => ({ id, startTime: at(1), endTime: at(2), ...more });
    const calls = [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: '{"amount":5}' } }];
    plane.write('langfuse.json', {
      trace: { id: 't118', name: 'agent', timestamp: at(0) },
      observations: [
        observation('g', {
          type: 'GENERATION',
          model: 'm',
          output: { role: 'assistant', tool_calls: calls },
        }),
        observation('t', {
          type: 'TOOL',
          name: 'pay',
          input: { amount: 5 },
          output: null,
          level: 'ERROR',
          statusMessage: 'refused by the bank',
        }),
      ],
    });
    const { exit, facts, balanced } = await pushed('t118', 'langfuse.json');
    expect([exit, balanced]).toEqual([0, true]);
    expect(facts).toEqual(['call pay {"amount":5}', 'result pay error']);
  });

  it('calls of Ollama without ids balance, and their results join by name', async () => {
    const ask = (name: string) => ({ function: { name, arguments: {} } });
    plane.write('ollama.json', [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: '', tool_calls: [ask('read'), ask('write')] },
      { role: 'tool', tool_name: 'write', content: 'two' },
      { role: 'tool', tool_name: 'read', content: 'one' },
    ]);
    const { exit, facts, balanced } = await pushed('ollama', 'ollama.json', '--run ollama');
    expect([exit, balanced]).toEqual([0, true]);
    expect(facts).toEqual([
      'prompt Go',
      'call read {}',
      'call write {}',
      'result write unknown',
      'result read unknown',
    ]);
  });

  it('one call that three spans report is one call', async () => {
    const attributes = (of: Line) =>
      Object.entries(of).map(([key, value]) => ({ key, value: { stringValue: value } }));
    const span = (no: number, name: string, of: Line) => ({
      traceId: 'c'.repeat(32),
      spanId: `b${no}`.repeat(8),
      ...(no === 0 ? {} : { parentSpanId: `b${no - 1}`.repeat(8) }),
      name,
      startTimeUnixNano: String(1_795_850_000_000_000_000n + BigInt(no) * 1_000_000n),
      endTimeUnixNano: String(1_795_850_001_000_000_000n - BigInt(no) * 1_000_000n),
      attributes: attributes({
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'pay',
        'gen_ai.conversation.id': 'o109',
        ...of,
      }),
    });
    const mcp = { 'mcp.method.name': 'tools/call', 'mcp.session.id': 'm', 'jsonrpc.request.id': '7' };
    const spans = [
      span(0, 'execute_tool pay', { 'gen_ai.tool.call.id': 'c1' }),
      span(1, 'tools/call pay', mcp),
      span(2, 'tools/call pay', mcp),
    ];
    plane.write('otlp.json', { resourceSpans: [{ scopeSpans: [{ spans }] }] });
    const { exit, facts } = await pushed('o109', 'otlp.json');
    expect(exit).toBe(0);
    expect(facts.filter((fact) => fact.startsWith('call'))).toEqual(['call pay {}']);
    expect(facts.filter((fact) => fact === 'x.tool.observed')).toHaveLength(2);
  });
});

describe('a session and the file of its telemetry', () => {
  const telemetry = (session: string): string => {
    const record = (name: string, no: number, more: Readonly<Record<string, string>> = {}) => ({
      timeUnixNano: `17636328${String(no).padStart(2, '0')}000000000`,
      attributes: Object.entries({ 'session.id': session, 'event.name': name, ...more }).map(
        ([key, stringValue]) => ({ key, value: { stringValue } }),
      ),
    });
    const request = (no: number) =>
      record('claude_code.api_request', no, { request_id: `req_${no}`, model: 'm', output_tokens: '5' });
    const logRecords = [
      record('claude_code.user_prompt', 0, { prompt: '<REDACTED>' }),
      request(1),
      request(2),
      request(3),
    ];
    return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  };
  const session = (id: string): string =>
    claude(id, [
      asked('Clean up'),
      answered('m1', [use('t1', 'Agent', { prompt: 'remove tmp' })], { requestId: 'req_1' }),
      { ...asked('remove tmp'), isSidechain: true, agentId: 'a1' },
      { ...answered('m2', [use('t2', 'Bash')], { requestId: 'req_2' }), isSidechain: true, agentId: 'a1' },
      answered('m3', text('done')),
    ]);

  it('have each call of a model once, and each prompt, whichever file comes first, again and again', async () => {
    for (const run of ['m120', 'm121']) {
      plane.write(`${run}.jsonl`, session(run));
      plane.write(`${run}.otlp.json`, telemetry(run));
      const files = [`${run}.jsonl`, `${run}.otlp.json`];
      const given = run === 'm120' ? files : files.toReversed();
      for (const pushes of [given, given.toReversed()])
        expect(await pushed(run, ...pushes)).toMatchObject({ exit: 0, balanced: true });
      const { body } = await plane.call('GET', `/events?runId=${run}&limit=200`);
      const count = (type: string): number =>
        body.events.filter(({ eventType }: AuditEvent) => eventType === type).length;
      const types = ['model.invoked', 'x.model.observed', 'prompt.submitted', 'x.prompt.observed'];
      // the answer m3 has no id of its request, so that it and the third record stay two
      expect(types.map(count), run).toEqual([4, 2, 2, 1]);
    }
  });
});
