import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { OpenCall, OpenRequests } from '../../../src/cli/mcp/open-calls.ts';
import { Envelope } from '../../../src/core/mcp/envelope.ts';

describe('OpenRequests', () => {
  it('takes as many requests as the limit allows, and no other one', () => {
    const open = new OpenRequests();
    for (let id = 0; id < limits.mcpOpenRequests; id++) expect(open.add(String(id), 'ping')).toBeUndefined();
    expect(open.add('x', 'ping')).toContain(`at most ${limits.mcpOpenRequests}`);
    open.remove('0');
    expect(open.add('x', 'ping')).toBeUndefined();
  });

  it('refuses an id that is open, and takes it again after its answer', () => {
    const open = new OpenRequests();
    open.add('1', 'ping');
    expect(open.add('1', 'ping')).toContain('no answer yet');
    open.remove('1');
    expect(open.add('1', 'ping')).toBeUndefined();
  });

  it('counts progress of the call that has the token', async () => {
    const open = new OpenRequests();
    const calls = [new OpenCall('a'), new OpenCall(1)];
    const runs = calls.map((call, at) => {
      open.add(String(at), 'tools/call', call);
      return call.run();
    });
    const notify = (progressToken: unknown): void =>
      open.notified(
        new Envelope(
          Buffer.from(JSON.stringify({ method: 'notifications/progress', params: { progressToken } })),
        ),
      );
    notify('a');
    notify('a');
    notify('other');
    notify(1);
    open.endAll('the end');
    expect((await Promise.all(runs)).map(({ progress }) => progress)).toEqual([2, 1]);
  });

  it('ends every open call with a reason', async () => {
    const open = new OpenRequests();
    const call = new OpenCall(undefined);
    open.add('1', 'tools/call', call);
    open.add('2', 'ping');
    const run = call.run();
    expect(open.endAll('gone')).toEqual(['1', '2']);
    expect((await run).ended).toEqual({ how: 'unanswered', detail: 'gone' });
    expect(open.size).toBe(0);
  });
});
