import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { subjectHash, subjectOf } from '../../../src/core/decided/subject.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';

const of = (client: string, name: string, given: JsonObject, more: JsonObject = {}): JsonObject => ({
  tool: { name },
  arguments: given,
  facts: { client: { name: client, version: '1' }, cwd: '/w', home: '/home/a' },
  ...more,
});

describe('the subject of a call', () => {
  it('is a labelled hash that sha256sum reproduces', () => {
    const preimage =
      'gov.subject/1\n{"arguments":{"command":"ls"},"cwd":"/w","tool":{"client":"claude-code","tool":"Bash"}}';
    const hash = createHash('sha256').update(preimage).digest('hex');
    expect(subjectHash(of('claude-code', 'Bash', { command: 'ls', description: 'List' }))).toBe(
      `sha256:${hash}`,
    );
  });

  it.each([
    ['claude-code', 'Bash', 'description'],
    ['claude-code', 'Monitor', 'description'],
    ['claude-code', 'Agent', 'description'],
    ['codex', 'exec_command', 'justification'],
    ['codex', 'exec_command', 'yield_time_ms'],
    ['codex', 'exec_command', 'max_output_tokens'],
    ['gemini', 'run_shell_command', 'description'],
  ])('of %s %s lacks %s', (client, name, member) => {
    const given = { command: 'ls', run_in_background: true };
    expect(subjectOf(of(client, name, { ...given, [member]: 'x' })).arguments).toEqual(given);
  });

  it.each<[string, JsonObject]>([
    ['another command', of('claude-code', 'Bash', { command: 'ls -a' })],
    ['a run in the background', of('claude-code', 'Bash', { command: 'ls', run_in_background: true })],
    ['another client', of('codex', 'Bash', { command: 'ls' })],
    ['another tool', of('claude-code', 'Monitor', { command: 'ls' })],
    ['another folder', { ...of('claude-code', 'Bash', { command: 'ls' }), facts: { cwd: '/x' } }],
    ['a server', { ...of('', 'Bash', { command: 'ls' }), tool: { name: 'Bash', server: 'claude-code' } }],
  ])('differs for %s', (_, context) => {
    expect(subjectHash(context)).not.toBe(subjectHash(of('claude-code', 'Bash', { command: 'ls' })));
  });

  it('of a tool of a server is the same for the hook and for the proxy, and keeps a description', () => {
    const given = { amount: 9, description: 'rent' };
    const hook = of('claude-code', 'pay', given, { tool: { name: 'pay', server: 'till' } });
    const proxy = { tool: { name: 'pay', server: 'till', schemaHash: 'sha256:a' }, arguments: given };
    expect(subjectHash(hook)).toBe(subjectHash(proxy));
    expect(subjectOf(hook)).toEqual({ tool: { server: 'till', tool: 'pay' }, arguments: given, cwd: null });
  });

  it('takes names from no prototype', () => {
    expect(subjectOf(of('constructor', '__proto__', { toString: 'x' })).arguments).toEqual({ toString: 'x' });
  });
});
