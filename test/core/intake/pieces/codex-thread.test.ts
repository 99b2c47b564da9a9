import { describe, expect, it } from 'vitest';
import { threadOf } from '../../../../src/core/intake/pieces/codex-thread.ts';
import { balanceFile } from '../../../../src/core/intake/balance-file.ts';
import { expectToFit, importValue, meta, ofType } from '../fits.ts';

/** UUIDv7 of a second of one hour. */
const at = (second: number, tail: number) =>
  `01a1${(0x10000000 + second * 1000).toString(16).slice(0, 4)}-${(0x10000000 + second * 1000)
    .toString(16)
    .slice(4)}-7000-8000-${String(tail).padStart(12, '0')}`;
const parent = at(0, 1);
const fork = at(600, 2);
const line = (type: string, payload: object) => ({ timestamp: '2026-11-21T09:00:00Z', type, payload });
const turn = (id: string) => line('turn_context', { turn_id: id, model: 'm' });
const item = (payload: object) => line('response_item', payload);
const says = (role: string, text: string) =>
  item({ type: 'message', role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }] });
const work = (id: string, command: string) => [
  says('user', command),
  item({ type: 'function_call', name: 'shell', call_id: id, arguments: JSON.stringify({ command }) }),
  item({ type: 'function_call_output', call_id: id, output: 'Process exited with code 0' }),
  says('assistant', `done ${id}`),
];
const ofFork = line('session_meta', { id: fork, forked_from_id: parent });
const ofParent = line('session_meta', { id: parent });
const replay = [ofParent, turn(at(1, 3)), ...work('p1', 'transfer 100'), turn(at(9, 4)), ...work('p2', 'ls')];
const own = [turn(at(601, 5)), ...work('c1', 'date')];
const calls = (lines: readonly object[]) =>
  ofType(importValue(lines), 'tool.call').map((event) => meta(event)['toolCallId']);

describe('a rollout that repeats its parent', () => {
  it('has events of its own turns alone, and counts what it inherits', () => {
    const [run] = importValue([ofFork, ...replay, ...own]);
    expect(run).toMatchObject({
      runId: fork,
      inherited: [{ run: parent, calls: 2, results: 2, prompts: 2, outputs: 2 }],
    });
    expect(calls([ofFork, ...replay, ...own])).toEqual(['c1']);
    expect(ofType([run!], 'prompt.submitted')).toHaveLength(1);
    expectToFit([run!]);
  });

  it('balances where a fork repeats the words of the program to its parent, and has none of its own', () => {
    const words = says('user', '<environment_context><cwd>/work</cwd></environment_context>');
    const lines = [ofFork, ofParent, words, ...replay.slice(1), turn(at(601, 5))];
    const bytes = Buffer.from(lines.map((each) => JSON.stringify(each)).join('\n'));
    const { faults } = balanceFile({ name: 'a.jsonl', bytes, runs: importValue(lines), refused: [] });
    expect(faults).toEqual([]);
  });

  it('has no call while the fork has no turn of its own', () => {
    expect(calls([ofFork, ...replay])).toEqual([]);
  });

  it.each([
    ['the parent is named by its line alone', [line('session_meta', { id: fork }), ...replay, ...own]],
    ['its parent was a fork', [ofFork, line('session_meta', { id: at(300, 9) }), ...replay, ...own]],
    ['turns begin with task_started', [ofFork, ...replay.map(started), ...own.map(started)]],
    ['a turn of the parent has an id without a time', [ofFork, ...replay.map(named), ...own]],
    ['its own id has no time', [withoutTime(), ...replay, ...own]],
  ])('leaves out the turns of the parent where %s', (_, lines) => {
    expect(calls(lines)).toEqual(['c1']);
  });

  it('keeps the ids of its own lines, whatever is inherited', () => {
    const lines = [ofFork, ...replay, ...own];
    const [run] = importValue(lines);
    const key = `${fork}:line${lines.findIndex(({ payload }) => 'call_id' in payload && payload.call_id === 'c1')}`;
    expect(ofType([run!], 'tool.call')[0]?.clientEventId).toBe(key);
  });
});

describe('a rollout that repeats nothing', () => {
  it.each([
    ['a thread that a person began', [line('session_meta', { id: fork }), ...own]],
    ['the fork of a thread without turns', [ofFork, ofParent, ...own]],
    ['a thread whose id is no UUID', [line('session_meta', { id: 'a', forked_from_id: 'b' }), ...own]],
  ])('keeps all its turns: %s', (_, lines) => {
    expect(calls(lines)).toEqual(['c1']);
    expect(importValue(lines)[0]?.inherited).toEqual([]);
  });
});

describe('the thread of a subagent', () => {
  const spawn = { subagent: { thread_spawn: { parent_thread_id: parent, depth: 1 } } };

  it.each([
    ['by its session', { id: fork, session_id: parent, parent_thread_id: parent }, parent],
    ['below another subagent', { id: fork, session_id: parent, parent_thread_id: at(9, 9) }, parent],
    ['by the thread that started it', { id: fork, session_id: fork, source: spawn }, parent],
  ])('is in the run of its session: %s', (_, payload, session) => {
    const lines = [line('session_meta', { ...payload, forked_from_id: parent }), ofParent, ...own];
    const [run] = importValue(lines);
    expect(run?.runId).toBe(session);
    const [call] = ofType([run!], 'tool.call');
    expect(call).toMatchObject({ actor: { name: `codex/${fork}` } });
    expect(call?.clientEventId).toContain(`:${fork}.line`);
    expect(ofType([run!], 'run.started')).toEqual([]);
    expectToFit([run!]);
  });

  it('is none where the program reviews for itself', () => {
    const payload = { id: 'r', source: { subagent: 'review' } };
    expect(threadOf([{ type: 'session_meta', payload }]).session).toBe(undefined);
  });
});

function withoutTime() {
  const timestamp = new Date(msOf(fork)).toISOString();
  return line('session_meta', { id: 'f', forked_from_id: parent, timestamp });
}

function started(each: { type: string; payload: object }) {
  if (each.type !== 'turn_context' || !('turn_id' in each.payload)) return each;
  return line('event_msg', { type: 'task_started', turn_id: each.payload.turn_id });
}

function named(each: { type: string; payload: object }) {
  return each.type === 'turn_context' ? turn('5e1b29b4-9c1c-4f9e-8a5d-4f0c9be5a1aa') : each;
}

function msOf(id: string) {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
