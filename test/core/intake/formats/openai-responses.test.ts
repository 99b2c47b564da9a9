import { describe, expect, it } from 'vitest';
import { expectToFit, importText, importValue, meta, ofType, types } from '../fits.ts';

describe('importing the Responses API', () => {
  it('the Responses importer reads a response with calls that one model answer caused', () => {
    const [run] = importValue({
      id: 'resp_1',
      object: 'response',
      model: 'gpt-5',
      output: [
        { type: 'reasoning', summary: [] },
        { type: 'function_call', call_id: 'c1', name: 'pay', arguments: '{"amount":5}' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
      ],
    });
    expect(run?.runId).toBe('resp_1');
    expect(types(run)).toEqual(['run.started', 'model.invoked', 'tool.call', 'output.delivered']);
    const [call] = ofType([run!], 'tool.call');
    expect(meta(call)).toMatchObject({ toolCallId: 'c1', arguments: { amount: 5 } });
    expect(call?.causedBy).toEqual([run?.events[1]?.clientEventId]);
    expectToFit([run!]);
  });

  it('the Responses importer reads a request with instructions, results and a refusal', () => {
    const [run] = importValue({
      model: 'gpt-5',
      instructions: 'be kind',
      input: [
        { role: 'user', content: 'go' },
        { type: 'custom_tool_call', call_id: 'c1', name: 'code', input: 'print(1)' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: '1' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'refusal', refusal: 'I cannot do that.' }],
        },
      ],
    });
    expect(run?.format).toBe('openai-responses');
    expect(types(run)).toEqual([
      'run.started',
      'snapshot.captured',
      'prompt.submitted',
      'model.invoked',
      'tool.call',
      'tool.result',
      'model.invoked',
      'output.delivered',
    ]);
    expect(run?.events.at(-1)).toMatchObject({
      action: 'refuse',
      metadata: { refusal: 'I cannot do that.', outcome: 'refused' },
    });
  });

  it('the Responses importer reads a provider-run call as a call and its result', () => {
    const item = {
      type: 'mcp_call',
      id: 'mcp_1',
      name: 'lookup',
      server_label: 'crm',
      arguments: '{"id":1}',
      output: null,
      error: 'timeout',
    };
    const [run] = importValue([item]);
    expect(ofType([run!], 'tool.call')[0]?.resource).toEqual({ name: 'lookup', type: 'mcp_tool' });
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({
      toolCallId: 'mcp_1',
      outcome: 'error',
      details: 'timeout',
    });
  });

  it('the Responses importer reads one item a line and gives it the same id in a longer file', () => {
    const items = [
      { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
      { type: 'function_call', call_id: 'c2', name: 'b', arguments: '{}' },
      { type: 'teleport', call_id: 'c3' },
    ];
    const lines = items.map((item) => JSON.stringify(item));
    const read = (count: number) =>
      importText(lines.slice(0, count).join('\n'), { sourceName: 'items.jsonl', format: 'openai-responses' });
    const [short, long] = [read(2)[0], read(3)[0]];
    expect(long?.events.slice(0, short?.events.length)).toEqual(short?.events);
  });

  it('the Responses importer takes an item of the type toString for an unknown one', () => {
    const item = { type: 'toString' };
    const [run] = importValue({ id: 'resp_1', object: 'response', output: [item] });
    expect(meta(ofType([run!], 'x.unknown')[0])['value']).toEqual(item);
  });

  it('the Responses importer records an item of an unknown type as unknown', () => {
    const [run] = importValue({ object: 'response', output: [{ type: 'teleport', to: 'mars' }] });
    expect(types(run)).toEqual(['run.started', 'x.unknown']);
    expect(meta(run?.events[1])['what']).toBe('an item of type teleport');
  });

  it('the Responses importer records members that stand beside a request and its response', () => {
    const request = { model: 'gpt-5', input: 'hello' };
    const response = { id: 'resp_9', object: 'response', output: [] };
    const besideOf = (entry: object) =>
      ofType(importValue(entry), 'x.unknown').map((event) => [event.clientEventId, meta(event)['value']]);
    expect(besideOf({ request, response })).toEqual([]);
    expect(besideOf({ request, response, user: 'ann', latencyMs: 7 })).toEqual([
      ['resp_9:resp_9.beside', { user: 'ann', latencyMs: 7 }],
    ]);
  });
});
