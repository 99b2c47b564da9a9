import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { completionFor } from '../../src/cli/completion.ts';
import { allSpecs } from '../../src/cli/specs/index.ts';
import { govHere } from './tool.ts';

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** What bash offers for the last of these words. */
function bashOffers(words: readonly string[]): string[] {
  const typed = words.map((word) => `'${word}'`).join(' ');
  const script = `${completionFor('bash')}
COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _gov; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script]).toString().trim().split('\n');
}

describe('completion', () => {
  it('names every command in every shell, without calls to gov', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const script = completionFor(shell) ?? '';
      for (const { name } of allSpecs()) expect(script).toContain(name.split(' ').at(-1));
      expect(script).not.toMatch(/\$\(gov |`gov /);
    }
  });

  it.skipIf(!has('bash'))(
    'offers nouns, verbs, flags and choices in bash (skipped where it is not installed)',
    () => {
      expect(bashOffers(['gov', 'ev'])).toEqual(['events']);
      expect(bashOffers(['gov', 'events', ''])).toContain('tail');
      expect(bashOffers(['gov', 'events', 'list', '--ru'])).toEqual(['--run']);
      expect(bashOffers(['gov', 'events', 'list', '--out'])).toEqual(['--output']);
      expect(bashOffers(['gov', 'events', 'list', '--output', 'nd'])).toEqual(['ndjson']);
      expect(bashOffers(['gov', '-q', 'proofs', 'v'])).toEqual(['verify']);
    },
  );

  it.each(['zsh', 'fish'].filter(has))('is read by %s', (shell) => {
    const flags = shell === 'fish' ? ['--no-execute', '/dev/stdin'] : ['-n'];
    execFileSync(shell, flags, { input: completionFor(shell) });
  });

  it('refuses a shell it does not know', async () => {
    expect(await govHere(['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: /expected bash, zsh or fish/,
    });
  });
});
