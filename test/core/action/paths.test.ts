import { describe, expect, it } from 'vitest';
import { pathsIn, shellAction, toolAction } from './shell-lines.ts';

describe('the paths of a command', () => {
  it.each<[string, readonly string[]]>([
    ['rm -rf a ../b', ['delete /w/app/a', 'delete /w/b']],
    ['rm "$X"', ['delete ?']],
    ['rm {a,b}', ['delete ?']],
    ['rm *.o', ['delete /w/app/*.o']],
    [
      'rm ~/x "$HOME/y" ${HOME}/z $PWD/v',
      ['delete /home/a/x', 'delete /home/a/y', 'delete /home/a/z', 'delete /w/app/v'],
    ],
    ['rm ~b/x', ['delete ?']],
    ['mv a b', ['delete /w/app/a', 'write /w/app/b']],
    ['cp a b', ['read /w/app/a', 'write /w/app/b']],
    ['echo x > a 2> /dev/null', ['write /w/app/a']],
    ['sort < a', ['read /w/app/a']],
    ['(ls; pwd) > a', ['write /w/app/a', 'read /w/app'].slice(0, 1)],
    ['sed -i s/a/b/ f', ['write /w/app/f']],
    ['sed s/a/b/ f', ['read /w/app/f']],
    ['grep -r /etc .', ['read /w/app']],
    ['grep -f list x', ['read /w/app/list', 'read /w/app/x'].slice(0, 2)],
    ['curl -d @/home/a/x https://e.org', ['any /home/a/x']],
    ['foo --config=/etc/x', ['any /etc/x']],
    ['dd if=/etc/x of=y', ['write /w/app/if=/etc/x', 'write /etc/x', 'write /w/app/of=y']],
    ['find / -name x -delete', ['delete /**/x']],
    ['find . -type f -delete', ['delete /w/app']],
    ['find . -mtime +7 -delete', ['delete /w/app/**/…']],
    ['find a b -name x', ['read /w/app/a', 'read /w/app/b']],
    ['find -name x', ['read /w/app']],
    ['find .. -exec rm {} +', ['read /w', 'delete ?']],
    ['ls | xargs rm', ['delete ?']],
    ['ls | xargs -I{} cp {} /tmp', ['read ?', 'write /tmp']],
    ['git clone https://e.org/a/b ../x', ['write /w/x']],
    ['tar --remove-files -cf x.tar a b', ['delete /w/app/x.tar', 'delete /w/app/a', 'delete /w/app/b']],
    ['rsync -a --delete a b', ['read /w/app/a', 'delete /w/app/b']],
    // the words stay what they are without the option, whose name may be the value of another one
    ['cp -t /x a b', ['write /x', 'read /x', 'read /w/app/a', 'write /w/app/b']],
    ['cp -rt/x a', ['write /x', 'write /w/app/a']],
    ['cp --target-directory /x b', ['write /x', 'read /x', 'write /w/app/b']],
    ['cp -S -t a /x', ['write /w/app/a', 'read /w/app/a', 'write /x']],
    ['mv -t /x a', ['write /x', 'delete /x', 'write /w/app/a', 'delete /w/app/a']],
    ['cp -t "$D" a', ['write ?', 'read ?', 'write /w/app/a']],
    ['tar -C /x -xf a.tar', ['write /x', 'read /x', 'write /w/app/a.tar']],
    ['tar xf a.tar --directory=/x', ['write /x', 'read /w/app/xf', 'write /w/app/a.tar', 'any /x']],
    ['tar -C /x -cf a.tar b', ['read /x', 'read /w/app/a.tar', 'read /w/app/b']],
    ['sort -o /x a', ['write /x', 'read /x', 'read /w/app/a']],
    ['git diff --output=/x', ['write /x', 'any /x']],
    ['git rm old.ts', ['delete /w/app/old.ts']],
    ['cd .. && git clean -fdx', ['read /w', 'delete /w']],
    ['echo /etc/passwd', []],
    ['cat file:///etc/passwd', ['read /etc/passwd']],
    ['cat a%2fb', ['read ?']],
    ['cat -- -x', ['read /w/app/-x']],
  ])('%j uses %j', (line, paths) => {
    expect(
      pathsIn(shellAction(line)).filter((path) => path !== 'read /w/app' || paths.includes(path)),
    ).toEqual(paths);
  });

  it('a patch names files that it writes, deletes and moves', () => {
    const patch =
      '*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: ../d\n*** End Patch';
    expect(pathsIn(toolAction('codex', 'apply_patch', { command: patch }))).toEqual([
      'write /w/app/a',
      'write /w/app/b',
      'write /w/app/c',
      'delete /w/d',
    ]);
    expect(pathsIn(toolAction('codex', 'apply_patch', { input: '--- a/x\n+++ b/y\n' }))).toEqual([
      'write /w/app/y',
    ]);
    expect(pathsIn(toolAction('codex', 'apply_patch', { input: 'x' }))).toEqual(['write ?']);
  });
});

describe('links in a path', () => {
  it('a folder that .. leaves counts where it is a link', () => {
    const real = { '/w/app/l': '/mnt/b' };
    expect(pathsIn(shellAction('rm l/../x', { real }))).toEqual([
      'delete /w/app/x',
      'delete /w/app/l',
      'delete /mnt/b',
    ]);
    expect(pathsIn(shellAction('cd l && rm ../x', { real })).slice(2)).toEqual([
      'delete /w/app/x',
      'delete /w/app/l',
      'delete /mnt/b',
    ]);
    expect(pathsIn(shellAction('rm k/../x', { real }))).toEqual(['delete /w/app/x']);
  });

  it('a hook learns which folders may be links', () => {
    expect(pathsIn(shellAction('cd a && rm b/../x', { namesLinks: true }))).toEqual([
      'read /w/app/a',
      'delete /w/app/a/x',
      'delete /w/app/a/b',
    ]);
  });
});

describe('the places of a path', () => {
  const placesOf = (path: string) => shellAction(`cat ${path}`).paths?.flatMap(({ places }) => places);

  it.each([
    ['src/a.ts', ['workspace']],
    ['.', ['workspace', 'above-workspace']],
    ['*', ['workspace', 'above-workspace']],
    ['*.ts', ['workspace']],
    ['..', ['above-workspace']],
    ['/w/*', ['above-workspace']],
    ['/w/ap*', ['above-workspace']],
    ['/w/b*', ['other']],
    ['/w/b', ['other']],
    ['/', ['system', 'above-workspace', 'above-home']],
    ['~', ['home', 'above-home']],
    ['/home/[a]', ['above-home']],
    ['~/x', ['home']],
    ['/tmp/x', ['temp']],
    ['/etc/hosts', ['system']],
    ['/etc/shadow', ['system', 'secret']],
    ['~/.ssh/config', ['home', 'secret']],
    ['~/.SSH/config', ['home', 'secret']],
    ['~/.s*/x', ['home', 'secret']],
    ['~/.[st]sh/x', ['home', 'secret']],
    ['~/*', ['home', 'above-home']],
    ['.env', ['workspace', 'secret']],
    ['.env.production', ['workspace', 'secret']],
    ['.env.example', ['workspace']],
    ['.env.example2', ['workspace', 'secret']],
    ['docs/environment.md', ['workspace']],
    ['~/.ssh/id_rsa.pub/..', ['home', 'secret']],
    ['/proc/self/environ', ['secret']],
    ['.claude/settings.json', ['workspace', 'control']],
    ['src/.config/x', ['workspace']],
    ['~/.bashrc', ['home', 'control']],
    ['.git/hooks/pre-commit', ['workspace', 'control']],
    ['/etc/claude-code/managed-settings.json', ['system', 'control']],
    ['~/my/approver.key', ['home', 'secret']],
  ])('%s lies in %j', (path, places) => {
    expect(placesOf(path)).toEqual(places);
  });
});
