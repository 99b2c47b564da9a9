import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programsOf } from '../../../src/core/action/shell-programs.ts';
import { threadMs } from '../../thread-ms.ts';

/** Lines with the programs that they may start. */
const readable: readonly (readonly [line: string, programs: readonly string[]])[] = [
  ['ls -la | grep x && /bin/rm -rf /', ['ls', 'grep', 'rm']],
  ['r""m x', ['rm']],
  ["r'm' x", ['rm']],
  ['r\\m x', ['rm']],
  ['ls \\\n -l && \\\nrm x', ['ls', 'rm']],
  ['echo $(rm x) `dd if=a`', ['rm', 'dd', 'echo']],
  ['echo "a $(rm x) b"', ['rm', 'echo']],
  ["echo '$(rm x)'", ['echo']],
  ['echo `echo \\`rm x\\``', ['rm', 'echo']],
  ['echo ${x:-$(rm y)}', ['rm', 'echo']],
  ['echo $((1+$(dd)))', ['dd', 'echo']],
  ['diff <(rm a) <(dd b)', ['rm', 'dd', 'diff']],
  ['A=$(rm x)', ['rm']],
  ['A=1 B=$(date) make', ['date', 'make']],
  ['if [ -f x ]; then rm x; else ls; fi', ['[', 'rm', 'ls']],
  ['for f in *.txt; do rm "$f"; done', ['rm']],
  ['for ((i=0;i<3;i++)); do rm $i; done', ['rm']],
  ['while read l; do curl $l; done < x', ['read', 'curl']],
  ['[[ -f $(rm x) ]] && ls', ['rm', 'ls']],
  ['(cd x && rm y); { dd; }', ['cd', 'rm', 'dd']],
  ['cat <<EOF\n$(rm x)\nEOF\nls', ['cat', 'rm', 'ls']],
  ["cat <<'EOF'\n$(rm x)\nEOF\nls", ['cat', 'ls']],
  ['cat <<-E\n\tfoo\n\tE\nrm', ['cat', 'rm']],
  ['>out rm x', ['rm']],
  ['2>&1 rm x', ['rm']],
  ['ls # rm', ['ls']],
  ['ls;rm&dd', ['ls', 'rm', 'dd']],
  ['echo "a\\"; rm b"', ['echo']],
  ['git commit -m "rm (x)"', ['git']],
  ['sudo -u root rm x', ['sudo', 'rm']],
  ['sudo -uroot -n -- rm x', ['sudo', 'rm']],
  ['timeout -k 5 10 rm x', ['timeout', 'rm']],
  ['nice -n 5 rm x', ['nice', 'rm']],
  ['time -p rm x', ['time', 'rm']],
  ['nohup rm &', ['nohup', 'rm']],
  ['env -i A=b rm', ['env', 'rm']],
  ['echo x | xargs -I{} rm {}', ['echo', 'xargs', 'rm']],
  ['echo x | xargs -0 -n 1 sh -c "dd"', ['echo', 'xargs', 'sh', 'dd']],
  ['bash -lc "rm x; curl y"', ['bash', 'rm', 'curl']],
  ['sh -ec "rm x"', ['sh', 'rm']],
  ['eval "rm" x', ['eval', 'rm']],
  ['su root -c "rm x"', ['su', 'rm']],
  ['trap "rm x" EXIT', ['trap', 'rm']],
  ['busybox rm x', ['busybox', 'rm']],
  ['find . -name x -exec rm {} \\; -o -execdir dd {} +', ['find', 'rm', 'dd']],
  ['. ./x.sh', ['source']],
  ['! rm x', ['rm']],
  ['time ! rm x', ['time', 'rm']],
  ['time if rm x; then ls; fi', ['time', 'rm', 'ls']],
  ['time -p while rm x; do break; done', ['time', 'rm', 'break']],
  ['time -- rm x', ['time', 'rm']],
  ['echo x | xargs -i rm {}', ['echo', 'xargs', 'rm']],
  ['echo x | xargs -l rm', ['echo', 'xargs', 'rm']],
  ['echo x | xargs --replace rm {}', ['echo', 'xargs', 'rm']],
  ['echo x | xargs -0I% rm %', ['echo', 'xargs', 'rm']],
  ["bash -c -- '-x;rm y' ls", ['bash', '-x', 'rm']],
  ['eval -- rm x', ['eval', 'rm']],
  ["trap -- 'rm x' EXIT", ['trap', 'rm']],
  ['watch "ls; rm x"', ['watch', 'ls', 'rm']],
  ['cat <<EE\nE\\\nE\nrm x\nEE', ['cat', 'rm', 'EE']],
  ['export A="$B"; read -r line; printf -v a %s b; [ -f "$x" ]', ['export', 'read', 'printf', '[']],
  ['echo ${a:-b} ${a[0]} ${#a[@]} ${a%.ts} ${a//x/y} ${a:0:3} ${a@Q}', ['echo']],
  ['((i=1)) || echo $((0x1f + 2))', ['echo']],
  ['cat <<E\n$\\\n(rm x)\nE', ['cat', 'rm']],
  ['a=1', []],
  ['', []],
];

/** Lines of which nobody can say what they start without running them. */
const unreadable: readonly string[] = [
  '$CMD x',
  '"$CMD" x',
  '${X}rm',
  'r$()m x',
  "$'rm' x",
  '/bin/r?',
  '/bin/[r]m',
  '{rm,x}',
  '~/rm',
  '"" x',
  '/',
  'PATH=/tmp ls',
  'IFS=x ls',
  'LD_PRELOAD=x.so ls',
  'BASH_ENV=x bash -c ls',
  'env PATH=/tmp ls',
  'eval "$X"',
  'sh -c "$X"',
  'sudo --foo rm',
  'sudo -Z rm',
  'env -S "rm x"',
  'timeout $T rm',
  'parallel rm ::: a',
  'f() { rm x; }',
  'function f { rm; }',
  'case x in a) rm;; esac',
  'select x in a b; do rm; done',
  'a=(rm x)',
  'alias ls=rm; ls',
  'echo "open',
  "echo 'open",
  'echo $(rm',
  'echo `rm',
  '(rm',
  'rm)',
  'cat <<EOF\nx',
  'echo !(a)',
  'ls\r\nrm',
  'ls\0rm',
  'rm\x07',
  'find . -exec "$X" \\;',
  '$( (rm) )',
  // a word that input or a variable completes
  'echo rm x | xargs env',
  'echo rm | xargs -I% sh -c %',
  'X=-exec; find . -maxdepth 0 $X rm x \\;',
  'find /bin/rm -exec {} x \\;',
  'X=-c; su root $X "rm x"',
  // a script on standard input
  'echo rm x | sh',
  'bash -s <<< "rm x"',
  'bash /dev/stdin <<< "rm x"',
  '. <(echo rm x)',
  // options
  'env - rm x',
  "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
  'bash -O extglob -c "rm x"',
  'bash -c -o posix "rm x"',
  'runuser -u root -- rm x',
  'su -s /bin/rm root',
  "su root -c'rm x'",
  // how programs are found, set in other ways than by an assignment
  'export PATH=/tmp:$PATH; ls',
  'declare -n q=PATH; q=/tmp; ls',
  'read PATH <<< /tmp; ls',
  'printf -v PATH %s /tmp; ls',
  'for PATH in /tmp; do ls; done',
  'unset PATH; : ${PATH:=/tmp}; ls',
  "declare 'BASH_CMDS[ls]=/bin/rm'; ls",
  // texts that bash runs while it computes a number, a name or a prompt
  "PS4='$(rm x)'; set -x; ls",
  "x='$(rm x)'; echo ${x@P}",
  "x='a[$(rm x)]'; echo $((x))",
  "x='a[$(rm x)]'; ((x=x))",
  "x='a[$(rm x)]'; echo $[x]",
  "x='a[$(rm x)]'; echo ${!x}",
  "x='a[$(rm x)]'; echo ${y[x]}",
  "x='a[$(rm x)]'; echo ${y:x}",
  "x='a[$(rm x)]'; [[ x -eq 1 ]]",
  "x='a[$(rm x)]'; for ((i=x;i<1;i++)); do :; done",
  "[[ -v 'a[$(rm x)]' ]]",
  "test -v 'a[$(rm x)]'",
  "printf -v 'a[$(rm x)]' x",
  "read 'a[$(rm x)]' <<< x",
  "declare -i x='a[$(rm x)]'",
  "let 'a[$(rm x)]'",
  "mapfile -c1 -C'rm x' <<< a",
  "echo $(( '$(rm x)' ))",
  'echo "${x:-\'$(rm x)\'}"',
  // a backslash before a line end, inside a word or an operator
  'r\\\nm x',
  'i\\\nf rm x; then :; fi',
  '2\\\n>&1 rm x',
  'echo "$\\\n(rm x)"',
  'cat <<\\\n-E\n\tE\nrm x\n-E',
  'set -- a; for i do rm x; done',
  'coproc X if rm x; then :; fi',
];

describe('programs of a shell command', () => {
  it.each(readable)('the command %j starts %j', (line, programs) => {
    expect(programsOf(line)).toEqual(programs);
  });

  it.each(unreadable)('the command %j does not say what it starts', (line) => {
    expect(programsOf(line)).toBeNull();
  });

  it('calls inside each other are read to a limit', () => {
    const nested = (times: number) => `${'echo $('.repeat(times)}rm${')'.repeat(times)}`;
    expect(programsOf(nested(15))).toEqual(['rm', 'echo']);
    expect(programsOf(nested(16))).toBeNull();
    expect(programsOf('eval '.repeat(8) + 'rm')).toEqual(['eval', 'rm']);
    expect(programsOf('eval '.repeat(9) + 'rm')).toBeNull();
  });

  it('a long command is read in linear time', () => {
    const started = threadMs();
    for (const part of ['$(', '"$(', '`', '((', '{', '${', '"${a:-', '<(', 'a;', "'", '<<E\n', '\\'])
      programsOf(part.repeat(4096 / part.length));
    expect(threadMs() - started).toBeLessThan(2000);
  });
});

/** What bash really starts: programs that write their name into a file take the place of those that the lines name. */
describe('programs that bash starts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-shell-'));
  const [bin, work] = [join(folder, 'bin'), join(folder, 'work')];
  const logged = join(folder, 'started');
  beforeAll(() => {
    for (const each of [bin, work]) mkdirSync(each);
    for (const name of [
      'rm',
      'dd',
      'curl',
      'ls',
      'grep',
      'diff',
      'make',
      'date',
      'git',
      'sudo',
      'su',
      'busybox',
    ]) {
      writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >> ${logged}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    for (const name of ['sh', 'bash', 'env', 'xargs', 'find', 'timeout', 'nice', 'nohup', 'cat', 'sleep']) {
      const { stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
      symlinkSync(stdout.trim(), join(bin, name));
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function started(line: string): string[] {
    writeFileSync(logged, '');
    spawnSync('/bin/bash', ['-c', `${line}\nwait`], {
      cwd: work,
      env: { PATH: bin, HOME: work },
      timeout: 10_000,
      stdio: 'ignore',
    });
    return [
      ...new Set(
        readFileSync(logged, 'utf8')
          .split('\n')
          .filter((name) => name !== ''),
      ),
    ];
  }

  it.each(
    [...readable.map(([line]) => line), ...unreadable].filter(
      (line) => !line.includes('/bin/') && !line.includes('\0') && !line.includes('-i A=b'),
    ),
  )('every program that bash starts for %j is named, or the command is not read', (line) => {
    const programs = programsOf(line);
    const real = started(line);
    if (programs !== null) expect(programs).toEqual(expect.arrayContaining(real));
  });

  it('the programs of these lines really start, so that the comparison can fail', () => {
    expect(started('r\\m x | dd; curl $(ls)').toSorted()).toEqual(['curl', 'dd', 'ls', 'rm']);
  });
});
