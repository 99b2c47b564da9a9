import { describe, expect, it } from 'vitest';
import { expectToFit, importValue, meta, ofType, types } from '../fits.ts';

const messages = [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I will' },
      { type: 'tool_use', id: 'toolu_1', name: 'pay', input: { amount: 5 } },
    ],
  },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'paid', is_error: false }],
  },
];

describe('importing messages of Anthropic', () => {
  it('the Anthropic importer reads tool_use as a call and tool_result as its result', () => {
    for (const document of [messages, { system: 'be nice', model: 'claude-x', messages }]) {
      const [run] = importValue(document);
      expect(run?.format).toBe('anthropic');
      expect(ofType([run!], 'prompt.submitted').map((event) => meta(event)['content'])).toEqual(['go']);
      const [call] = ofType([run!], 'tool.call');
      expect(call?.resource).toEqual({ name: 'pay', type: 'tool' });
      expect(meta(call)).toMatchObject({ toolCallId: 'toolu_1', arguments: { amount: 5 } });
      expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({
        toolCallId: 'toolu_1',
        content: 'paid',
        outcome: 'ok',
      });
      expectToFit([run!]);
    }
  });

  it('the Anthropic importer records a tool call in a user’s message as unknown', () => {
    const block = { type: 'tool_use', id: 'toolu_1', name: 'pay', input: { amount: 5 } };
    const [run] = importValue([{ role: 'user', content: [{ type: 'text', text: 'go' }, block] }]);
    expect(types(run!)).toEqual(['run.started', 'prompt.submitted', 'x.unknown']);
    expect(meta(run!.events[2])['value']).toEqual(block);
  });

  it('the Anthropic importer takes a block of the type toString for an unknown one', () => {
    const block = { type: 'toString', id: 'x' };
    const [run] = importValue([
      { role: 'assistant', content: [block, { type: 'thinking', thinking: 'hm' }] },
    ]);
    expect(ofType([run!], 'x.unknown').map((event) => meta(event)['value'])).toEqual([block]);
    expect(ofType([run!], 'tool.call')).toEqual([]);
  });

  it('the Anthropic importer keeps an error that came instead of a response', () => {
    const response = { type: 'error', error: { type: 'overloaded_error' } };
    const request = { model: 'claude-x', max_tokens: 1, messages: [{ role: 'user', content: 'go' }] };
    const [run] = importValue({ request, response });
    expect(meta(run!.events[0])['source']).toEqual({ model: 'claude-x', max_tokens: 1, response });
  });

  it('the Anthropic importer reads a single response under its own id, with usage and refusal', () => {
    const response = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'I cannot.' }],
      stop_reason: 'refusal',
      usage: { input_tokens: 3, output_tokens: 2 },
    };
    const [run] = importValue(response);
    expect(run?.runId).toBe('msg_1');
    const [delivered] = ofType([run!], 'output.delivered');
    expect([delivered?.action, meta(delivered)['outcome']]).toEqual(['refuse', 'refused']);
    expect(meta(ofType([run!], 'model.invoked')[0])['usage']).toEqual(response.usage);
  });

  it('the Anthropic importer joins provider-run calls to results in the same message', () => {
    const [run] = importValue([
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srv_1',
            content: { error_code: 'max_uses_exceeded' },
          },
          { type: 'text', text: 'nothing found' },
        ],
      },
    ]);
    expect(types(run)).toEqual(['run.started', 'model.invoked', 'tool.call', 'tool.result']);
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({
      toolCallId: 'srv_1',
      outcome: 'error',
    });
  });

  it('the Anthropic importer records an unknown block as unknown, with its text and a mark', () => {
    const [run] = importValue(
      [...messages, { role: 'assistant', content: [{ type: 'hologram', text: 'boo' }] }],
      { format: 'anthropic' },
    );
    const [unknown] = ofType([run!], 'x.unknown');
    expect(meta(unknown)).toMatchObject({
      what: 'a block in a message of the role assistant',
      text: 'boo',
      value: { type: 'hologram', text: 'boo' },
      importMarks: ['unknown'],
    });
    expect(run?.changes.get('unknown_part')).toBe(1);
  });
});
