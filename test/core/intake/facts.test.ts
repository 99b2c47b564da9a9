import { describe, expect, it } from 'vitest';
import { countFacts } from '../../../src/core/intake/facts.ts';
import { digestOf } from '../../../src/core/json/digest.ts';
import { importText } from './fits.ts';

const event = (eventType: string, metadata = {}, action = 'a') => ({ eventType, action, metadata });

describe('the facts of events', () => {
  it('are calls, results, prompts and words of a model', () => {
    const text = [{ type: 'text', text: 'Paid.' }];
    const thinking = [{ type: 'thinking', thinking: 'Hm.' }];
    const events = [
      event('tool.call'),
      event('x.tool.observed', { observed: 'tool.call' }),
      event('tool.result'),
      event('x.tool.observed', { observed: 'tool.result' }),
      event('prompt.submitted'),
      event('output.delivered'),
      event('model.invoked', { content: text }),
      event('model.invoked', { content: 'Paid.' }),
      event('agent.step', {}, 'say'),
      event('model.invoked', { content: thinking }),
      event('model.invoked'),
      event('agent.step', {}, 'think'),
      event('run.started'),
    ];
    expect(countFacts(events)).toEqual({ calls: 2, results: 2, prompts: 1, outputs: 4 });
  });
});

describe('the remainder of a recording', () => {
  it('has each part that gov does not understand, with its place, size and hash', () => {
    const block = { type: 'hologram', data: 'é' };
    const line = (uuid: string, content: unknown) =>
      JSON.stringify({
        type: 'assistant',
        sessionId: 's',
        uuid,
        message: { id: uuid, role: 'assistant', content },
      });
    const said = [{ type: 'text', text: 'a/b' }];
    const [run] = importText(`${line('a', said)}\n\n${line('b', [...said, block])}\n`, {
      sourceName: 's.jsonl',
    });
    expect(run?.remainder).toEqual([
      { where: 'line 3 /message/content/1', why: 'a content block', ...digestOf(block) },
    ]);
  });

  it('has a line that is no message of a capture', () => {
    const message = { dir: 'C', msg: { jsonrpc: '2.0', id: 1, method: 'tools/list' } };
    const [run] = importText(
      [message, { dir: 'S', raw: 'oh' }].map((each) => JSON.stringify(each)).join('\n'),
      {
        sourceName: 'c.jsonl',
      },
    );
    expect(run?.remainder).toMatchObject([{ where: 'line 2', why: 'a line that is no message' }]);
  });
});
