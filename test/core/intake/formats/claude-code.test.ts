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
