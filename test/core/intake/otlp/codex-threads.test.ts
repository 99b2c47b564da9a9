import { describe, expect, it } from 'vitest';
import { inSessions, threadName, threadNames } from '../../../../src/core/intake/otlp/codex-threads.ts';
import type { LogRecord } from '../../../../src/core/intake/otlp/records.ts';

const log = (name: string, conversation: string, traceId: string): LogRecord => ({
  name,
  at: null,
  attributes: { 'conversation.id': conversation },
  resource: {},
  body: undefined,
  traceId,
  spanId: undefined,
  scope: undefined,
});
const root = log('codex.api_request', 'root', 't1');
const start = log('codex.conversation_starts', 'sub', 't1');
const call = log('codex.tool_result', 'sub', 't2');

const runs = (logs: readonly LogRecord[]) => logs.map(({ attributes }) => attributes['conversation.id']);

describe('the records of a subagent of Codex', () => {
  it('are in the session whose trace its first record is in, of the same request or an earlier one', () => {
    const here = inSessions([root, start, call], new Map());
    expect(runs(here.logs)).toEqual(['root', 'root', 'root']);
    expect(here.logs[2]?.attributes['codex.thread_id']).toBe('sub');
    expect([...here.threads]).toEqual([[threadName('sub'), 'root']]);
    const earlier = inSessions([start, call], new Map([['t1', 'root']]));
    expect([runs(earlier.logs), [...earlier.threads]]).toEqual([
      ['root', 'root'],
      [[threadName('sub'), 'root']],
    ]);
    const later = inSessions([call], new Map([[threadName('sub'), 'root']]));
    expect([runs(later.logs), later.threads.size]).toEqual([['root'], 0]);
  });

  it('of a subagent of a subagent are in the session of both', () => {
    const inner = log('codex.conversation_starts', 'inner', 't2');
    const known = new Map([[threadName('sub'), 'root']]);
    const { logs, threads } = inSessions([call, inner, log('codex.tool_result', 'inner', 't3')], known);
    expect([runs(logs), [...threads]]).toEqual([['root', 'root', 'root'], [[threadName('inner'), 'root']]]);
  });

  it('stay where they are without a session, in one of their own, and of other programs', () => {
    const alone = [start, call];
    expect(inSessions(alone, new Map()).logs).toBe(alone);
    expect(runs(inSessions(alone, new Map([['t1', 'sub']])).logs)).toEqual(['sub', 'sub']);
    const other = { ...start, name: 'app.conversation_starts' };
    expect(runs(inSessions([root, other], new Map()).logs)).toEqual(['root', 'sub']);
    expect(threadNames([root, other, call])).toEqual([threadName('root'), threadName('sub')]);
  });
});
