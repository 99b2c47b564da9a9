import { describe, expect, it } from 'vitest';
import { OpenCall } from '../../../src/cli/mcp/open-calls.ts';
import { Sessions } from '../../../src/cli/mcp/sessions.ts';
import { limits } from '../../../src/contract/limits.ts';

const named = (id: number) => ({ 'mcp-session-id': `s${id}` });

describe('Sessions', () => {
  it('remembers as many sessions as the limit allows, and ends the calls of the oldest one', async () => {
    const sessions = new Sessions();
    const first = sessions.of(named(0));
    const call = new OpenCall(undefined);
    first.open.add('1', 'tools/call', call);
    const run = call.run();
    for (let id = 1; id < limits.mcpSessions; id++) sessions.of(named(id));
    expect(sessions.of(named(0))).toBe(first);
    sessions.of(named(limits.mcpSessions));
    expect((await run).ended).toMatchObject({ how: 'unanswered' });
    expect(sessions.of(named(0))).not.toBe(first);
  });

  it('keeps exchanges without a session apart', () => {
    const sessions = new Sessions();
    expect(sessions.of({})).not.toBe(sessions.of({}));
  });
});
