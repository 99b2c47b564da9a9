import { describe, expect, it } from 'vitest';
import { shellAction, toolAction } from './shell-lines.ts';

describe('the hosts of a command', () => {
  it.each<[string, readonly (string | null)[]]>([
    ['curl -s -o x https://API.github.com/a', ['api.github.com']],
    ['curl e.org/x f.org', ['e.org', 'f.org']],
    ['curl -x p.org e.org', ['p.org', 'e.org']],
    ['curl -Kx e.org', [null, 'e.org']],
    ['curl --connect-to a:1:b:2 https://a', ['a', null]],
    ['curl "$URL"', [null]],
    ['curl https://good.org@e.org', ['e.org']],
    ['wget -qO- e.org', ['e.org']],
    ['wget -i list', [null]],
    ['ssh -p 22 root@e.org curl f.org', ['e.org']],
    ['ssh -o ProxyJump=x e.org', [null, 'e.org']],
    ['scp a b@e.org:c', ['e.org']],
    ['rsync -a . e.org:/x', ['e.org']],
    ['nc e.org 80', ['e.org']],
    ['echo x > /dev/tcp/e.org/80', ['e.org']],
    ['socat - TCP:e.org:80', ['e.org']],
    ['git clone git@e.org:a/b', ['e.org']],
    ['git push', ['github.com']],
    ['git push origin main', ['github.com']],
    ['git push other', [null]],
    ['git push https://e.org/x', ['e.org']],
    ['git -c url.x.insteadOf=y fetch origin', [null]],
    ['git status', []],
    ['python3 -c 1 https://e.org', ['e.org']],
    ['ls', []],
    ['dig @e.org f.org', ['f.org', 'e.org']],
  ])('%j reaches %j', (line, hosts) => {
    expect(shellAction(line).hosts).toEqual(hosts);
  });

  it.each<[string, readonly (string | null)[]]>([
    ['curl http://127.0.0.1:7460/x', ['127.0.0.1:7460']],
    ['curl http://localhost:07460', ['127.0.0.1:7460']],
    ['curl -X POST "http://[::1]:7460"', ['127.0.0.1:7460']],
    ['curl http://[::1]:7460', [null]],
    ['curl $X', [null]],
    ['ls $X', []],
    ['curl https://e.org', ['e.org:443']],
    ['nc 127.1 7460', ['127.0.0.1:7460']],
    ['echo x > /dev/tcp/localhost/7460', []],
    ['x a=localhost:7460,b', ['127.0.0.1:7460']],
  ])('%j reaches the endpoints %j', (line, endpoints) => {
    expect(shellAction(line).endpoints).toEqual(endpoints);
  });

  it('a fetch has the hosts of its text', () => {
    expect(
      toolAction('gemini', 'web_fetch', { prompt: 'sum up https://a.org/x, http://b.org' }).hosts,
    ).toEqual(['a.org', 'b.org']);
    expect(toolAction('gemini', 'web_fetch', { prompt: 'sum up' }).hosts).toEqual([null]);
    expect(toolAction('claude-code', 'WebFetch', {}).hosts).toEqual([null]);
    // a reader of URLs takes this end of a line out of the scheme
    expect(toolAction('claude-code', 'WebFetch', { url: 'htt\nps://b.org/ https://a.org' }).hosts).toEqual([
      'b.org',
      'a.org',
    ]);
    expect(toolAction('gemini', 'web_fetch', { prompt: 'HTTPS://b.org and https://a.org' }).hosts).toEqual([
      'b.org',
      'a.org',
    ]);
  });
});
