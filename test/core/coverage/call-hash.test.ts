import { describe, expect, it } from 'vitest';
import { callHash, callHashOf, lineHash, withCallHash } from '../../../src/core/coverage/call-hash.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { canonicalize, type JsonObject } from '../../../src/core/json/canonical.ts';

const of = (client: string | null, tool: string, given: JsonObject, server: string | null = null) =>
  callHash({ client, tool, server, arguments: given });

describe('the hash of a call', () => {
  it('is that of kind and action, with the engine before it', () => {
    const command = {
      program: 'ls',
      verb: '',
      args: [],
      flags: [],
      operands: [],
      redirects: [],
      cwd: '/w',
    };
    const what = {
      kind: 'shell',
      commands: [command],
      paths: [],
      hosts: [],
      endpoints: [],
      code: [],
    };
    const hash = sha256Text(`gov.call/1\n${canonicalize(what)}`);
    expect(of('claude-code', 'Bash', { command: 'ls' })).toBe(`gov.action/1 ${hash}`);
  });

  it.each([
    [
      'the tools of two clients',
      of('claude-code', 'Bash', { command: 'ls -l' }),
      of('codex', 'exec_command', { cmd: 'ls -l' }),
    ],
    [
      'a line and the words of a shell',
      of('codex', 'shell', { command: ['bash', '-lc', 'ls -l'] }),
      lineHash('ls -l'),
    ],
    ['blanks', lineHash('ls  -l'), lineHash('ls -l ')],
    [
      'a description, a time and a folder that only one source knows',
      of('codex', 'exec_command', { cmd: 'ls', workdir: '/x', yield_time_ms: 1 }),
      of('codex', 'Bash', { command: 'ls' }),
    ],
    [
      'a written text, by its path',
      of('claude-code', 'Write', { file_path: '/a', content: 'x' }),
      of('claude-code', 'Write', { file_path: '/a', content: { $digest: 'sha256:0', bytes: 9 } }),
    ],
    ['a line that nobody reads', lineHash('cat "'), lineHash(' cat "')],
  ])('is the same for %s', (_name, one, other) => {
    expect(one).toMatch(/^gov\.action\/1 sha256:[0-9a-f]{64}$/);
    expect(other).toBe(one);
  });

  it.each([
    ['command', lineHash('echo x'), lineHash('rm x')],
    ['line that nobody reads', lineHash('cat "'), lineHash('rm "')],
    ['line with a comment alone', lineHash('# a'), lineHash('# b')],
    ['path', of('claude-code', 'Read', { file_path: '/a' }), of('claude-code', 'Read', { file_path: '/b' })],
    ['kind', of('claude-code', 'Read', { file_path: '/a' }), of('claude-code', 'Write', { file_path: '/a' })],
    [
      'amount of an MCP call',
      of(null, 'pay', { amount: 1, currency: 'EUR' }, 'till'),
      of(null, 'pay', { amount: 2, currency: 'EUR' }, 'till'),
    ],
  ])('is another one for another %s', (_name, one, other) => {
    expect(one).not.toBeNull();
    expect(other).not.toBe(one);
  });

  it.each([
    ['an unknown tool', of('claude-code', 'Teleport', { path: '/a' })],
    ['the tool of an unknown program', of(null, 'Bash', { command: 'ls' })],
    ['a shell without a line', of('claude-code', 'Bash', {})],
    ['another agent', of('claude-code', 'Task', { prompt: 'go' })],
    ['a file that is not named', of('claude-code', 'Write', {})],
    ['an MCP call without paths, hosts or amounts', of(null, 'ping', { text: 'x' }, 'till')],
  ])('is missing for %s', (_name, hash) => {
    expect(hash).toBeNull();
  });
});

const call = (metadata: Record<string, unknown>, more = {}) => ({
  eventType: 'tool.call',
  actor: { name: 'claude-code/sub-1' },
  resource: { name: 'Bash', type: 'tool' },
  metadata,
  ...more,
});
const given = { arguments: { command: 'ls' } };

describe('the hash that an event gets', () => {
  it.each([
    ['the agent of a recording', call(given)],
    ['the client of a hook', call({ ...given, client: 'claude-code' }, { actor: 'x' })],
    ['the record of telemetry', call({ ...given, record: 'claude_code.tool_result' }, { actor: 'x' })],
    ['arguments that are whole', call({ ...given, otel: { tool_input_size_bytes: '16' } })],
    ['the scope of telemetry', call({ ...given, scope: 'com.anthropic.claude_code.events' }, { actor: 'x' })],
    ['what the kernel saw', { eventType: 'x.kernel.exec', metadata: { argv: ['/bin/sh', '-c', 'ls'] } }],
  ])('is read with the tools of %s', (_name, event) => {
    expect(callHashOf(event)).toBe(lineHash('ls'));
    expect(withCallHash(event).metadata).toMatchObject({ callHash: lineHash('ls') });
  });

  it.each([
    ['arguments that are a digest', call({ arguments: { hash: 'sha256:0', bytes: 2 } })],
    ['no arguments', call({})],
    ['another program', call(given, { actor: { name: 'app' } })],
    ['arguments that were cut', call({ ...given, otel: { tool_input_size_bytes: '17' } })],
    ['a result', { ...call(given), eventType: 'tool.result' }],
    ['a program that is no shell', { eventType: 'x.kernel.exec', metadata: { argv: ['/bin/ls'] } }],
    ['words that are no list', { eventType: 'x.kernel.exec', metadata: { argv: 'ls' } }],
  ])('is missing for %s', (_name, event) => {
    expect(callHashOf(event)).toBeNull();
    expect(withCallHash(event)).toBe(event);
  });
});
