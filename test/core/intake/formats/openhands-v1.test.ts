import { describe, expect, it } from 'vitest';
import { hasData } from '../../../paths.ts';
import { expectToFit, importFile, importValue, meta, ofType, types } from '../fits.ts';

describe.skipIf(!hasData)('importing events of OpenHands 1.0 (skipped without the recorded runs)', () => {
  it('the OpenHands 1.0 importer reads each event and joins observations to their actions', () => {
    const [run] = importFile('../cases/16-newer-formats/oh-events.jsonl');
    expect([run?.format, run?.items]).toEqual(['openhands-v1', 10]);
    expect(ofType([run!], 'tool.call').length).toBe(2);
    expect(ofType([run!], 'tool.result').length).toBe(3);
    // one observation answers an action that the file does not contain
    expect(run?.changes.get('call_unknown')).toBe(1);
    expect(ofType([run!], 'model.invoked').length).toBe(2);
    expectToFit([run!]);
  });
});

describe('importing events of OpenHands 1.0', () => {
  const event = (id: string, kind: string, members: object) => ({
    id,
    kind,
    timestamp: '2026-06-16T05:39:18.8',
    source: 'agent',
    ...members,
  });

  it('the OpenHands 1.0 importer ends the run only when its state is finished', () => {
    const state = (id: string, value: string) =>
      event(id, 'ConversationStateUpdateEvent', { key: 'execution_status', value });
    const [run] = importValue([state('a', 'running'), state('b', 'finished')]);
    expect(types(run)).toEqual(['run.started', 'agent.step', 'run.ended']);
  });

  it('the OpenHands 1.0 importer keeps what the program ran where the model asked for something else', () => {
    const of = (action: object) =>
      importValue([
        event('a', 'ActionEvent', {
          tool_call_id: 'c1',
          tool_call: { id: 'c1', name: 'terminal', arguments: '{"command":"ls","summary":"list"}' },
          action,
        }),
      ]);
    const callOf = (action: object) => meta(ofType(of(action), 'tool.call')[0]);
    const asked = { command: 'ls', summary: 'list' };
    const same = callOf({ kind: 'TerminalAction', command: 'ls', is_input: false, timeout: null });
    expect(same['arguments']).toEqual(asked);
    expect(same['extra']).toBeUndefined();
    for (const other of [{ command: 'rm -r .' }, { command: 'ls', cwd: '/etc' }])
      expect(callOf(other)).toMatchObject({ arguments: asked, extra: { action: other } });
  });

  it('the OpenHands 1.0 importer keeps the id of an answer with its call of a model', () => {
    const asks = (id: string, more: object = {}) =>
      event(id, 'ActionEvent', { tool_name: 'terminal', tool_call_id: id, action: {}, ...more });
    const said = (id: string, more: object = {}) =>
      event(id, 'MessageEvent', {
        llm_message: { role: 'assistant', content: [{ type: 'text', text: 'ok' }] },
        ...more,
      });
    const answer = { llm_response_id: 'resp_1' };
    const runs = importValue([
      asks('a', answer),
      asks('b', answer),
      asks('c'),
      said('d', { llm_response_id: 'resp_2' }),
      said('e'),
    ]);
    const extras = ofType(runs, 'model.invoked').map((each) => meta(each)['extra']);
    expect(extras).toEqual([{ responseId: 'resp_1' }, undefined, { responseId: 'resp_2' }, undefined]);
  });

  it('the OpenHands 1.0 importer records a user rejection, which its call has as outcome', () => {
    const [run] = importValue([
      event('a', 'ActionEvent', { tool_name: 'terminal', tool_call_id: 'c1', action: { command: 'rm' } }),
      event('b', 'UserRejectObservation', { tool_call_id: 'c1', rejection_reason: 'no', action_id: 'a' }),
      event('c', 'WormholeEvent', { text: 'hi' }),
    ]);
    expect(types(run)).toEqual([
      'run.started',
      'model.invoked',
      'tool.call',
      'approval.rejected',
      'tool.result',
      'x.unknown',
    ]);
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({ toolCallId: 'c1', outcome: 'refused' });
  });
});
