import { describe, expect, it } from 'vitest';
import { hasData } from '../../../paths.ts';
import { expectToFit, importFile, importText, importValue, meta, ofType, types } from '../fits.ts';

const session = '01a210e7-d996-7a00-b02a-f68b288485e0';

describe.skipIf(!hasData)('importing a rollout of Codex (skipped without the recorded runs)', () => {
  it('the Codex importer separates user text from program text and records the exit code', () => {
    const [run] = importFile(`agents/transcript-rollout-2026-11-25T04-12-39-${session}.jsonl`);
    expect([run?.format, run?.runId]).toEqual(['codex', session]);
    expect(ofType([run!], 'prompt.submitted').map((event) => meta(event)['content'])).toEqual([
      [{ type: 'input_text', text: 'say hi' }],
    ]);
    expect(ofType([run!], 'snapshot.captured').length).toBe(2);
    expect(meta(ofType([run!], 'tool.call')[0])).toMatchObject({
      toolCallId: 'call_1',
      arguments: { cmd: 'echo hi' },
    });
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({
      toolCallId: 'call_1',
      outcome: 'ok',
      extra: { exitCode: 0 },
    });
    expect(types(run).at(-1)).toBe('agent.step');
    expectToFit([run!]);
  });
});

describe('importing lines of Codex', () => {
  const line = (type: string, payload: object) => ({ timestamp: '2026-01-05T09:00:00Z', type, payload });

  it('the Codex importer reads a non-zero exit code as an error', () => {
    const [run] = importValue([
      line('session_meta', { id: 's1' }),
      line('response_item', { type: 'function_call', call_id: 'c', name: 'exec', arguments: '{}' }),
      line('response_item', {
        type: 'function_call_output',
        call_id: 'c',
        output: 'Process exited with code 2',
      }),
    ]);
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({ outcome: 'error' });
  });

  it('the Codex importer does not read tags of the program as words of the user', () => {
    const message = (text: string) =>
      line('response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
    const [run] = importValue([message('<environment_context>x</environment_context>'), message('hello')]);
    expect(types(run)).toEqual(['run.started', 'snapshot.captured', 'prompt.submitted']);
  });

  it('the Codex importer counts messages for its screen, and records the words that no item has', () => {
    const shown = (type: string, message: string) => line('event_msg', { type, message });
    const item = (role: string, text: string) =>
      line('response_item', { type: 'message', role, content: [{ type: 'input_text', text }] });
    const [run] = importValue([
      item('user', '# Context\n## My request for Codex:\npay bob'),
      shown('user_message', 'pay bob'),
      item('assistant', 'Paid.'),
      shown('agent_message', 'Paid.'),
      shown('user_message', 'and alice'),
      shown('agent_message', 'Not yet.'),
      shown('user_message', ''),
      line('event_msg', { type: 'task_complete' }),
      line('event_msg', { type: 'token_count' }),
      shown('agent_message', 'Its item may still come.'),
    ]);
    expect(types(run)).toEqual([
      'run.started',
      'prompt.submitted',
      'model.invoked',
      'output.delivered',
      'prompt.submitted',
      'agent.step',
      'agent.step',
    ]);
    expect(meta(run?.events[4])).toMatchObject({ content: 'and alice' });
    expect(run?.changes.get('bookkeeping')).toBe(5);
    expectToFit([run!]);
  });

  it('the Codex importer gives two kinds of instructions an id each', () => {
    const [run] = importValue([
      line('session_meta', { id: 's1', instructions: 'a', base_instructions: 'b' }),
    ]);
    expect(ofType([run!], 'snapshot.captured').map((event) => meta(event)['content'])).toEqual(['a', 'b']);
    expectToFit([run!]);
  });

  it('the Codex importer records an unknown event as unknown', () => {
    const [run] = importValue([line('event_msg', { type: 'wormhole_opened' })]);
    expect(types(run)).toEqual(['run.started', 'x.unknown']);
  });

  it('the Codex importer reads a call that a hook blocked as denied', () => {
    const [run] = importValue([
      line('session_meta', { id: 's1' }),
      line('response_item', { type: 'function_call', call_id: 'c', name: 'exec', arguments: '{}' }),
      line('response_item', {
        type: 'function_call_output',
        call_id: 'c',
        output: 'Command blocked by PreToolUse hook: no shell. Command: rm',
      }),
    ]);
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({
      outcome: 'denied',
      extra: { blocked: true },
    });
  });

  it.each([
    [
      'waits for its program',
      { name: 'write_stdin', arguments: '{"session_id":1,"chars":""}' },
      'agent.step',
    ],
    ['types into a program', { name: 'write_stdin', arguments: '{"session_id":1,"chars":"ls\\n"}' }, 'tool'],
    ['calls another write_stdin', { name: 'write_stdin', namespace: 'mcp__x', arguments: '{}' }, 'tool'],
  ])('the Codex importer knows whether a call that %s needs a decision', (_, call, expected) => {
    const [run] = importValue([
      line('session_meta', { id: 's1' }),
      line('response_item', { type: 'function_call', call_id: 'c', ...call }),
      line('response_item', { type: 'function_call_output', call_id: 'c', output: '' }),
    ]);
    const steps = types(run).filter((type) => type === 'agent.step');
    expect(steps).toHaveLength(expected === 'agent.step' ? 2 : 0);
    expect(ofType([run!], 'tool.call')).toHaveLength(expected === 'tool' ? 1 : 0);
  });

  it('the Codex importer reads a message between agents as a step, and no more of it', () => {
    const content = [{ type: 'input_text', text: 'Payload:\nDone.' }];
    const said = { type: 'agent_message', author: '/root/look', recipient: '/root', content };
    const [run] = importValue([
      line('inter_agent_communication_metadata', { trigger_turn: false }),
      line('response_item', said),
    ]);
    expect(types(run)).toEqual(['run.started', 'agent.step']);
    expect(run?.events[1]).toMatchObject({ action: 'agent_message', metadata: { content: said } });
    expect(run?.changes.get('bookkeeping')).toBe(1);
    expectToFit([run!]);
  });

  it('the Codex importer reads a search for tools as a step', () => {
    const [run] = importValue([
      line('response_item', { type: 'tool_search_call', call_id: 'c', arguments: { query: 'pay' } }),
      line('response_item', { type: 'tool_search_output', call_id: 'c', tools: [] }),
    ]);
    expect(types(run)).toEqual(['run.started', 'agent.step', 'agent.step']);
  });

  it('the Codex importer keeps lines of types that a newer release writes', () => {
    const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] };
    const [run, ...others] = importValue([
      line('session_meta', { id: 's1' }),
      line('world_state', { full: true }),
      line('hologram', { text: 'new' }),
      line('response_item', message),
    ]);
    expect(others).toEqual([]);
    expect(types(run)).toEqual(['run.started', 'snapshot.captured', 'x.unknown', 'prompt.submitted']);
    expect(meta(ofType([run!], 'x.unknown')[0])).toMatchObject({
      what: 'a line of type hologram',
      text: 'new',
    });
  });

  it('the Codex importer does not claim lines of another program with a type and a payload', () => {
    expect(() => importValue([line('order', { id: 1 }), line('invoice', { id: 2 })])).toThrow(
      /got none of them/,
    );
  });
});

it('an item that nobody knows is named with its line', () => {
  const line = (type: string, payload: object) => ({ timestamp: '2026-11-20T10:00:00Z', type, payload });
  const passed = { internal_chat_message_metadata_passthrough: { turn_id: 't' } };
  const text = [line('session_meta', { id: 's' }), line('response_item', { type: 'newest', ...passed })]
    .map((each) => JSON.stringify(each))
    .join('\n');
  const [run] = importText(text, { sourceName: 'rollout.jsonl' });
  expect(run?.remainder.map(({ where }) => where)).toEqual(['line 2 /payload']);
});
