import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectToFit, importText, importValue } from '../fits.ts';

const text = readFileSync(join(import.meta.dirname, '../corpus/opencode.json'), 'utf8');
const message = (role: string, parts: readonly unknown[], more: object = {}) => ({
  info: { id: 'm1', sessionID: 's', role, time: { created: 1767603601000 }, ...more },
  parts,
});
const eventsOf = (...messages: readonly unknown[]) =>
  importValue({ info: { id: 's', time: { created: 1767603600000 } }, messages }).flatMap(
    ({ events }) => events,
  );
const tool = (state: object) => ({
  type: 'tool',
  callID: 'c1',
  tool: 'bash',
  state: { input: {}, ...state },
});
/** The output of a command that the program ended. */
const ended = (why: string) => `(no output)\n\n<shell_metadata>\n${why}\n</shell_metadata>`;
const endingOf = (state: object) =>
  eventsOf(message('assistant', [tool(state)])).find(({ eventType }) => eventType === 'tool.result')
    ?.metadata?.['outcome'];

describe('sessions of OpenCode', () => {
  it('a session has its prompts, answers, calls and results with their endings', () => {
    const [run] = importText(text, { sourceName: 's.json' });
    expectToFit([run!]);
    expect([run?.runId, run?.format, run?.items]).toEqual(['ses_1', 'opencode', 3]);
    expect(
      run?.events.map(({ eventType, metadata }) =>
        [eventType, metadata?.['toolCallId'], metadata?.['outcome']].filter((each) => each !== undefined),
      ),
    ).toEqual([
      ['run.started'],
      ['prompt.submitted'],
      ['snapshot.captured'],
      ['model.invoked'],
      ['tool.call', 'c1'],
      ['tool.call', 'c2'],
      ['tool.call', 'c3'],
      ['tool.result', 'c1', 'ok'],
      ['tool.result', 'c2', 'error'],
      ['tool.result', 'c3', 'refused'],
      ['agent.step'],
      ['model.invoked'],
      ['output.delivered'],
    ]);
  });

  it('text that the program added to a prompt is not the person’s', () => {
    const [, prompt, context] = importText(text, { sourceName: 's.json' }).flatMap(({ events }) => events);
    expect(prompt?.metadata?.['content']).toEqual([{ type: 'text', text: 'Pay both bills' }]);
    expect(context).toMatchObject({
      eventType: 'snapshot.captured',
      metadata: { content: 'Called the Read tool: bills.txt' },
    });
  });

  it.each([
    [{ status: 'completed', output: '' }, 'ok'],
    [{ status: 'completed', output: '', metadata: { exit: 2 } }, 'error'],
    [
      { status: 'completed', output: ended('User aborted the command'), metadata: { exit: null } },
      'interrupted',
    ],
    [
      {
        status: 'completed',
        output: ended('shell tool terminated command after exceeding timeout 1500 ms.'),
        metadata: { exit: null },
      },
      'timed_out',
    ],
    [{ status: 'completed', output: '', metadata: { exit: null } }, 'unknown'],
    [{ status: 'completed', output: ended('User aborted the command'), metadata: { exit: 0 } }, 'ok'],
    [{ status: 'error', error: 'no such file' }, 'error'],
    [{ status: 'error', error: 'The user rejected permission to use this specific tool call.' }, 'refused'],
    [{ status: 'running' }, undefined],
    [{ status: 'pending' }, undefined],
  ])('a tool in the state %j ended with %s', (state, ending) => {
    expect(endingOf(state)).toBe(ending);
  });

  it('an error of a message, an unknown part and an unknown role are kept as such', () => {
    const error = { error: { name: 'APIError', data: { message: 'away' } } };
    const events = eventsOf(message('assistant', [{ type: 'quantum' }], error), {
      ...message('oracle', []),
      info: { id: 'm2', role: 'oracle', time: { created: 1767603601000 } },
    });
    expect(events.map(({ eventType }) => eventType)).toEqual([
      'run.started',
      'model.invoked',
      'x.unknown',
      'run.error',
      'x.unknown',
    ]);
  });

  it('values of any kind are no session', () => {
    for (const value of [
      { info: 1, messages: [] },
      { info: { id: 's', time: {} }, messages: [1] },
      { messages: [] },
    ])
      expect(() => importValue(value)).toThrow('expected one of');
  });
});
