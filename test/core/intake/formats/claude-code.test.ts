import { describe, expect, it } from 'vitest';
import { hasData } from '../../../paths.ts';
import { expectToFit, importFile, importValue, meta, ofType, types } from '../fits.ts';

const session = 'a48c2586-1147-4b76-9f7a-4637e11f95e6';

describe.skipIf(!hasData)('importing a session of Claude Code (skipped without the recorded runs)', () => {
  it('the Claude Code importer records prompt, call, result and output under the session id', () => {
    const [run] = importFile(`agents/transcript-${session}.jsonl`);
    expect([run?.format, run?.runId]).toEqual(['claude-code', session]);
    expect(types(run).filter((type) => type !== 'agent.step')).toEqual([
      'run.started',
      'prompt.submitted',
      'model.invoked',
      'tool.call',
      'tool.result',
      'model.invoked',
      'output.delivered',
    ]);
    const [call] = ofType([run!], 'tool.call');
    expect(meta(call)).toMatchObject({ toolCallId: 'toolu_01FAKE', arguments: { command: 'echo hi' } });
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({
      toolCallId: 'toolu_01FAKE',
      content: 'hi',
      details: { stdout: 'hi' },
      extra: { permissionDecision: { decision: 'accept' } },
    });
    expect(run?.changes.get('bookkeeping')).toBe(12);
    expectToFit([run!]);
  });
});

describe('importing lines of Claude Code', () => {
  const line = (uuid: string, type: string, members: object) => ({
    uuid,
    type,
    sessionId: 's',
    timestamp: '2026-01-05T09:00:00Z',
    ...members,
  });
  const said = (uuid: string, block: object, stop: string | null = null) =>
    line(uuid, 'assistant', {
      message: { id: 'm1', role: 'assistant', content: [block], stop_reason: stop },
    });

  it('the Claude Code importer reads the lines of one message as one model answer', () => {
    const [run] = importValue([
      said('1', { type: 'text', text: 'Let me look.' }),
      said('2', { type: 'tool_use', id: 't1', name: 'Read', input: {} }),
      said('3', { type: 'tool_use', id: 't2', name: 'Read', input: {} }),
    ]);
    expect(types(run)).toEqual(['run.started', 'model.invoked', 'tool.call', 'tool.call']);
    const invoked = run?.events[1]?.clientEventId;
    expect(ofType([run!], 'tool.call').map(({ causedBy }) => causedBy)).toEqual([[invoked], [invoked]]);
  });

  it('the Claude Code importer delivers the last text of a turn, whose reason to stop is null', () => {
    const answer = (id: string, uuid: string, block: object) =>
      line(uuid, 'assistant', { message: { id, role: 'assistant', content: [block], stop_reason: null } });
    const [run] = importValue([
      answer('m1', '1', { type: 'thinking', thinking: 'Hm.' }),
      answer('m1', '2', { type: 'text', text: 'Let me look.' }),
      answer('m1', '3', { type: 'tool_use', id: 't1', name: 'Read', input: {} }),
      answer('m2', '4', { type: 'thinking', thinking: 'So.' }),
      answer('m2', '5', { type: 'text', text: 'It is empty.' }),
    ]);
    expect(types(run)).toEqual([
      'run.started',
      'model.invoked',
      'agent.step',
      'tool.call',
      'model.invoked',
      'output.delivered',
    ]);
    expect(meta(ofType([run!], 'output.delivered')[0])['content']).toEqual([
      { type: 'text', text: 'It is empty.' },
    ]);
    expectToFit([run!]);
  });

  it('the Claude Code importer records a block once that a stream repeats, in its last version', () => {
    const pay = (input: object) => ({ type: 'tool_use', id: 't1', name: 'pay', input });
    const streamed = (uuid: string, ...content: object[]) =>
      line(uuid, 'assistant', { message: { id: 'm1', role: 'assistant', content, stop_reason: null } });
    const result = (uuid: string) =>
      line(uuid, 'user', {
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'sent' }] },
      });
    const [run] = importValue([
      streamed('1', { type: 'text', text: 'Let' }),
      streamed('2', { type: 'text', text: 'Let me pay.' }, pay({})),
      streamed('3', { type: 'text', text: 'Let me pay.' }, pay({ amount: 100 })),
      result('4'),
      result('5'),
    ]);
    expect(types(run)).toEqual(['run.started', 'model.invoked', 'tool.call', 'tool.result']);
    expect(meta(run?.events[1])['content']).toEqual([{ type: 'text', text: 'Let me pay.' }]);
    expect(meta(run?.events[2])).toMatchObject({ toolCallId: 't1', arguments: { amount: 100 } });
    expect(run?.changes.get('block_repeated')).toBe(3);
  });

  it('the Claude Code importer reads a refusal by the user, an interruption and an error of the API', () => {
    const rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    const block = { type: 'tool_result', tool_use_id: 't1', content: rejected, is_error: true };
    const interruption = [{ type: 'text', text: '[Request interrupted by user for tool use]' }];
    const [run] = importValue([
      said('1', { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'rm -rf /srv' } }),
      line('2', 'user', {
        message: { role: 'user', content: [block] },
        toolUseResult: 'User rejected tool use',
      }),
      line('3', 'user', { message: { role: 'user', content: interruption } }),
      line('4', 'assistant', {
        isApiErrorMessage: true,
        message: {
          id: 'x',
          role: 'assistant',
          model: '<synthetic>',
          stop_reason: 'stop_sequence',
          content: [{ type: 'text', text: 'API Error: 500' }],
        },
      }),
    ]);
    expect(types(run)).toEqual([
      'run.started',
      'model.invoked',
      'tool.call',
      'tool.result',
      'agent.step',
      'run.error',
    ]);
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({ toolCallId: 't1', outcome: 'refused' });
    expect(run?.events[4]).toMatchObject({ action: 'interrupted', actor: { name: 'user' } });
  });

  it.each([
    ['user', {}],
    ['assistant', { content: { text: 'go' } }],
  ])(
    'the Claude Code importer records a message of a %s whose content it does not understand whole',
    (type, more) => {
      const odd = line('2', type, { message: { role: type, ...more } });
      const [run] = importValue([line('1', 'user', { message: { role: 'user', content: 'go' } }), odd]);
      expect(types(run)).toEqual(['run.started', 'prompt.submitted', 'x.unknown']);
      expect(meta(run?.events[2])['value']).toEqual(odd);
    },
  );

  it('the Claude Code importer names the subagent and records unknown lines and blocks', () => {
    const [run] = importValue([
      line('1', 'user', { isSidechain: true, agentId: 'a7', message: { role: 'user', content: 'go' } }),
      said('2', { type: 'hologram' }),
      line('3', 'portal', {}),
    ]);
    expect(run?.events[1]?.actor).toMatchObject({ name: 'claude-code/a7' });
    expect(ofType([run!], 'x.unknown').map((event) => meta(event)['what'])).toEqual([
      'a content block',
      'a line of type portal',
    ]);
  });

  it('the Claude Code importer records what a request to the model contained, once for each content', () => {
    const part = (type: string, members: object) => ({ type, sessionId: 's', ...members });
    const [run] = importValue([
      line('1', 'user', { message: { role: 'user', content: 'go' } }),
      part('api-request-shape', {
        shapeHash: 'a1',
        shape: { system: [{ type: 'text', text: 'Be brief.' }] },
      }),
      part('api-request-blob', { hash: 'b1', message: { role: 'system', content: 'Today is Monday.' } }),
      part('api-request-blob', { hash: 'b1', message: { role: 'system', content: 'Today is Monday.' } }),
    ]);
    expect(
      ofType([run!], 'snapshot.captured').map((event) => [event.clientEventId, meta(event)['content']]),
    ).toEqual([
      ['s:api-request-shape.a1', { system: [{ type: 'text', text: 'Be brief.' }] }],
      ['s:api-request-blob.b1', { role: 'system', content: 'Today is Monday.' }],
    ]);
    expect(types(run)).not.toContain('x.unknown');
  });
});
