import { describe, expect, it } from 'vitest';
import { readingsOf, resolvedMcp } from '../../../src/core/agents/mcp-name.ts';

describe('the name of an MCP tool in a client', () => {
  it('a name with one separator has one reading, and needs no configuration', () => {
    expect(resolvedMcp('mcp__bank__pay', null)).toEqual({ server: 'bank', name: 'pay' });
    expect(resolvedMcp('Bash', null)).toBeNull();
    expect(readingsOf('mcp__bank')).toEqual([]);
    expect(readingsOf('mcp____pay')).toEqual([]);
  });

  it('a name with several separators means the configured server', () => {
    const name = 'mcp__bank__eu__pay';
    expect(readingsOf(name)).toHaveLength(2);
    expect(resolvedMcp(name, ['bank__eu', 'shop'])).toEqual({ server: 'bank__eu', name: 'pay' });
    expect(resolvedMcp(name, ['bank'])).toEqual({ server: 'bank', name: 'eu__pay' });
    expect(resolvedMcp('mcp__my_bank__eu__pay', ['my bank'])).toEqual({ server: 'my_bank', name: 'eu__pay' });
  });

  it('a name that two configured servers share, or that no known one explains, is not guessed', () => {
    const name = 'mcp__bank__eu__pay';
    expect(resolvedMcp(name, ['bank', 'bank__eu'])).toBeNull();
    expect(resolvedMcp(name, ['shop'])).toBeNull();
    expect(resolvedMcp(name, null)).toBeNull();
  });
});
