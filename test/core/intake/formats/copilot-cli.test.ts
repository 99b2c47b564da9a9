import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectToFit, importText, importValue } from '../fits.ts';

const lines = readFileSync(join(import.meta.dirname, '../corpus/copilot-cli.jsonl'), 'utf8');
const line = (id: string, type: string, data: unknown) => ({
  type,
  data,
  id,
  timestamp: '2026-01-05T09:00:00.000Z',
  parentId: null,
});
const start = line('e1', 'session.start', { sessionId: 'c-1', producer: 'copilot-agent' });
const eventsOf = (...rest: readonly unknown[]) =>
  importValue([start, ...rest]).flatMap(({ events }) => events);

describe('sessions of GitHub Copilot CLI', () => {
  it('a session has its prompts, answers, calls, results and errors, each once', () => {
    const [run] = importText(lines, { sourceName: 'events.jsonl' });
    expectToFit([run!]);
    expect([run?.runId, run?.format, run?.items]).toEqual(['c-1', 'copilot-cli', 14]);
    const facts = run?.events.filter(({ eventType }) => eventType !== 'agent.step');
    expect(
      facts?.map(({ eventType, metadata }) => [eventType, metadata?.['toolCallId'], metadata?.['outcome']]),
    ).toEqual([
      ['run.started', undefined, undefined],
      ['snapshot.captured', undefined, undefined],
      ['prompt.submitted', undefined, undefined],
      ['model.invoked', undefined, undefined],
      ['tool.call', 'k1', undefined],
      ['tool.call', 'k2', undefined],
      ['tool.result', 'k1', 'ok'],
      ['tool.result', 'k2', 'error'],
      ['tool.call', 'k3', undefined],
      ['tool.result', 'k3', 'ok'],
      ['run.error', undefined, undefined],
      ['model.invoked', undefined, undefined],
      ['output.delivered', undefined, undefined],
    ]);
    expect(facts?.[4]?.metadata?.['arguments']).toEqual({ amount: 5 });
    expect(run?.changes.get('block_repeated')).toBe(1);
  });

  it('what the program adds to a prompt stays apart from the words of the person', () => {
    const events = eventsOf(line('e2', 'user.message', { content: 'Pay', transformedContent: 'At 9: Pay' }));
    expect(events.find(({ eventType }) => eventType === 'prompt.submitted')?.metadata).toMatchObject({
      content: 'Pay',
      extra: { sentAs: 'At 9: Pay' },
    });
  });

  it('a result that does not say how it ended is unknown, and a line of an unknown type is kept', () => {
    const result = line('e2', 'tool.execution_complete', { toolCallId: 'k', result: { content: 'x' } });
    const strange = line('e3', 'quantum.leap', { to: 'there' });
    const events = eventsOf(result, strange);
    expect(events.find(({ eventType }) => eventType === 'tool.result')?.metadata?.['outcome']).toBe(
      'unknown',
    );
    expect(events.find(({ eventType }) => eventType === 'x.unknown')?.metadata?.['what']).toBe(
      'a line of type quantum.leap',
    );
  });

  it('a call that starts under the id of one that has ended, or without an id, is another call', () => {
    const start = (id: string, more: object) =>
      line(id, 'tool.execution_start', { toolName: 'pay', ...more });
    const events = eventsOf(
      line('e2', 'assistant.message', {
        content: '',
        toolRequests: [{ toolCallId: 'k', name: 'pay', arguments: { amount: 1 } }],
      }),
      start('e3', { toolCallId: 'k', arguments: { amount: 1 } }),
      line('e4', 'tool.execution_complete', { toolCallId: 'k', success: true, result: { content: 'x' } }),
      start('e5', { toolCallId: 'k', arguments: { amount: 2 } }),
      start('e6', { arguments: { amount: 3 } }),
      start('e7', { arguments: { amount: 4 } }),
    );
    const amounts = events
      .filter(({ eventType }) => eventType === 'tool.call')
      .map(({ metadata }) => metadata?.['arguments']);
    expect(amounts).toEqual([1, 2, 3, 4].map((amount) => ({ amount })));
  });

  it('a message with a call without a name is kept whole', () => {
    const requests = [{ toolCallId: 'k' }, 'k'];
    const events = eventsOf(line('e2', 'assistant.message', { content: 'Hi', toolRequests: requests }));
    expect(events.map(({ eventType }) => eventType)).toEqual(['run.started', 'x.unknown']);
  });

  it('lines without a start, and values of any kind, are no session', () => {
    for (const value of [
      [line('e2', 'user.message', { content: 'Hi' })],
      [start, 1],
      [{ ...start, data: 'x' }],
    ])
      expect(() => importValue(value)).toThrow('expected one of');
  });
});
