import { describe, expect, it } from 'vitest';
import type { ImportedRun } from '../../../../src/core/intake/run.ts';
import { hasData } from '../../../paths.ts';
import {
  expectToFit,
  importFolder,
  importValue,
  meta,
  ofType,
  readData,
  total,
  type Loose,
} from '../fits.ts';

type Source = Record<string, Loose>;

const indices = (run: ImportedRun, name: string): number[] => [
  ...new Set(run.events.flatMap((event) => meta(event)[name] ?? []) as number[]),
];
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe.skipIf(!hasData)('importing SWE-agent (skipped without the recorded runs)', () => {
  const files = importFolder('swe-agent', /traj/);
  const runs = [...files.values()].flat();
  const read = (name: string): Source => {
    const document = JSON.parse(readData(`swe-agent/${name}`));
    return Array.isArray(document) ? { messages: document } : document;
  };

  it('the SWE-agent importer makes 24 valid runs', () => {
    expect(runs.length).toBe(24);
    expect(new Set(runs.map((run) => run.runId)).size).toBe(24);
    expectToFit(runs);
  });

  it('the SWE-agent importer covers every step and every message of the history', () => {
    for (const [name, [run]] of files) {
      const { trajectory = [], history, messages } = read(name);
      expect(indices(run!, 'stepIndex')).toEqual(upTo(trajectory.length));
      const told = (history ?? messages).length;
      expect(indices(run!, 'historyIndex').toSorted((a, b) => a - b)).toEqual(upTo(told));
      expect(run!.items).toBe(trajectory.length || told);
    }
    expect(ofType(runs, 'model.invoked').length).toBe(244);
    expect(ofType(runs, 'tool.call').length).toBe(244);
    expect(ofType(runs, 'tool.result').length).toBe(244);
  });

  it('the SWE-agent importer keeps texts word for word, also differing texts of the history', () => {
    for (const [name, [run]] of files) {
      const { trajectory = [], history = [] } = read(name);
      for (const [index, step] of trajectory.entries()) {
        const own = run!.events.filter((event) => meta(event)['stepIndex'] === index);
        expect(own.map((event) => event.eventType)).toEqual(['model.invoked', 'tool.call', 'tool.result']);
        expect(meta(own[0])['content']).toBe(step.response);
        expect(meta(own[1])['command']).toBe(step.action);
        expect(meta(own[2])['content']).toBe(step.observation);
        const said = history[meta(own[0])['historyIndex']];
        if (said !== undefined)
          expect([step.response, meta(own[0])['historyContent']]).toContain(said.content);
        const shown = history[meta(own[2])['historyIndex']];
        if (shown !== undefined)
          expect([step.observation, meta(own[2])['shownToModel']?.[0]]).toContain(shown.content);
      }
    }
  });

  it('the SWE-agent importer keeps a repeated conversation by its hash', () => {
    expect(total(runs, (run) => run.changes.get('kept_by_hash') ?? 0)).toBe(13);
    const repeated = runs
      .flatMap((run) => run.events.map((event) => meta(event)['inputMessages']))
      .filter(Boolean);
    expect(repeated.length).toBe(13);
    for (const digest of repeated) {
      expect(digest).toMatchObject({ truncated: true, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    }
  });

  it('the SWE-agent importer joins commands to observations, and these to their readers', () => {
    for (const run of runs) {
      const asked = run.events.flatMap((event) => meta(event)['toolCallIds'] ?? []);
      const called = ofType([run], 'tool.call').map((event) => meta(event)['toolCallId']);
      const answered = ofType([run], 'tool.result').map((event) => meta(event)['toolCallId']);
      expect(called).toEqual(asked);
      expect(answered).toEqual(called);
      expect(new Set(called).size).toBe(called.length);
      const readBy = run.events.flatMap((event) => meta(event)['toolResultIds'] ?? []);
      expect(readBy).toEqual(answered.slice(0, -1));
    }
  });
});

describe('importing mini-swe-agent', () => {
  const messages = [
    { role: 'system', content: 'one block' },
    { role: 'user', content: 'fix it' },
    { role: 'assistant', content: 'Look:\n\n```mswea_bash_command\nls -l\n```' },
    { role: 'user', content: '<returncode>2</returncode>\n<output>\n</output>' },
    { role: 'assistant', content: 'no command at all' },
    { role: 'user', content: 'expected one block' },
  ];

  it('the mini-swe-agent importer reads the command, its outcome and the other text', () => {
    const [run] = importValue({ messages, info: { exit_status: 'Submitted', submission: 'patch' } });
    expect(run?.format).toBe('swe-agent');
    expect(meta(ofType([run!], 'tool.call')[0])['command']).toBe('ls -l');
    expect(meta(ofType([run!], 'tool.result')[0])['outcome']).toBe('error');
    expect(ofType([run!], 'prompt.submitted').map((event) => meta(event)['content'])).toEqual([
      'fix it',
      'expected one block',
    ]);
    expect(meta(run?.events.at(-1))).toMatchObject({ exitStatus: 'Submitted', submission: 'patch' });
  });

  it('the mini-swe-agent importer reads messages without its mark when the format is named', () => {
    const unmarked = JSON.parse(JSON.stringify(messages).replace('mswea_bash_command', 'bash'));
    expect(importValue(unmarked)[0]?.format).toBe('openai-chat');
    const [run] = importValue(unmarked, { format: 'swe-agent' });
    expect(meta(ofType([run!], 'tool.call')[0])['command']).toBe('ls -l');
  });

  const two = ['a', 'b'].map((name) => ({ function: { name, arguments: '{}' } }));
  const endings = (document: object) => {
    const [run] = importValue(document, { format: 'swe-agent' });
    return ofType([run!], 'tool.result').map((event) => {
      const { toolCallId, matchedBy, outcome } = meta(event);
      return [toolCallId, matchedBy, outcome];
    });
  };

  it('the SWE-agent importer does not know which of several calls an observation or message answers', () => {
    const message = { role: 'assistant', content: 'hm', tool_calls: two };
    const step = { action: 'a', observation: '<returncode>0</returncode>', response: 'hm' };
    const unknown = ['import:call-1', 'order', 'unknown'];
    expect(endings({ trajectory: [step], history: [message] })).toEqual([unknown]);
    for (const role of ['tool', 'user']) {
      const results = [0, 1].map((code) => ({ role, content: `<returncode>${code}</returncode>` }));
      expect(endings({ history: [message, ...results] })).toEqual([
        unknown,
        ['import:call-2', 'order', 'unknown'],
      ]);
    }
  });

  it('the SWE-agent importer joins the result of the only call, whatever was left unanswered before', () => {
    const [left, next] = [two.slice(0, 1), two.slice(0, 1)].map((tool_calls) => ({
      role: 'assistant',
      content: 'hm',
      tool_calls,
    }));
    const result = { role: 'user', content: '<returncode>0</returncode>' };
    expect(endings({ history: [left, next, result] })).toEqual([['import:call-2', undefined, 'ok']]);
  });

  it('the SWE-agent importer records a step without a command as an agent step', () => {
    const [run] = importValue({
      trajectory: [{ action: '', observation: 'say something', response: 'hm', thought: 'hm' }],
    });
    expect(run?.events.map((event) => event.eventType)).toEqual([
      'run.started',
      'model.invoked',
      'agent.step',
    ]);
  });
});

it('a SWE-agent recording keeps a history and steps that are of another shape', () => {
  const step = { action: 'ls', observation: 'README.md', response: 'Let me look.' };
  const unread = (members: Source) =>
    ofType(
      importValue({ trajectory: [step], history: [{ role: 'user', content: 'Fix it' }], ...members }),
      'x.unknown',
    ).map((event) => meta(event)['value']);
  expect(unread({})).toEqual([]);
  const history = [{ role: null, content: 'Fix it' }];
  expect(unread({ history })).toEqual([history]);
  expect(unread({ messages: history, trajectory: [step, 'and another'] })).toEqual(['and another', history]);
});

it('a history whose messages have parts is of another program', () => {
  expect(() => importValue({ history: [{ role: 'user', parts: [{ text: 'Fix it' }] }] })).toThrow(
    'none of them',
  );
});
