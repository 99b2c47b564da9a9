import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { remoteHosts } from '../../../src/core/action/git-remotes.ts';

const remote = (name: string, ...urls: string[]): string =>
  `[remote "${name}"]\n${urls.map((url) => `\turl = ${url}\n`).join('')}\tfetch = +refs/heads/*\n`;

describe('the hosts of git remotes', () => {
  it('reads URLs, addresses of ssh and paths', () => {
    const config = `[core]\n\tbare = false\n${remote('origin', 'git@GitHub.com:a/b.git')}${remote('web', 'https://e.org/x')}${remote('disk', '/srv/x')}`;
    expect(remoteHosts(config)).toEqual({ origin: 'github.com', web: 'e.org', disk: null });
  });

  it('a remote with two hosts has none', () => {
    const config = `${remote('origin', 'https://e.org/x')}\tpushurl = git@f.org:x\n`;
    expect(remoteHosts(config)).toEqual({ origin: null });
  });

  it.each([
    '[url "git@e.org:"]\n\tinsteadOf = https://f.org/',
    '[include]\n\tpath = x',
    '[includeIf "x"]\n\tpath=x',
  ])('a file with %j says nothing', (more) => {
    expect(remoteHosts(`${remote('origin', 'https://f.org/x')}${more}`)).toBeNull();
  });

  it('has a number of remotes', () => {
    const many = (count: number) =>
      remoteHosts(Array.from({ length: count }, (_, at) => remote(`r${at}`, 'https://e.org/x')).join(''));
    expect(Object.keys(many(limits.factRemotes) ?? {})).toHaveLength(limits.factRemotes);
    expect(many(limits.factRemotes + 1)).toBeNull();
  });
});
