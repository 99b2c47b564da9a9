import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { withDigests } from '../../../src/core/action/large-content.ts';
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
    ['find . -fprint ../x', ['write /w/x', 'write /w/app']],
    ['xxd a ../x', ['read /w/app/a', 'write /w/x']],
    ['xxd -l 16 ../x', ['read /w/app/16', 'read /w/x']],
    ['uniq a ../x', ['read /w/app/a', 'write /w/x']],
    ["yq -i '.a=1' ../x", ['write /w/x']],
    ['tree -o ../x', ['write /w/x', 'read /w/x']],
    ['less -o ../x a', ['write /w/x', 'read /w/x', 'read /w/app/a']],
    ['git archive -o ../x HEAD', ['write /w/x', 'any /w/x']],
    ['git bundle create ../x HEAD', ['write /w/x', 'write /w/app/HEAD', 'any /w/x']],
    ['git format-patch -o ../x HEAD', ['write /w/x', 'any /w/x']],
    ['git worktree add ../x', ['write /w/x', 'any /w/x']],
    ['git config -f ../x a.b c', ['write /w/x', 'any /w/x']],
    ['ln -s ../b l && rm -rf l/c', ['read /w/b', 'write /w/app/l', 'delete /w/app/l/c', 'delete /w/b/c']],
    ['ln -s .. d; touch d/x', ['read /w', 'write /w/app/d', 'write /w/app/d/x', 'write /w/x']],
    ['ln -s ../b l && rm l', ['read /w/b', 'write /w/app/l', 'delete /w/app/l']],
    ['cd ../b && claude -p x', ['read /w/b', 'delete /w/b/**/…']],
    ['claude -p x', ['delete /w/app/**/…']],
    ['codex exec -C ../b x', ['delete /w/app/**/…', 'delete /w/b/**/…', 'any /w/b']],
    ['claude mcp add x -- touch', ['write /home/a/.claude.json']],
    ['claude mcp list', []],
    ['claude --version', []],
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
    ['ls | xargs rm', ['delete /w/app/*']],
    ['ls | xargs -I{} cp {} /tmp', ['read /w/app/*', 'write /tmp']],
    ['ls /etc | xargs rm', ['read /etc', 'delete ?']],
    ['cat x | xargs rm', ['read /w/app/x', 'delete ?']],
    [
      'find .. -name "*.o" | sort -u | xargs -0 rm',
      ['read /w', 'delete /w/**/*.o', 'delete /w/*.o', 'delete /w/.*.o'],
    ],
    ['find /x -name a -o -name b | xargs rm', ['read /x', 'delete /x/**']],
    ['find -L /x | grep -v y | head -3 | xargs rm', ['read /x', 'delete /x/**']],
    ['find /x -printf %f | xargs rm', ['read /x', 'delete ?']],
    ['find /x | sed s/a/b/ | xargs rm', ['read /x', 'delete ?']],
    ['find /x | xargs rm $(echo y | xargs ls)', ['read /x', 'read ?', 'delete ?']],
    ['find /x && xargs rm', ['read /x', 'delete ?']],
    ['find "$D" | xargs rm', ['read ?', 'delete ?']],
    ['rg -l x /y | xargs rm', ['read /y', 'delete /w/app', 'delete /w/app/**', 'delete /y', 'delete /y/**']],
    ['rg x /y | xargs rm', ['read /y', 'delete ?']],
    ['git ls-files "*.o" | xargs rm', ['delete /w/app/**/*.o', 'delete /w/app/*.o', 'delete /w/app/.*.o']],
    ['git diff --name-only main...HEAD | xargs rm', ['delete /w/app/**']],
    ['git ls-files ../x | xargs rm', ['any /w/x', 'delete ?']],
    ['git diff --no-index --name-only /x y | xargs rm', ['any /x', 'delete ?']],
    ['for f in /x/*.o; do rm "$f" ${f}; done', ['delete /x/*.o']],
    ['find /x | xargs -a y rm', ['read /x', 'delete ?']],
    ['find /x | xargs -0ay rm', ['read /x', 'delete ?']],
    ['find /x -name "a b" | xargs rm', ['read /x', 'delete /x/**']],
    ["for f in 'a /x'; do rm $f; done", ['delete ?']],
    ['for f in a b; do rm $f; done', ['delete ?']],
    ['for f in a; do f=/x; rm $f; done', ['delete ?']],
    ['for f in a; do rm $f; done; rm $f', ['delete /w/app/a', 'delete ?']],
    ['for f in a; do for f in /x; do ls; done; rm $f; done', ['delete ?']],
    ['for f in a; do ls; done; for f in b; do rm $f; done', ['delete /w/app/b']],
    ['for f in rm; do $f x; done', ['delete /w/app/x']],
    ['cat > a <<E\nrm b', ['write /w/app/a']],
    ['cat <<E\n$(rm b)', ['delete /w/app/b']],
    ['gzip a', ['delete /w/app/a']],
    ['gzip -9k a', ['write /w/app/a']],
    ['gzip -dc a', ['write /w/app/a']],
    ['gzip $X a', ['delete ?', 'delete /w/app/a']],
    ['xz --keep a', ['write /w/app/a']],
    ['zstd --rm a', ['delete /w/app/a']],
    ['zstd a', ['write /w/app/a']],
    ['zip -rm x.zip a', ['write /w/app/x.zip', 'delete /w/app/a']],
    ['zip x.zip a', ['write /w/app/x.zip', 'read /w/app/a']],
    ['7z a -sdel x.7z a', ['write /w/app/x.7z', 'delete /w/app/a']],
    ['7z x a.7z -o/x', ['read /w/app/a.7z', 'write /x']],
    ['unzip a.zip -d /x', ['read /w/app/a.zip', 'write /x']],
    ['unzip -l a.zip', ['read /w/app/a.zip']],
    ['cpio -id < a', ['read /w/app/a', 'write ?']],
    ['git worktree remove --force ../x', ['delete /w/x', 'any /w/x']],
    ['awk \'{ print > "/x" }\' a', ['write /x', 'read /w/app/a']],
    ["awk '{ print ($1 > 5) }' a", ['read /w/app/a']],
    ["awk '$1 > 5 { print }' a", ['read /w/app/a']],
    ['awk \'{ print > $1 ".x" }\' a', ['write ?', 'read /w/app/a']],
    ['awk \'{ print > "a" $1 }\' a', ['write ?', 'read /w/app/a']],
    ['gawk -i inplace 1 /x', ['write /w/app/1', 'write /x']],
    ['curl -sSLo /x e.org', ['write /x', 'any /x']],
    ['curl --output=/x e.org', ['write /x', 'any /x']],
    ['wget -P /x https://e.org', ['write /x', 'any /x']],
    ['gcc a.c -o /x', ['write /x', 'any /x']],
    ['ps -o pid', []],
    ['gh auth token', ['read /home/a/.config/gh/hosts.yml']],
    ['gh -R x auth token', ['read /home/a/.config/gh/hosts.yml']],
    ['gh auth login', []],
    ['npm config set registry x', ['write /home/a/.npmrc']],
    ['systemctl --user enable x', ['write /home/a/.config/systemd/user']],
    ['systemctl enable x', ['write /etc/systemd/system']],
    ['crontab -l', []],
    ['crontab -', ['write /var/spool/cron']],
    ['env', ['read /proc/self/environ']],
    ['env A=b ls', []],
    ['env | grep NODE', []],
    ['env | grep NO.*', ['read /proc/self/environ']],
    ['env | grep -v NODE', ['read /proc/self/environ']],
    ['env | grep NODE x', ['read /w/app/x', 'read /proc/self/environ']],
    ['env | grep API_KEY', ['read /proc/self/environ']],
    ['env | sort', ['read /proc/self/environ']],
    ['env && grep NODE', ['read /proc/self/environ']],
    ['printenv HOME', []],
    ['printenv HOME GITHUB_TOKEN', ['read /proc/self/environ']],
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
    ['tar -C /x -xf a.tar', ['read /w/app/a.tar', 'write /x']],
    ['tar xf a.tar --directory=/x', ['read /w/app/a.tar', 'write /x']],
    ['tar xzfC a.tar /x b', ['read /w/app/a.tar', 'write /x']],
    ['tar xPf a.tar', ['read /w/app/a.tar', 'write /w/app', 'write ?']],
    ['tar -xf a.tar --absolute-names', ['read /w/app/a.tar', 'write /w/app', 'write ?']],
    ['tar xf "$A" -C "$B"', ['read ?', 'write ?']],
    ['tar tf a.tar', ['read /w/app/a.tar']],
    ['tar -C /x -cf a.tar b', ['write /w/app/a.tar', 'read /w/app/b', 'read /x']],
    ['tar czf - ~', ['read /home/a']],
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

  it.each([
    ['white space before the word', '  *** Add File: ../x', ['write /w/x']],
    ['U+2028 in the path', '*** Add File: b\u2028/../../x', ['write /w/x']],
    ['U+0085 before the word', '\u0085*** Add File: ../x', ['write /w/x']],
    ['U+000D in the path', '*** Add File: b\r/../../x', ['write ?']],
    ['no blank after the colon', '*** Delete File:../x', ['delete /w/x']],
    ['a second colon', '*** Add File: ../x:/../app/y', ['write /w/app/y', 'write /w/x']],
  ])('a patch names a file with %s', (_title, line, paths) => {
    const patch = `*** Begin Patch\n*** Add File: a\n+1\n${line}\n+2\n*** End Patch`;
    const expected = ['write /w/app/a', ...paths];
    expect(pathsIn(toolAction('codex', 'apply_patch', { command: patch }))).toEqual(expected);
    const large = withDigests('codex', 'apply_patch', {
      command: `${patch}${' '.repeat(limits.toolContentBytes)}`,
    });
    expect(pathsIn(toolAction('codex', 'apply_patch', large))).toEqual(expected);
  });

  const patch = '*** Begin Patch\n*** Add File: ../x\n+1\n*** End Patch';
  it.each<[string, readonly string[]]>([
    [`apply_patch <<'EOF'\n${patch}\nEOF\n`, ['write /w/x']],
    [`cd src && apply_patch <<"EOF"\n${patch}\nEOF`, ['read /w/app/src', 'write /w/app/x']],
    [`applypatch '${patch}'`, ['any ?', 'write /w/x']],
    ['apply_patch < p', ['read /w/app/p', 'write ?']],
    ['cat p | apply_patch', ['read /w/app/p', 'write ?']],
    [`apply_patch <<EOF\n${patch}\nEOF`, ['write ?']],
    [`codex --codex-run-as-apply-patch x`, ['delete /w/app/**/…', 'write ?']],
  ])('a patch in a shell: %s', (line, paths) => {
    expect(pathsIn(shellAction(line))).toEqual(paths);
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
    ['~/.ssh/id', ['home', 'secret']],
    ['~/.SSH/id', ['home', 'secret']],
    ['~/.ssh/config', ['home', 'secret', 'control']],
    ['~/.ssh/authorized_keys', ['home', 'secret', 'control']],
    ['.husky/pre-commit', ['workspace', 'autorun']],
    ['.vscode/tasks.json', ['workspace', 'autorun']],
    ['.vscode/extensions.json', ['workspace']],
    ['.envrc', ['workspace', 'secret', 'autorun']],
    ['AGENTS.md', ['workspace', 'instructions']],
    ['sub/claude.md', ['workspace', 'instructions']],
    ['sub/MY-AGENTS.md', ['workspace']],
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
