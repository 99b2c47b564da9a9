import { describe, expect, it } from 'vitest';
import { branchesOf } from '../../../../src/core/intake/pieces/claude-branch.ts';
import { expectToFit, importValue, meta, ofType } from '../fits.ts';

const line = (uuid: string, members: object) => ({
  sessionId: 'branch',
  uuid,
  timestamp: '2026-11-20T10:00:00Z',
  ...members,
});
const prompt = (content: string) => ({ type: 'user', message: { role: 'user', content } });
const use = (id: string) => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'm', content: [{ type: 'tool_use', id, name: 'pay', input: {} }] },
});
const result = (id: string) => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'sent' }] },
});
const said = (id: string) => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'm', content: [{ type: 'text', text: 'Paid.' }] },
});
const of = (parent: string, each: { uuid: string }, place = each.uuid) => ({
  ...each,
  forkedFrom: { sessionId: parent, messageUuid: place },
});
const parent = [
  line('u1', prompt('Pay.')),
  line('a1', use('t1')),
  line('r1', result('t1')),
  line('a2', said('m')),
];
const own = [line('u2', prompt('Again.')), line('a3', use('t2')), line('r2', result('t2'))];
const calls = (lines: readonly object[]) =>
  ofType(importValue(lines), 'tool.call').map((event) => meta(event)['toolCallId']);

describe('a branch of a session', () => {
  it('has events of its own lines alone, and counts what it inherits', () => {
    const [run] = importValue([...parent.map((each) => of('main', each)), ...own]);
    expect(run).toMatchObject({
      runId: 'branch',
      inherited: [{ run: 'main', calls: 1, results: 1, prompts: 1, outputs: 1 }],
    });
    expect(ofType([run!], 'tool.call').map((event) => meta(event)['toolCallId'])).toEqual(['t2']);
    expectToFit([run!]);
  });

  it.each([
    ['its lines have ids of their own', parent.map((each) => of('main', each, `old-${each.uuid}`))],
    ['its parent is a branch', parent.map((each, at) => of(at < 2 ? 'main' : 'other', each))],
  ])('leaves out the lines of its parent where %s', (_, lines) => {
    expect(calls([...lines, ...own])).toEqual(['t2']);
  });

  it('keeps its own lines where each says where the branch began', () => {
    expect(calls(own.map((each) => of('main', each, 'u1')))).toEqual(['t2']);
  });

  it('has no start while it has no line of its own', () => {
    const [run] = importValue(parent.map((each) => of('main', each)));
    expect(run?.events).toEqual([]);
    expect(run?.inherited).toHaveLength(1);
  });

  it('is none where a line names its own session', () => {
    expect(branchesOf('branch', [of('branch', line('u1', {}))]).parents.size).toBe(0);
  });
});

describe('a line that comes again', () => {
  it('is one line if only members of housekeeping differ', () => {
    const again = parent.map((each) => ({
      ...each,
      timestamp: '2026-11-21T10:00:00Z',
      gitBranch: 'x',
      cwd: '/y',
      version: '3',
    }));
    const [run] = importValue([...parent, ...again]);
    expect(run?.changes.get('id_repeated')).toBe(4);
    expect(calls([...parent, ...again])).toEqual(['t1']);
  });

  it('is another line if its content differs', () => {
    const [run] = importValue([...own, { ...own[0]!, ...prompt('Something else.') }]);
    expect(ofType([run!], 'prompt.submitted')).toHaveLength(2);
  });
});
