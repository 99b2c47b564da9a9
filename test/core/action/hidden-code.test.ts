import { describe, expect, it } from 'vitest';
import { shellAction } from './shell-lines.ts';

const codeOf = (line: string, cwd = '/w/app') => shellAction(line, { cwd }).code;

describe('the hidden code of a command', () => {
  it.each<[string, readonly string[]]>([
    // git
    ['git submodule foreach "rm x"', ['git runs a program']],
    ['git submodule update', []],
    ['git bisect run make', ['git runs a program']],
    ['git bisect good', []],
    ['git rebase -ix "make" main', ['git runs a program']],
    ['git rebase main', []],
    ['git cherry-pick -x 1', []],
    ['git clean -xfd', []],
    ['git push --exec=/x', ['git runs a program']],
    ['git clone -u /x y', ['git runs a program']],
    ['git push -u origin x', []],
    ['git --exec-path=/x status', ['git runs a program']],
    ['git clone ext::sh', ['git runs a program']],
    ['git -c core.sshCommand=x fetch', ['git -c runs a program']],
    ['git -c a=b -c core.sshCommand=x fetch', ['git config runs a program']],
    ['git config include.path x', ['git config runs a program']],
    ['git config remote.origin.push +main', ['git config forces pushes']],
    ['git -c remote.o.mirror=true push', ['git config forces pushes']],
    ['git config remote.origin.url x', []],
    // programs that run others
    ['tar xf a --to-command=sh', ['inline tar']],
    ['split --filter=sh a', ['inline split']],
    ['sqlite3 a ".shell x"', ['inline sqlite3']],
    ['sqlite3 a "select 1; .x"', []],
    ['psql -c "\\! x"', ['inline psql']],
    ['psql -c "select a"', []],
    ['less "+!sh" a', ['inline less']],
    ['rg --pre x y', ['inline rg']],
    ['rg --pretty y', []],
    ['fd -HX rm', ['inline fd']],
    ['socat - EXEC:sh', ['inline socat']],
    ['npm config set script-shell x', ['npm config runs a program', 'build npm']],
    ['npm test --script-shell=x', ['npm config runs a program', 'build npm']],
    ['npm config get script-shell', ['build npm']],
    // elsewhere
    ['docker ps', []],
    ['docker --context x logs y', []],
    ['docker compose -f a.yml --profile b logs', []],
    ['docker compose up', ['build docker']],
    ['docker compose down -v', ['elsewhere docker']],
    ['docker run x', ['elsewhere docker']],
    ['docker system prune', ['elsewhere docker']],
    ['docker config rm x', ['elsewhere docker']],
    ['awk -f /x/y.awk z', ['script /x/y.awk']],
    ['sed -f y.sed z', ['script y.sed']],
    ['docker $X', ['elsewhere docker']],
    ['kubectl -n x get pods', []],
    ['kubectl exec x -- sh', ['elsewhere kubectl']],
    ['kubectl $X', ['elsewhere kubectl']],
    ['crontab -l', []],
    ['crontab -r', ['elsewhere crontab']],
    // packages
    ['npx -y @a/b@1 c d', ['package @a/b']],
    ['npx -p a@1 b', ['package a', 'package b']],
    ['npx $X', ['package ?', 'runs programs npx']],
    ['npm ci', ['build npm']],
    ['npm install', ['build npm']],
    ['npm i -D a@^1 ./b file:c', ['package a', 'build npm']],
    ['pip install -r a -c b .', []],
    ['pip install "a>=1" b==2 c[x]', ['package a', 'package b', 'package c']],
    ['pip install -e git+https://e.org/a', ['package git+https://e.org/a']],
    ['pip install dist/a.whl', []],
    ['python3 -m pip install a', ['build python -m pip', 'package a']],
    ['uv pip install a', ['package a']],
    ['go run ./a', ['build go']],
    ['go run a.go', ['build go']],
    ['go install e.org/a@latest', ['package e.org/a', 'build go']],
    ['cargo add a --features b', ['package a', 'build cargo']],
  ])('of %j is %j', (line, code) => {
    expect(codeOf(line)).toEqual(code);
  });

  it.each<[string, readonly string[]]>([
    ['make', ['build make']],
    ['make -C sub', ['build make']],
    ['make -C /x', ['outside make']],
    ['make -C "$X"', ['outside make']],
    ['pytest tests/a', ['build pytest']],
    ['pytest ../x', ['outside pytest']],
    ['npm --prefix=/x test', ['outside npm']],
    ['cargo build --manifest-path ../x/Cargo.toml', ['outside cargo']],
    ['cd /x && make', ['outside make']],
    ['cd $X && make', ['outside make']],
    ['cd sub && make -C ..', ['build make']],
    ['cd /x && ./y.sh', ['script /x/y.sh']],
    ['cd $X && ./y.sh', ['script /?']],
    ['cd /x && node y.js', ['script /x/y.js']],
    ['cd sub && ../y.sh', ['script y.sh']],
    ['bash /w/app/y.sh', ['script y.sh']],
    ['bash ../y.sh', ['script /w/y.sh']],
  ])('a build or script says where it lies: %j is %j', (line, code) => {
    expect(codeOf(line)).toEqual(code);
  });
});
