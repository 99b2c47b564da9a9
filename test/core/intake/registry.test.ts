import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatNames } from '../../../src/core/intake/names.ts';
import { detectFormat } from '../../../src/core/intake/registry.ts';
import { runIdFrom } from '../../../src/core/intake/run.ts';
import { hasData, projectRoot } from '../../paths.ts';
import { importFolder, importText, importValue, readData } from './fits.ts';

describe.skipIf(!hasData)('format detection (skipped without the recorded runs)', () => {
  it.each([
    ['tau-bench', /json/, 'openai-chat'],
    ['openhands', /json/, 'openhands'],
    ['swe-agent', /traj/, 'swe-agent'],
    ['langfuse-framework-traces', /trace\.json$/, 'langfuse'],
  ])('format detection recognizes every file of %s', (folder, ending, format) => {
    for (const [name, runs] of importFolder(folder, ending)) {
      expect([name, new Set(runs.map((run) => run.format))]).toEqual([name, new Set([format])]);
    }
  });

  it('the recorded folders give 272 runs and 6,486 items', () => {
    const folders = ['tau-bench', 'openhands', 'swe-agent', 'langfuse-framework-traces'];
    const runs = folders.flatMap((folder) => [...importFolder(folder, /(json|jsonl|traj)$/).values()].flat());
    expect(runs.length).toBe(200 + 19 + 9 + 24 + 20);
    expect(runs.reduce((sum, run) => sum + run.items, 0)).toBe(5308 + 463 + 310 + 267 + 138);
  });
});

describe.skipIf(!hasData)('a growing recording (skipped without the recorded runs)', () => {
  it.each([
    'agents/transcript-a48c2586-1147-4b76-9f7a-4637e11f95e6.jsonl',
    'agents/transcript-rollout-2026-11-25T04-12-39-01a210e7-d996-7a00-b02a-f68b288485e0.jsonl',
    'agents/mcp_cc1.log',
    'mcp/mcp-2026-07-28-stdio.jsonl',
    'mcp/stdio-server-memory.jsonl',
    '../cases/16-newer-formats/oh-events.jsonl',
  ])('a growing recording %s keeps every event and its id at any cut', (name) => {
    const lines = readData(name).trimEnd().split('\n');
    const read = (count: number) =>
      importText(lines.slice(0, count).join('\n'), { sourceName: basename(name) })[0]?.events ?? [];
    const whole = new Map(read(lines.length).map((event) => [event.clientEventId, event]));
    for (let count = 3; count < lines.length; count++) {
      for (const event of read(count)) expect(whole.get(event.clientEventId)).toEqual(event);
    }
  });

  it('a growing list of chat messages keeps every event and its id', () => {
    const [result] = JSON.parse(readData('tau-bench/gpt-4o-airline.json'));
    const read = (count: number) =>
      importValue(result.traj.slice(0, count), { sourceName: 'chat.json' })[0]?.events ?? [];
    const whole = read(result.traj.length);
    for (let count = 2; count < result.traj.length; count++) {
      const events = read(count);
      expect(whole.slice(0, events.length)).toEqual(events);
    }
  });
});

it('the page about imports has a row for each format', () => {
  const page = readFileSync(`${projectRoot}/docs/how-to/import-recordings.md`, 'utf8');
  const named = [...page.matchAll(/^\| (`[a-z].*?`) \|/gm)].flatMap(
    ([, names = '']) => names.match(/[\w-]+/g) ?? [],
  );
  const message = 'docs/how-to/import-recordings.md needs a row for each name of src/core/intake/names.ts';
  expect(named.sort(), message).toEqual([...formatNames]);
});

describe('choosing an importer', () => {
  it.each([[null], [7], ['text'], [[]], [{}], [[{}]], [{ runId: 'r', eventType: 'x' }]])(
    'format detection finds no format in %j',
    (value) => {
      expect(detectFormat(value)).toBeUndefined();
    },
  );

  it('format detection recognizes gov events and says that they need no import', () => {
    const event = { runId: 'r', eventType: 'x', actor: 'a', action: 'b', timestamp: '2026-01-05T09:00:00Z' };
    for (const text of [
      JSON.stringify(event),
      JSON.stringify([event, event]),
      `${JSON.stringify(event)}\n`.repeat(2),
    ]) {
      expect(() => importText(text, { sourceName: 'run.ndjson' })).toThrow(
        /^run\.ndjson:1: expected one of .*, got events: push them without --from$/,
      );
    }
  });

  it('an import with a wrong named format says what was expected and what came', () => {
    const messages = [{ role: 'user', content: 'x' }];
    expect(() => importValue(messages, { format: 'langfuse' })).toThrow(
      'source.json:1: expected langfuse ({trace, observations}), got openai-chat (messages with role and content)',
    );
  });
});

describe('a line of no format', () => {
  const lines = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).join('\n');
  const said = (uuid: string) => ({
    type: 'user',
    sessionId: 's1',
    uuid,
    timestamp: `2026-01-05T09:00:0${uuid}Z`,
    message: { role: 'user', content: uuid },
  });

  it.each([
    ['claude-code', [said('1'), said('2'), said('3')]],
    ['openai-chat', ['user', 'assistant', 'user'].map((role) => ({ role, content: 'x' }))],
  ])('is refused alone, and does not cut a recording of %s in two', (format, [a, b, c]) => {
    const refused: number[] = [];
    const runs = importText(lines([a, {}, b, null, c]), {
      sourceName: 'run.jsonl',
      refused: ({ line }) => refused.push(line),
    });
    expect(refused).toEqual([2, 4]);
    expect(runs.map((run) => [run.format, run.items])).toEqual([[format, 3]]);
    expect(runs).toEqual(importText(lines([a, b, c]), { sourceName: 'run.jsonl' }));
  });
});

describe('run ids', () => {
  it('run ids match the pattern and stay different when they are shortened', () => {
    expect(runIdFrom('tau-airline-0-0')).toBe('tau-airline-0-0');
    expect(runIdFrom('  a/b c\n')).toMatch(/^a-b-c-[0-9a-f]{8}$/);
    expect(runIdFrom('!!!')).toMatch(/^run-[0-9a-f]{8}$/);
    const long = [`${'x'.repeat(200)}1`, `${'x'.repeat(200)}2`].map(runIdFrom);
    expect(new Set(long).size).toBe(2);
    for (const id of long) expect(id.length).toBeLessThanOrEqual(92);
  });

  it.each([
    ['user', { parts: [{ text: 'Show the readme.' }] }, 'a session of Qwen Code'],
    ['user', { parts: [{ text: 'Show the readme.' }], content: null }, 'a session of Qwen Code'],
    ['assistant', { text: 'Here.' }, 'a session of another program than Claude Code'],
  ])(
    'a session whose messages have no content is refused by name, also under a flag',
    (type, message, name) => {
      const line = { uuid: 'u1', sessionId: 's', timestamp: '2026-11-20T10:00:00Z', type, message };
      for (const format of ['auto', 'claude-code'] as const)
        expect(() => importValue([line], { format })).toThrow(`source.json:1: looks like ${name}`);
    },
  );

  it('a session of Qwen Code is refused also where one of its messages has a content', () => {
    const line = (message: object) => ({ uuid: 'u1', sessionId: 's', type: 'user', message });
    const lines = [line({ content: 'Go.' }), line({ parts: [{ text: 'Show the readme.' }] })];
    expect(() => importValue(lines)).toThrow('looks like a session of Qwen Code');
  });
});
