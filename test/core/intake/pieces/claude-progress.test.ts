import { describe, expect, it } from 'vitest';
import { hasData } from '../../../paths.ts';
import { expectToFit, importFile, importValue, meta, ofType } from '../fits.ts';

const session = 'eeee5555-0000-4000-8000-000000000005';
const nameOf = (party: unknown): unknown => (party as { name?: unknown } | undefined)?.name;

describe.skipIf(!hasData)('a session with a subagent in its progress lines (skipped without cases)', () => {
  it('records the call and the result of the subagent, caused by the call that started it', () => {
    const runs = importFile(`../cases/intake/102-agent-progress/${session}.jsonl`);
    const of = (type: string) => ofType(runs, type).filter(({ actor }) => nameOf(actor) === 'claude-code/a1');
    const [task] = ofType(runs, 'tool.call');
    expect(
      of('tool.call').map((event) => [nameOf(event.resource), meta(event)['arguments'], event.causedBy]),
    ).toEqual([['Bash', { command: 'rm -rf tmp' }, [task?.clientEventId]]]);
    expect(of('tool.result').map((event) => meta(event))).toMatchObject([
      { toolCallId: 't2', content: '', outcome: 'ok' },
    ]);
    const read = ofType(runs, 'model.invoked').flatMap((event) => meta(event)['toolResultIds'] ?? []);
    expect(read).toEqual(['t1']);
    expect(runs[0]?.changes.get('bookkeeping')).toBe(1);
    expectToFit(runs);
  });
});

describe('lines of housekeeping', () => {
  it.each([
    ['a message', { type: 'tag', message: { role: 'user', content: 'pay bob' } }],
    [
      'a message of another author',
      { type: 'progress', data: { message: { type: 'peer', message: { content: [] } } } },
    ],
  ])('with %s are not understood, and no housekeeping', (_, members) => {
    const [run] = importValue([{ sessionId: 's', uuid: 'u', timestamp: '2026-01-05T09:00:00Z', ...members }]);
    expect(ofType([run!], 'x.unknown')).toHaveLength(1);
    expect(run?.remainder).toMatchObject([{ where: 'line 1 /0' }]);
  });
});

describe('progress lines of Claude Code', () => {
  const line = (uuid: string, members: object) => ({
    sessionId: 's',
    uuid,
    timestamp: '2026-01-05T09:00:00Z',
    ...members,
  });
  const message = (uuid: string, content: unknown[], type = 'assistant') => ({
    type,
    uuid,
    message: { id: `m-${uuid}`, role: type, content },
  });
  const progress = (uuid: string, inner: object) =>
    line(uuid, {
      type: 'progress',
      parentToolUseID: 't0',
      data: { type: 'agent_progress', agentId: 'a1', message: inner },
    });
  const bash = [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }];

  it('records a message once that comes in two lines, and one that the session has in full not again', () => {
    const full = line('i2', {
      ...message('i2', [{ ...bash[0], id: 't2' }]),
      isSidechain: true,
      agentId: 'a1',
    });
    const [run] = importValue([
      progress('p1', message('i1', bash)),
      progress('p2', message('i1', bash)),
      progress('p3', message('i2', [{ ...bash[0], id: 't2' }])),
      full,
    ]);
    expect(ofType([run!], 'tool.call').map((event) => meta(event)['toolCallId'])).toEqual(['t1', 't2']);
    expect(run?.changes.get('block_repeated')).toBe(2);
  });

  it('records the words of a subagent, and marks a block that gov does not know', () => {
    const [run] = importValue([
      progress('p1', message('i1', [{ type: 'text', text: 'Done.' }, { type: 'new' }])),
    ]);
    expect(ofType([run!], 'agent.step').map((event) => meta(event)['content'])).toEqual([
      [{ type: 'text', text: 'Done.' }],
    ]);
    expect(ofType([run!], 'x.unknown')).toHaveLength(1);
  });
});
