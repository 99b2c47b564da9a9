import { describe, expect, it } from 'vitest';
import { actionRecomputes, withAction } from '../../../src/core/action/recorded.ts';
import type { JsonObject } from '../../../src/core/json/canonical.ts';

const call: JsonObject = {
  tool: { name: 'Bash' },
  arguments: { command: 'rm x' },
  facts: { client: { name: 'claude-code' }, cwd: '/w/./app/', real: { '/w/app/x': '/y' }, plane: null },
};

describe('the recorded action of a call', () => {
  it('recomputes from the other members of its context', () => {
    const { context } = withAction(call);
    expect(context['action']).toMatchObject({ paths: [{ path: '/w/app/x' }, { path: '/y' }], plane: null });
    expect(actionRecomputes({ context })).toBe(true);
  });

  it.each([
    ['/', '/home/a', null],
    ['/home', '/home/a', null],
    ['/home/./a/..', '/home/a', null],
    ['/home/a', '/home/a', 'workspace'],
    ['/home/a/w', '/home/a', 'workspace'],
    ['/w', null, 'workspace'],
  ])('a workspace of %j with the home %j is %j', (workspace, home, place) => {
    const facts = { workspace, home, cwd: workspace, client: { name: 'claude-code' } };
    const { action } = withAction({ ...call, facts });
    expect(action.paths?.[0]?.places?.includes('workspace')).toBe(place !== null);
  });

  it('differs where a member was changed', () => {
    const { context } = withAction(call);
    expect(actionRecomputes({ context: { ...context, arguments: { command: 'ls' } } })).toBe(false);
    expect(actionRecomputes({ context: { ...context, facts: {} } })).toBe(false);
    expect(actionRecomputes({ context: { ...context, action: { engine: 'gov.action/1' } } })).toBe(false);
  });

  it('is unknown for an older evaluation, an erased one and another engine', () => {
    const { context } = withAction(call);
    expect(actionRecomputes({ context: call })).toBeNull();
    expect(actionRecomputes(null)).toBeNull();
    expect(actionRecomputes({ context: { ...context, action: { engine: 'gov.action/2' } } })).toBeNull();
  });

  it('is there for any members', () => {
    for (const context of [
      {},
      { tool: 1, facts: [] },
      { tool: { name: [] }, arguments: null, facts: { real: 1 } },
    ])
      expect(withAction(context).context['action']).toMatchObject({ kind: 'call' });
  });
});
