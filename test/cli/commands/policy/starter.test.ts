import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { starters } from '../../../../src/cli/policies/starters.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

const gov = (folder: string, ...words: string[]) => govHere(words, { cwd: folder, env: { NO_COLOR: '1' } });

describe('starter policies', () => {
  it.each(starters.map(({ id }) => id))(
    'the cases of %s pass, cover every clause and notice every mutant',
    async (id) => {
      const folder = emptyDirectory();
      expect((await gov(folder, 'policy', 'starter', 'add', id, '--to', 'p')).code).toBe(0);
      const { code, stdout } = await gov(
        folder,
        'policy',
        'test',
        'p',
        '--cases',
        'p',
        '--mutants',
        '--min-coverage',
        '100%',
        '-o',
        'json',
      );
      const report = JSON.parse(stdout) as { cases: { passed: boolean }[]; mutants: { killed: boolean }[] };
      expect(report.cases.filter(({ passed }) => !passed)).toEqual([]);
      expect(report.mutants.filter(({ killed }) => !killed)).toEqual([]);
      expect(report.mutants.length).toBeGreaterThan(5);
      expect(code).toBe(0);
      const lint = await gov(folder, 'policy', 'lint', 'p');
      expect(lint.code, lint.stdout + lint.stderr).toBe(0);
    },
  );

  it('starter list prints one JSON value for JSON formats', async () => {
    const { stdout } = await govHere(['policy', 'starter', 'list', '--jq', '.starters[].id']);
    expect(stdout.trim().split('\n')).toContain('spending-limit');
  });

  it('starter list names each starter with its purpose', async () => {
    const { stdout } = await gov(emptyDirectory(), 'policy', 'starter', 'list');
    expect(stdout.trim().split('\n')).toEqual(starters.map(({ id, summary }) => `${id}\t${summary}`));
  });

  it('starter add writes nothing when one of its files exists, or a name is unknown', async () => {
    const folder = emptyDirectory();
    writeFileSync(join(folder, 'only-these-hosts.policy'), 'mine');
    const there = await gov(
      folder,
      'policy',
      'starter',
      'add',
      'spending-limit',
      'only-these-hosts',
      '--to',
      '.',
    );
    expect(there.stderr).toContain('only-these-hosts.policy exists already');
    const unknown = await gov(folder, 'policy', 'starter', 'add', 'spending-limit', 'nothing', '--to', '.');
    expect(unknown.stderr).toContain('no starter policy "nothing"');
    expect([there.code, unknown.code]).toEqual([2, 2]);
    expect(readdirSync(folder)).toEqual(['only-these-hosts.policy']);
  });
});
