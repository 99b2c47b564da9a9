import { describe, expect, it } from 'vitest';
import { endingOf, exitCodeBelow, exitCodeIn, saysFailure } from '../../../src/core/intake/ending.ts';

describe('the failure that a result states', () => {
  it.each([
    ['a flag', { is_error: true }],
    ['a flag of MCP', { isError: true, content: [] }],
    ['an exit code of 1', { exit_code: 1 }],
    ['an exit code of -1', { exitCode: -1 }],
    ['an exit code as a text', { returncode: '2' }],
    ['an exit code as a text with spaces and decimals', { exit_code: ' +2.0' }],
    ['an exit code in the output', { output: { exit_code: 1 } }],
    ['a flag as a text', { is_error: 'True' }],
    ['a flag as a number', { isError: 1 }],
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
    ['a flag that is false, as a text', { is_error: 'false' }],
    ['the words of a printed file', 'log:\nExit code: 1\n'],
    ['a printed file below the head of Codex', 'Process exited with code 0\nOutput:\nExit code: 1\n'],
    ['a printed JSON below a text', 'cat x\n{"exit_code": 1}'],
    ['a nested record of another thing', { jobs: [{ exit_code: 1 }] }],
    ['JSON that does not end', '{"exit_code": 1'],
  ])('reads %s as no failure', (_, result) => {
    expect(saysFailure(result)).toBe(false);
  });

  it.each([
    [{ status: 'error' }, 'error'],
    [{ status: '500' }, 'error'],
    [{ success: 'false' }, 'error'],
    [{ error: 'false' }, 'ok'],
    // of the call, or of the payment that it asked for
    [{ status: 'FAILED' }, 'unknown'],
    [{ status: 'failed', exit_code: 1 }, 'error'],
    [{ status: 'done' }, 'ok'],
  ] as const)('reads %j of a tool, of which the program says nothing, as %s', (result, ending) => {
    expect(endingOf({ results: [result], silent: 'ok' })).toBe(ending);
  });

  it.each([
    { is_error: true },
    { error: 'boom' },
    { success: false },
    { status: 'error' },
    { exit_code: '1' },
  ])('a record with %j does not end well, whatever its result and the program say', (record) => {
    expect(endingOf({ stated: 'ok', results: [{ success: true }], record })).toBe('error');
  });

  it.each([
    ['Command: ls\nOutput: no\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 7\n</untrusted_context>', 2],
    ['Output: no\nExit Code: -1', -1],
    ['Output: log:\nExit Code: 1\n\nend', undefined],
    ['Output: log:\nExit Code: 1\n\nend\nExit Code: 3', 3],
    ['no such file\n<exited with exit code 1>', 1],
    ['<exited with exit code 1>\nwas printed\n<exited with exit code 0>\n', 0],
    ['', undefined],
  ])('reads the exit code below the output: %j', (text, code) => {
    expect(exitCodeBelow(text)).toBe(code);
  });

  it('reads the exit code in the head of a text', () => {
    expect(exitCodeIn('Exit code: 3\nOutput:\nx')).toBe(3);
    expect(exitCodeIn('Process exited with code 0\nOutput:\nx')).toBe(0);
    expect(exitCodeIn('hello')).toBeUndefined();
  });
});
