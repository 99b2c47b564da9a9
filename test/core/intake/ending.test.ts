import { describe, expect, it } from 'vitest';
import { exitCodeIn, saysFailure } from '../../../src/core/intake/ending.ts';

describe('the failure that a result states', () => {
  it.each([
    ['a flag', { is_error: true }],
    ['a flag of MCP', { isError: true, content: [] }],
    ['an exit code of 1', { exit_code: 1 }],
    ['an exit code of -1', { exitCode: -1 }],
    ['an exit code as a text', { returncode: '2' }],
    ['an exit code beside the output', { output: 'no', metadata: { exit_code: 1 } }],
    ['the outcome of a shell', [{ stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 1 } }]],
    ['a timeout of a shell', [{ stdout: '', outcome: { type: 'timeout' } }]],
    ['an interruption', { stdout: '', interrupted: true }],
    ['JSON in a text', '{"output":"no","metadata":{"exit_code":1}}'],
    ['JSON in a part', [{ json: { exit_code: 1 } }]],
    ['a text of Claude Code', 'Exit code 1\nls: no such file'],
    ['an error of Claude Code', 'Error: Exit code 2'],
    ['a text in a part', [{ type: 'text', text: 'Exit code 1' }]],
    ['a text of Codex', 'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nno'],
    ['a text of mini-swe-agent', '<returncode>1</returncode>\n<output>\n</output>'],
  ])('reads %s as a failure', (_, result) => {
    expect(saysFailure(result)).toBe(true);
  });

  it.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['an exit code of 0', { exit_code: 0 }],
    ['a flag that is false', { is_error: false }],
    ['the words of a printed file', 'log:\nExit code: 1\n'],
    ['a printed file below the head of Codex', 'Process exited with code 0\nOutput:\nExit code: 1\n'],
    ['a printed JSON below a text', 'cat x\n{"exit_code": 1}'],
    ['a nested record of another thing', { jobs: [{ exit_code: 1 }] }],
    ['JSON that does not end', '{"exit_code": 1'],
  ])('reads %s as no failure', (_, result) => {
    expect(saysFailure(result)).toBe(false);
  });

  it('reads the exit code in the head of a text', () => {
    expect(exitCodeIn('Exit code: 3\nOutput:\nx')).toBe(3);
    expect(exitCodeIn('Process exited with code 0\nOutput:\nx')).toBe(0);
    expect(exitCodeIn('hello')).toBeUndefined();
  });
});
