/**
 * The scripts in their shells: bash, zsh and fish at a terminal that zsh's module zpty makes, where Tab is typed and the line
 * is read back; fish also by its own `complete -C`. PowerShell is not installed where this was written: only its form is tested.
 */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
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

/**
 * Commands of a shell at a terminal: load the script, and make Ctrl-X write the line as it is after Tab. By default Tab in
 * zsh first runs what a person typed as `$(…)`, whatever the command: complete-word leaves that out.
 */
const interactive: Readonly<Record<string, string>> = {
  bash: `bash --norc -i`,
  zsh: `zsh -f -i`,
  fish: `fish --no-config -i`,
};
const prepare: Readonly<Record<string, string>> = {
  bash: `PS1=; source script.bash; bind -x '"\\C-x": printf "%s\\n" "$READLINE_LINE" >> $OUT; READLINE_LINE='`,
  zsh: `PROMPT=; autoload -U compinit; compinit -u -D; source script.zsh; bindkey '^I' complete-word; show() { print -r -- "$BUFFER" >> $OUT; BUFFER= }; zle -N show; bindkey '^X' show`,
  fish: `function fish_prompt; end; source script.fish; function show; commandline >> $OUT; commandline ''; end; bind \\cx show`,
};

/** Types each line and Tab in one shell; returns the lines as the shell completed them. */
async function typed(
  shell: string,
  lines: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<string[]> {
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
  const options = { env: { ...env, ...more }, timeout: 60_000 };
  await promisify(execFile)('zsh', ['-f', '-c', harness, 'harness', ...lines], options);
  return readFileSync(out, 'utf8').split('\n').slice(1, -1);
}

const cases: readonly (readonly [typed: string, completed: string])[] = [
  ['gov eve', 'gov events '],
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

/** Names that a shell would read as code, or that show something else than they are. */
const hostile = (name: string): string[] => [
  `${name}$(touch ran-1)`,
  `${name}\`touch ran-2\``,
  `${name}'; touch ran-3; '`,
  `${name}"; touch ran-4; "`,
  `${name}\ntouch ran-5`,
  `${name}|touch ran-6`,
  `${name} two words`,
  `${name}\\`,
  `${name}!!`,
  `${name}*`,
  `${name}\u200bhidden\u202e`,
  `${name}\u001b[2J`,
];

/** A service that lists such runs and policies, each with a plain one, and a configuration with such contexts. */
async function startHostile() {
  const folderOfUser = emptyDirectory();
  const place = { kind: 'plane', dataDir: '/var/lib/$(touch ran-8)' };
  const contexts = Object.fromEntries([...hostile('ctx-'), 'ctx-plain'].map((name) => [name, place]));
  writeFileSync(join(folderOfUser, 'config.json'), JSON.stringify({ contexts }));
  const server = createServer(({ url = '' }, response) => {
    const words = url.includes('policies') ? hostile('pol-') : hostile('run-');
    const data = [...words, `${words[0]?.slice(0, 4)}plain`].map((id) => ({
      runId: id,
      policyId: id,
      name: '$(touch ran-7) `touch ran-7`',
    }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data, nextCursor: null }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const address = { GOV_BASE_URL: `http://127.0.0.1:${port}/api/v1`, GOV_API_KEY: 'gov_test_x' };
  return { env: { ...address, GOV_CONFIG_DIR: folderOfUser }, end: () => server.close() };
}

const hostileCases: readonly (readonly [typed: string, completed: string])[] = [
  ['gov runs show run-', 'gov runs show run-plain '],
  ['gov events list --run=run-', 'gov events list --run=run-plain '],
  ['gov policy get pol-', 'gov policy get pol-plain '],
  ['gov context use ctx-', 'gov context use ctx-plain '],
  ['gov runs show run-plain --out', 'gov runs show run-plain --output '],
];

/** What a person pastes: Tab may add nothing to these, and runs nothing of them. */
const pasted = [
  "gov runs show '$(touch ran-9)",
  'gov runs show "`touch ran-10`',
  'gov runs show $(touch ran-11)',
];

describe('completion scripts', () => {
  it.for(['bash', 'zsh', 'fish'])(
    'Tab runs nothing in %s and completes plain words alone where a service and a configuration have hostile names',
    { timeout: 90_000 },
    async (shell, { skip }) => {
      skip(!has('zsh') || !has(shell), `${shell} or zsh is not installed`);
      const service = await startHostile();
      const lines = await typed(shell, [...hostileCases.map(([line]) => line), ...pasted], service.env);
      service.end();
      const ran = readdirSync(folder).filter((name) => name.startsWith('ran-'));
      for (const name of ran) rmSync(join(folder, name));
      expect(ran).toEqual([]);
      expect(lines).toEqual([...hostileCases.map(([, completed]) => completed), ...pasted]);
    },
  );

  it.for(['bash', 'zsh'])(
    'Tab completes commands, flags, words and files in %s at a terminal (skipped where it or zsh is not installed)',
    { timeout: 90_000 },
    async (shell, { skip }) => {
      skip(!has('zsh') || !has(shell), `${shell} or zsh is not installed`);
      const lines = await typed(
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
