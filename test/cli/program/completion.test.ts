import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { completionFor } from '../../../src/cli/program/completion.ts';
import { allSpecs } from '../../../src/cli/commands/specs.ts';
import { emptyDirectory, govHere } from '../support/tool.ts';

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const word = (text: string): string => `'${text}'`;
const folder = emptyDirectory();

function scriptFile(shell: string): string {
  const path = join(folder, `gov.${shell}`);
  writeFileSync(path, completionFor(shell) ?? '');
  return path;
}

const lines = (output: Buffer): string[] => output.toString().trim().split('\n');

/** What a shell offers for the last of these words. */
const offers: Readonly<Record<string, (words: readonly string[]) => string[]>> = {
  bash: (words) => {
    const call = `COMP_WORDS=(${words.map(word).join(' ')}); COMP_CWORD=${words.length - 1}; _gov`;
    const text = `source ${scriptFile('bash')}; ${call}; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return lines(execFileSync('bash', ['-c', text]));
  },
  zsh: (words) => {
    const stubs = 'compdef() { }; _files() { }; compadd() { shift; print -l -- "$@" }';
    const text = `${stubs}; source ${scriptFile('zsh')}; words=(${words.map(word).join(' ')}); CURRENT=${words.length}; _gov`;
    const last = words.at(-1) ?? '';
    return lines(execFileSync('zsh', ['-f', '-c', text])).filter((each) => each.startsWith(last));
  },
  fish: (words) => {
    const text = `source ${scriptFile('fish')}; complete -C ${word(words.join(' '))}`;
    return lines(execFileSync('fish', ['--no-config', '-c', text])).map((line) => line.split('\t')[0] ?? '');
  },
};

describe('completion', () => {
  it('the completion names every command in every shell, without calls to gov', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const script = completionFor(shell) ?? '';
      for (const { name } of allSpecs()) expect(script).toContain(name.split(' ').at(-1));
      expect(script).not.toMatch(/\$\(gov |`gov /);
    }
  });

  it.for(Object.entries(offers))(
    'the completion offers nouns, verbs, flags and choices in %s (skipped where it is not installed)',
    ([shell, offered], { skip }) => {
      skip(!has(shell), `${shell} is not installed`);
      expect(offered(['gov', 'ev'])).toEqual(['events']);
      expect(offered(['gov', 'events', ''])).toContain('tail');
      expect(offered(['gov', 'events', 'list', '--ru'])).toEqual(['--run']);
      expect(offered(['gov', 'events', 'list', '--out'])).toEqual(['--output']);
      expect(offered(['gov', 'events', 'list', '--output', 'nd'])).toEqual(['ndjson']);
      expect(offered(['gov', 'events', 'list', '--order', 'a'])).toEqual(['asc']);
      expect(offered(['gov', '-q', 'proofs', 'v'])).toEqual(['verify']);
      expect(offered(['gov', 'policy', 'lint', '--fail-on', 'w'])).toEqual(['warning']);
      expect(offered(['gov', 'risk', 'evaluate', '--fail-on', 'b'])).toEqual(['block']);
      expect(offered(['gov', 'risk', 'c'])).toEqual(['config']);
      expect(offered(['gov', 'risk', 'config', 'g'])).toEqual(['get']);
      expect(offered(['gov', 'completion', 'f'])).toEqual(['fish']);
    },
  );

  it('gov completion refuses an unknown shell', async () => {
    expect(await govHere(['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/expected bash, zsh or fish/),
    });
  });
});
