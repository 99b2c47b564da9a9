/**
 * The scripts in their shells: bash and zsh at a terminal that zsh's module zpty makes, where Tab is typed and the line is
 * read back; fish by its own `complete -C`. PowerShell is not installed where this was written: only its form is tested.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { completionScripts } from '../../../src/cli/completion/scripts.ts';
import { cleanEnv, emptyDirectory, govHere, runner } from '../support/tool.ts';

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const folder = emptyDirectory();
const env = cleanEnv({ PATH: `${folder}${delimiter}${process.env['PATH']}`, TERM: 'dumb' });

beforeAll(() => {
  writeFileSync(join(folder, 'gov'), `#!/bin/sh\nexec '${process.execPath}' '${runner}' "$@"\n`);
  chmodSync(join(folder, 'gov'), 0o755);
  for (const [shell, script] of Object.entries(completionScripts))
    writeFileSync(join(folder, `script.${shell}`), script);
  mkdirSync(join(folder, 'files/policies'), { recursive: true });
});

/** Commands of a shell at a terminal: load the script, and make Ctrl-X write the line as it is after Tab. */
const interactive: Readonly<Record<string, string>> = {
  bash: `bash --norc -i`,
  zsh: `zsh -f -i`,
};
const prepare: Readonly<Record<string, string>> = {
  bash: `PS1=; source script.bash; bind -x '"\\C-x": printf "%s\\n" "$READLINE_LINE" >> $OUT; READLINE_LINE='`,
  zsh: `PROMPT=; autoload -U compinit; compinit -u -D; source script.zsh; show() { print -r -- "$BUFFER" >> $OUT; BUFFER= }; zle -N show; bindkey '^X' show`,
};

/** Types each line and Tab in one shell; returns the lines as the shell completed them. */
function typed(shell: string, lines: readonly string[]): string[] {
  const out = join(folder, `out.${shell}`);
  writeFileSync(out, '');
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const harness = `
    zmodload zsh/zpty zsh/zselect
    export OUT=${quoted(out)}
    cd ${quoted(folder)}
    zpty -b shell ${quoted(interactive[shell] ?? '')}
    wait_for() {
      local tries=0 text
      while (( $(wc -l < $OUT) < $1 && tries++ < 400 )); do zselect -t 5; zpty -r shell text 2>/dev/null; done
    }
    zpty -w shell ${quoted(prepare[shell] ?? '')}
    zpty -w shell 'echo ready >> $OUT'
    wait_for 1
    count=1
    for line in "$@"; do
      zpty -n -w shell "$line"$'\\t\\x18'
      wait_for $((++count))
    done
    zpty -d shell`;
  execFileSync('zsh', ['-f', '-c', harness, 'harness', ...lines], { env, timeout: 60_000 });
  return readFileSync(out, 'utf8').split('\n').slice(1, -1);
}

const cases: readonly (readonly [typed: string, completed: string])[] = [
  ['gov ev', 'gov events '],
  ['gov events cou', 'gov events count '],
  ['gov events list --ru', 'gov events list --run '],
  ['gov events list --output nd', 'gov events list --output ndjson '],
  ['gov events list --output=nd', 'gov events list --output=ndjson '],
  ['gov keys create --scopes replay:read,tools:e', 'gov keys create --scopes replay:read,tools:evaluate '],
  ['gov -q proofs v', 'gov -q proofs verify '],
  ['gov risk config g', 'gov risk config get '],
  ['gov policy lint files/pol', 'gov policy lint files/policies/'],
  ['gov plane status --data fil', 'gov plane status --data files/'],
];

describe('completion scripts', () => {
  it.for(['bash', 'zsh'])(
    'Tab completes commands, flags, words and files in %s at a terminal (skipped where it or zsh is not installed)',
    { timeout: 90_000 },
    (shell, { skip }) => {
      skip(!has('zsh') || !has(shell), `${shell} or zsh is not installed`);
      const lines = typed(
        shell,
        cases.map(([line]) => line),
      );
      expect(lines).toEqual(cases.map(([, completed]) => completed));
    },
  );

  it('fish completes commands, flags, words and files, with descriptions (skipped where it is not installed)', ({
    skip,
  }) => {
    skip(!has('fish'), 'fish is not installed');
    const text = cases.map(([line]) => `complete -C '${line}'; echo ---`).join('\n');
    const output = execFileSync('fish', ['--no-config', '-c', `source script.fish\n${text}`], {
      env,
      cwd: folder,
    });
    const found = output.toString().split('---\n').slice(0, -1);
    for (const [at, [line, completed]] of cases.entries()) {
      const words = (found[at] ?? '').trimEnd().split('\n');
      expect([line, words.map((each) => each.split('\t')[0])]).toEqual([
        line,
        [completed.trimEnd().split(' ').at(-1)],
      ]);
    }
    expect(found[0]).toBe('events\tAudit events: push, list, follow\n');
  });

  it('the PowerShell script has closed brackets and quotes, and calls gov with the words before the cursor', () => {
    const script = completionScripts['powershell'] ?? '';
    const code = script.replace(/^#.*$/gm, '').replace(/"(?:`.|[^"`])*"|'[^']*'/g, '""');
    for (const [open, close] of ['()', '{}', '[]'].map((pair) => [...pair]))
      expect(code.split(open ?? '').length).toBe(code.split(close ?? '').length);
    expect(code).not.toMatch(/'|`/);
    expect(script).toMatch(/^Register-ArgumentCompleter -Native -CommandName gov -ScriptBlock \{$/m);
    expect(script).toContain('gov __complete @words $current 2>$null');
  });

  it('gov completion refuses an unknown shell', async () => {
    expect(await govHere(['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/expected one of bash, zsh, fish, powershell, got "tcsh"/),
    });
  });
});
