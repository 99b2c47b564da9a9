import { describe, expect, it } from 'vitest';
import { expectToFit, importText, importValue, meta, ofType, types } from '../fits.ts';

const calls = (tools: readonly string[]) => ({
  role: 'assistant',
  content: '',
  tool_calls: tools.map((name) => ({ function: { name, arguments: {} } })),
});

describe('messages for the interface of version 4 of the AI SDK', () => {
  const message = (...toolInvocations: object[]) => [
    { id: 'm0', role: 'user', content: 'go' },
    { id: 'm1', role: 'assistant', content: '', createdAt: '2026-01-05T09:00:00Z', toolInvocations },
  ];

  it('have the calls of their invocations, and the results of those that ended', () => {
    const [run] = importValue(
      message(
        {
          state: 'result',
          step: 0,
          toolCallId: 'c1',
          toolName: 'weather',
          args: { city: 'Oslo' },
          result: '',
        },
        { state: 'call', toolCallId: 'c2', toolName: 'pay', args: { amount: 5 } },
      ),
    );
    expect(ofType([run!], 'tool.call').map((event) => meta(event)['arguments'])).toEqual([
      { city: 'Oslo' },
      { amount: 5 },
    ]);
    expect(ofType([run!], 'tool.result').map((event) => meta(event))).toMatchObject([
      { toolCallId: 'c1', content: '', outcome: 'unknown' },
    ]);
    expect(ofType([run!], 'output.delivered')).toEqual([]);
    expectToFit([run!]);
  });

  it('are marked where an invocation is not understood', () => {
    const [run] = importValue(
      message({ state: 'call', toolCallId: 'c1', toolName: 'pay', args: {} }, { odd: 1 }),
    );
    expect(ofType([run!], 'x.unknown')).toHaveLength(1);
  });
});

describe('results of Ollama', () => {
  it('a result that names its tool in tool_name answers the call of that tool', () => {
    const [run] = importValue([
      { role: 'user', content: 'go' },
      calls(['read', 'write']),
      { role: 'tool', tool_name: 'write', content: 'two' },
      { role: 'tool', tool_name: 'read', content: 'one' },
    ]);
    const [read, write] = ofType([run!], 'tool.call').map((event) => meta(event)['toolCallId']);
    expect(
      ofType([run!], 'tool.result').map((event) => [meta(event)['toolCallId'], meta(event)['content']]),
    ).toEqual([
      [write, 'two'],
      [read, 'one'],
    ]);
    expect(run?.changes.has('result_by_order')).toBe(false);
  });

  it('a result whose id no call has answers the call of its tool that has no id', () => {
    const [run] = importValue([
      calls(['read', 'write']),
      { role: 'tool', tool_call_id: 'x2', tool_name: 'write', content: 'two' },
      { role: 'tool', tool_call_id: 'x1', tool_name: 'read', content: 'one' },
    ]);
    const [read, write] = ofType([run!], 'tool.call').map((event) => meta(event)['toolCallId']);
    expect(ofType([run!], 'tool.result').map((event) => meta(event)['toolCallId'])).toEqual([write, read]);
  });

  it('an id that is a number joins a result like one that is a text', () => {
    const call = (id: number) => ({ id, function: { name: 'read', arguments: {} } });
    const result = (id: number) => ({ role: 'tool', tool_call_id: id, content: String(id) });
    const [run] = importValue([
      { role: 'assistant', content: '', tool_calls: [call(1), call(2)] },
      result(2),
      result(1),
    ]);
    expect(
      ofType([run!], 'tool.result').map((event) => [meta(event)['toolCallId'], meta(event)['content']]),
    ).toEqual([
      ['2', '2'],
      ['1', '1'],
    ]);
  });

  it('results of two calls of one tool are joined in order, and counted', () => {
    const result = (content: string) => ({ role: 'tool', tool_name: 'read', content });
    const [run] = importValue([calls(['read', 'read']), result('one'), result('two')]);
    expect(ofType([run!], 'tool.result').map((event) => meta(event)['matchedBy'])).toEqual(['order', 'name']);
    expect(run?.changes.get('result_by_order')).toBe(1);
  });
});

describe('messages of Bedrock Converse', () => {
  const use = { toolUse: { toolUseId: 'c1', name: 'pay', input: { amount: 5 } } };
  const answer = { toolResult: { toolUseId: 'c1', content: [{ json: { ok: false } }], status: 'error' } };

  it('toolUse is a call and toolResult its result', () => {
    const seen: string[] = [];
    const [run] = importText(
      JSON.stringify([
        { role: 'user', content: [{ text: 'pay bob' }] },
        { role: 'assistant', content: [{ text: 'I pay.' }, use] },
        { role: 'user', content: [answer] },
      ]),
      { sourceName: 'bedrock.json', saw: (_, why) => seen.push(why) },
    );
    expect(seen).toEqual(['messages of Bedrock Converse']);
    expect(types(run)).toEqual([
      'run.started',
      'prompt.submitted',
      'model.invoked',
      'tool.call',
      'tool.result',
    ]);
    expect(meta(ofType([run!], 'tool.call')[0])).toMatchObject({
      toolCallId: 'c1',
      arguments: { amount: 5 },
    });
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({ toolCallId: 'c1', outcome: 'error' });
    expectToFit([run!]);
  });

  it.each([
    ['user', use],
    ['user', { hologram: { text: 'pay' } }],
    ['assistant', { hologram: {} }],
    ['assistant', { toolUse: 'pay' }],
    ['user', { type: 'hologram', text: 'pay' }],
  ])('a block of a %s that is no text and no call is never a prompt or an answer: %j', (role, block) => {
    const [run] = importValue([{ role, content: [block] }]);
    expect(types(run).filter((type) => /prompt|output|tool/.test(type))).toEqual([]);
    expect(meta(ofType([run!], 'x.unknown')[0])['value']).toEqual(block);
  });
});

describe('messages of the AI SDK', () => {
  const call = (input: object) => ({ type: 'tool-call', toolCallId: 'c1', toolName: 'pay', ...input });
  const result = (output: object) => ({ type: 'tool-result', toolCallId: 'c1', toolName: 'pay', ...output });

  it.each([
    ['version 4', { args: { amount: 5 } }, { result: { paid: true } }, 'unknown', { paid: true }],
    ['version 4, failed', { args: { amount: 5 } }, { result: 'no', isError: true }, 'error', 'no'],
    [
      'version 5',
      { input: { amount: 5 } },
      { output: { type: 'json', value: { paid: true } } },
      'ok',
      { paid: true },
    ],
    ['version 5, empty', { input: { amount: 5 } }, { output: { type: 'text', value: '' } }, 'ok', ''],
    [
      'version 5, failed',
      { input: { amount: 5 } },
      { output: { type: 'error-text', value: 'no' } },
      'error',
      'no',
    ],
    [
      'version 6, denied',
      { input: { amount: 5 } },
      { output: { type: 'execution-denied', reason: 'no' } },
      'refused',
      'no',
    ],
  ])('parts of %s are a call and its result', (_, input, output, outcome, content) => {
    const [run] = importValue([
      { role: 'user', content: [{ type: 'text', text: 'pay' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'I pay.' }, call(input)] },
      { role: 'tool', content: [result(output)] },
      { role: 'assistant', content: [{ type: 'text', text: 'Paid.' }] },
    ]);
    expect(types(run)).toEqual([
      'run.started',
      'prompt.submitted',
      'model.invoked',
      'tool.call',
      'tool.result',
      'model.invoked',
      'output.delivered',
    ]);
    expect(meta(ofType([run!], 'tool.call')[0])).toMatchObject({
      toolCallId: 'c1',
      arguments: { amount: 5 },
    });
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({ toolCallId: 'c1', outcome, content });
    expectToFit([run!]);
  });

  it('two results in one message are two events', () => {
    const calls = ['a', 'b'].map((id) => ({ ...call({}), toolCallId: id }));
    const results = ['b', 'a'].map((id) => ({ ...result({ result: id }), toolCallId: id }));
    const [run] = importValue([
      { role: 'assistant', content: calls },
      { role: 'tool', content: results },
    ]);
    expect(
      ofType([run!], 'tool.result').map((event) => [meta(event)['toolCallId'], meta(event)['content']]),
    ).toEqual([
      ['b', 'b'],
      ['a', 'a'],
    ]);
  });
});
