import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectToFit, importText, importValue } from '../fits.ts';

const lines = readFileSync(join(import.meta.dirname, '../corpus/gemini-cli.jsonl'), 'utf8');
const at = (second: number) => `2026-01-05T09:00:0${second}.000Z`;
const header = { sessionId: 'g-1', projectHash: 'ab12', startTime: at(0) };
const message = (id: string, type: string, more: object) => ({
  id,
  timestamp: at(1),
  type,
  content: '',
  ...more,
});
const call = (status: string, result?: unknown) => ({
  id: 'c1',
  name: 'pay',
  args: { to: 'bob' },
  status,
  ...(result === undefined ? {} : { result }),
});
const response = (value: object) => [{ functionResponse: { id: 'c1', name: 'pay', response: value } }];
const eventsOf = (messages: readonly unknown[]) =>
  importValue({ ...header, messages }).flatMap(({ events }) => events);
const endingOf = (status: string, result?: unknown) =>
  eventsOf([message('m', 'gemini', { toolCalls: [call(status, result)] })]).find(
    ({ eventType }) => eventType === 'tool.result',
  )?.metadata?.['outcome'];

describe('sessions of Gemini CLI', () => {
  it('lines and one object with the same messages are the same run', () => {
    const [head, ...rest] = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const messages = rest.filter((each) => !('$set' in each));
    const [fromLines] = importText(lines, { sourceName: 's.jsonl' });
    const [fromObject] = importValue({ ...head, messages });
    expectToFit([fromLines!]);
    expect(fromObject).toEqual(fromLines);
    expect([fromLines?.runId, fromLines?.format, fromLines?.items]).toEqual(['g-1', 'gemini-cli', 5]);
    expect(fromLines?.events.map(({ eventType }) => eventType)).toEqual([
      'run.started',
      'prompt.submitted',
      'model.invoked',
      'tool.call',
      'tool.call',
      'tool.result',
      'tool.result',
      'agent.step',
      'prompt.submitted',
      'model.invoked',
      'output.delivered',
    ]);
  });

  it.each([
    ['success', { output: 'paid' }, 'ok'],
    ['error', { error: 'no such file' }, 'error'],
    ['cancelled', { error: '[Operation Cancelled] Reason: User denied execution.' }, 'refused'],
    ['cancelled', { error: '[Operation Cancelled] Reason: User cancelled the operation.' }, 'interrupted'],
  ])('a call of status %s with the result %j ended with %s', (status, value, ending) => {
    expect(endingOf(status, response(value))).toBe(ending);
  });

  it('a call that has no end yet has no result, and gets it when the session has grown', () => {
    expect(endingOf('executing')).toBeUndefined();
    const before = eventsOf([message('m', 'gemini', { toolCalls: [call('executing')] })]);
    const after = eventsOf([
      message('m', 'gemini', { toolCalls: [call('success', response({ output: 'paid' }))] }),
    ]);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length).map(({ eventType }) => eventType)).toEqual(['tool.result']);
  });

  it('lines that write a message again are one message, and what was taken back stays recorded', () => {
    const path = join(import.meta.dirname, '../corpus/gemini-cli.rewritten.jsonl');
    const [run] = importText(readFileSync(path, 'utf8'), { sourceName: 's.jsonl' });
    expectToFit([run!]);
    expect(run?.events.map(({ eventType, action }) => [eventType, action])).toEqual([
      ['run.started', 'start'],
      ['snapshot.captured', 'capture'],
      ['prompt.submitted', 'submit'],
      ['model.invoked', 'inference'],
      ['tool.call', 'execute'],
      ['tool.result', 'return'],
      ['model.invoked', 'inference'],
      ['output.delivered', 'deliver'],
      ['agent.step', 'rewind'],
      ['prompt.submitted', 'submit'],
    ]);
    expect(run?.events[5]?.metadata).toMatchObject({ toolCallId: 'c1', outcome: 'error' });
  });

  it('a result that only the message of the user has is recorded', () => {
    const given = [{ functionResponse: { id: 'c1', name: 'pay', response: { output: 'paid' } } }];
    const events = eventsOf([
      message('m', 'gemini', { toolCalls: [call('executing')] }),
      message('n', 'user', { content: given }),
    ]);
    expect(events.map(({ eventType }) => eventType).slice(-2)).toEqual(['tool.call', 'tool.result']);
    expect(events.at(-1)?.metadata).toMatchObject({ toolCallId: 'c1', content: { output: 'paid' } });
  });

  it('a message of an unknown type, and a call without a name, are kept as such', () => {
    const unknown = eventsOf([
      { id: 'x', type: 'model', parts: [{ text: 'Hi' }] },
      message('m', 'gemini', { toolCalls: [{ id: 'c' }, 'c'] }),
    ]).filter(({ eventType }) => eventType === 'x.unknown');
    expect(unknown.map(({ metadata }) => metadata?.['what'])).toEqual([
      'a message of an unknown type',
      'a call without a name',
      'a call without a name',
    ]);
  });

  it('values of any kind are no session', () => {
    const foreign = [{ sessionId: 's' }, { ...header, messages: 'x' }, [header, { id: 'm' }], [header, 1]];
    for (const value of foreign) expect(() => importValue(value)).toThrow('expected one of');
  });
});

describe('a session of Gemini CLI whose history the program writes again after a refusal', () => {
  const refused = readFileSync(join(import.meta.dirname, '../corpus/gemini-cli.refused.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  const read = (count: number) =>
    importText(refused.slice(0, count).join('\n'), { sourceName: 's.jsonl' })[0]?.events ?? [];

  it('has each prompt once, and the one that its user typed again', () => {
    const prompts = read(refused.length).filter(({ eventType }) => eventType === 'prompt.submitted');
    expect(prompts.map(({ clientEventId }) => clientEventId)).toEqual(['g9:u1', 'g9:u2', 'g9:u4']);
  });

  it('never has more than at the end while its file grows', () => {
    const whole = new Set(read(refused.length).map(({ clientEventId }) => clientEventId));
    for (let count = 2; count < refused.length; count += 1)
      for (const { clientEventId } of read(count))
        expect([count, whole.has(clientEventId)]).toEqual([count, true]);
  });

  it('is read in a time that grows with its length', () => {
    const words = (id: string) => message(id, 'user', { content: 'x' });
    const many = Array.from({ length: 20_000 }, (_, no) => words(`m${no}`));
    const context = message('c', 'user', { content: '<session_context>' });
    const again = many.map((each) => ({ ...each, id: `again${each.id}` }));
    const [run] = importValue([header, ...many, context, ...again]);
    expect(run?.changes.get('block_repeated')).toBe(20_000);
  });
});
