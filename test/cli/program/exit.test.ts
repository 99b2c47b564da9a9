import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CliError, exit, exitMeanings, exitOf, failureOf, usage } from '../../../src/cli/program/exit.ts';
import { unreadable } from '../../../src/cli/program/flags.ts';
import { GovApiError, GovNetworkError } from '../../../src/client/errors.ts';
import { GovError, problems } from '../../../src/contract/problems.ts';

/** What a pipeline meets, for every code of the register. */
const expected = (code: string, status: number): number => {
  if (code === 'PROOF_NOT_FOUND' || code === 'RUN_HAS_NO_EVENTS') return 5;
  if (code === 'INVALID_TRANSITION') return 6;
  if (status === 401 || status === 403) return 4;
  if (status === 402 || status === 429) return 7;
  if (status === 404 || status === 410) return 5;
  if (status === 408) return 10;
  if (status === 409) return 6;
  return status >= 500 ? 1 : 2;
};

describe('exit codes', () => {
  it.each(Object.entries(problems))(
    'the exit code of %s follows from its status and meaning',
    (code, { status }) => {
      expect(exitOf(code, status)).toBe(expected(code, status));
      expect(failureOf(new GovApiError(status, { code }, {})).exit).toBe(expected(code, status));
      expect(failureOf(new GovError(code as keyof typeof problems, 'x')).exit).toBe(expected(code, status));
    },
  );

  it('each exit code has one meaning, which gov help exit-codes prints', () => {
    expect(
      Object.keys(exitMeanings)
        .map(Number)
        .sort((a, b) => a - b),
    ).toEqual(Object.values(exit).sort((a, b) => a - b));
  });

  it('a full disk is reported as such, whatever file a command wrote', () => {
    let thrown: unknown;
    try {
      writeFileSync('/dev/full', 'x');
    } catch (error) {
      thrown = error;
    }
    expect(failureOf(thrown)).toMatchObject({
      exit: 1,
      code: 'STORAGE_FULL',
      message: expect.stringMatching(/^the disk is full \(ENOSPC/),
      hint: expect.stringMatching(/^make room/),
    });
  });

  it('a read-only file system is no full disk: nothing asks to make room there', () => {
    // as mkdirSync() throws it; only root could mount one
    const message = "EROFS: read-only file system, mkdir '/mnt/x'";
    const thrown = Object.assign(new Error(message), { code: 'EROFS', syscall: 'mkdir', path: '/mnt/x' });
    expect(failureOf(thrown)).toMatchObject({
      exit: 1,
      code: 'WRITE_FAILED',
      message: `the file system is read-only (${message})`,
      hint: 'choose another place, then run the command again',
    });
  });

  it('a folder that cannot be made is reported with its path and the reason', () => {
    let thrown: unknown;
    try {
      mkdirSync('/dev/null/x');
    } catch (error) {
      thrown = error;
    }
    expect(failureOf(thrown)).toMatchObject({
      exit: 1,
      code: 'WRITE_FAILED',
      message: 'cannot make the folder /dev/null/x: a file blocks the path',
      hint: expect.stringMatching(/^choose another place/),
    });
  });

  it('a path that leads through a file is reported with the reason, and asks for no report of a fault', () => {
    let thrown: unknown;
    try {
      writeFileSync('/dev/null/x', '');
    } catch (error) {
      thrown = error;
    }
    expect(failureOf(thrown)).toMatchObject({
      exit: 1,
      code: 'WRITE_FAILED',
      message: 'cannot use /dev/null/x: a file blocks the path',
      hint: expect.stringMatching(/^choose another place/),
    });
    expect(unreadable('/dev/null/x', thrown).message).toBe('cannot read /dev/null/x: a file blocks the path');
  });

  it('a refused permission is reported with the path, and without the system call', () => {
    const refused = { code: 'EACCES', syscall: 'mkdtemp', path: '/srv/b' };
    const denied = Object.assign(new Error("EACCES: permission denied, mkdtemp '/srv/b'"), refused);
    expect(failureOf(denied)).toMatchObject({
      exit: 1,
      code: 'PERMISSION_DENIED',
      message: 'cannot use /srv/b: this user may not (EACCES)',
      hint: expect.stringMatching(/^choose a place that this user may use/),
    });
    const program = Object.assign(new Error('spawn /srv/b EACCES'), { ...refused, syscall: 'spawn /srv/b' });
    expect(failureOf(program).message).toBe('spawn /srv/b EACCES');
  });

  it('no message shows an API key, such as one in a file that was taken for another', () => {
    const key = 'gov_live_QDqT18VUaFY5k7JZXcxQFMp18jdDcEDz2VyGQJ';
    const text = `local.key: line 1: expected log or witness, got "${key}"`;
    for (const thrown of [usage(text), new Error(text), new GovError('CONFLICT', text)])
      expect(failureOf(thrown).message).toContain(
        'local.key: line 1: expected log or witness, got "gov_live_QDqT…"',
      );
    expect(failureOf(usage('expected gov_live_… or gov.local/prj_01jq3v5k8hf7wb3c9x2m4n6p8r')).message).toBe(
      'expected gov_live_… or gov.local/prj_01jq3v5k8hf7wb3c9x2m4n6p8r',
    );
  });

  it('a missing resource is reported with the command that lists resources', () => {
    const thrown = new GovApiError(404, { code: 'NOT_FOUND' }, {});
    expect(failureOf(thrown, 'gov runs list').hint).toBe('see what there is: gov runs list');
    expect(failureOf(thrown).hint).toBeUndefined();
  });

  it('an unreachable service is distinguished from every response', () => {
    expect(failureOf(new GovNetworkError('ECONNREFUSED', 'x', { retryable: true }))).toMatchObject({
      exit: 10,
      code: 'ECONNREFUSED',
      retryable: true,
    });
  });

  it('a bug exits with 1 and says how to report it', () => {
    expect(failureOf(new TypeError('x is undefined'))).toMatchObject({
      exit: 1,
      hint: expect.stringMatching(/--debug/),
    });
    expect(failureOf('thrown text')).toMatchObject({ exit: 1, message: 'thrown text' });
  });

  it('an error of a command keeps its own exit code and hints', () => {
    expect(failureOf(new CliError(8, 'later', { next: ['gov jobs wait x'] }))).toMatchObject({
      exit: 8,
      retryable: true,
      next: ['gov jobs wait x'],
    });
    expect(failureOf(usage('expected a, got b', 'do c'))).toMatchObject({
      exit: 2,
      code: 'USAGE',
      hint: 'do c',
    });
  });
});
