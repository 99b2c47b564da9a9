import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gitFacts, withoutCredentials } from '../../../src/cli/start/git.ts';
import { emptyDirectory } from '../support/tool.ts';

describe('what git says of a directory', () => {
  it('is the commit, the branch, whether files differ, and the remote without credentials', async () => {
    const cwd = emptyDirectory();
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd })
        .toString()
        .trim();
    git('init', '-q', '-b', 'main');
    expect(await gitFacts(cwd)).toBeNull();
    writeFileSync(join(cwd, 'a'), 'a');
    git('add', 'a');
    git('commit', '-q', '-m', 'a');
    git('remote', 'add', 'origin', 'https://zoe:secret@example.com/a.git?token=secret');
    const facts = { commit: git('rev-parse', 'HEAD'), branch: 'main', remote: 'https://example.com/a.git' };
    expect(await gitFacts(cwd)).toEqual({ ...facts, dirty: false });
    writeFileSync(join(cwd, 'b'), 'b');
    expect(await gitFacts(cwd)).toEqual({ ...facts, dirty: true });
    git('checkout', '-q', '--detach');
    const { branch: _branch, ...detached } = facts;
    expect(await gitFacts(cwd)).toEqual({ ...detached, dirty: true });
  });

  it('is nothing outside of a repository', async () => {
    expect(await gitFacts(emptyDirectory())).toBeNull();
  });

  it.each([
    ['git@example.com:a/b.git', 'example.com:a/b.git'],
    ['ssh://git@example.com/a.git', 'ssh://example.com/a.git'],
    ['https://example.com/a.git#x', 'https://example.com/a.git'],
    ['https://a:b@@bad:port/', null],
    ['/srv/a@b.git', '/srv/a@b.git'],
    ['', ''],
  ])('keeps no credential of the remote %s', (remote, shown) => {
    expect(withoutCredentials(remote)).toBe(shown);
  });
});
