import { beforeEach, describe, expect, it } from 'vitest';
import { writeInto } from '../../support/policy-plane.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

let folder: string;
beforeEach(() => {
  folder = emptyDirectory();
  writeInto(folder, 'p/shell.policy', 'deny "no-shell"\nwhen has(tool) && tool.name == "shell" && n > 3');
  writeInto(folder, 'p/all.policy', 'warn "all"\nwhen true');
});
const gov = (line: string, columns?: number) =>
  govHere(line.split(' '), {
    cwd: folder,
    env: { NO_COLOR: '1' },
    ...(columns === undefined ? {} : { columns }),
  });
const cases = (...list: readonly (readonly [name: string, checkpoint: object, expect: unknown])[]) =>
  writeInto(
    folder,
    'p/some.cases.json',
    list.map(([name, checkpoint, expected]) => ({ name, checkpoint, expect: expected })),
  );
const shell = (n: number) => ({ tool: { name: 'shell' }, n });

describe('policy test', () => {
  it('policy test needs no service, and passes when every case is decided as expected', async () => {
    cases(
      ['shell', shell(4), 'deny'],
      ['shell, few', { context: shell(3), step: 1 }, { 'no-shell': 'allow', all: 'warn' }],
      ['search', { tool: { name: 'search' }, n: 1 }, 'warn'],
    );
    const { code, stdout } = await gov('policy test p --cases p -o json');
    const told = JSON.parse(stdout);
    expect([code, told.passed, told.failed]).toEqual([0, 3, 0]);
    expect(told.policies[1].clauses).toContainEqual({
      path: '$.and[2].>',
      text: 'context.n > 3',
      true: 1,
      false: 2,
      indeterminate: 0,
    });
  });

  it('policy test exits with 3 when a case fails, and names the decision and its policy', async () => {
    cases(['wrong', shell(4), 'allow'], ['wrong too', shell(1), { 'no-shell': 'deny' }]);
    const { code, stdout } = await gov('policy test p --cases p');
    expect(code).toBe(3);
    expect(stdout).toContain('case\twrong\tfailed\texpected allow, got deny, decided by no-shell\n');
    expect(stdout).toContain('case\twrong too\tfailed\tno-shell: expected deny, got allow\n');
  });

  it('policy test compares the share of clauses seen both ways with --min-coverage', async () => {
    cases(['shell', shell(4), 'deny'], ['search', { tool: { name: 'search' }, n: 1 }, 'warn']);
    const run = (least: string) => gov(`policy test p --cases p --min-coverage ${least}`, 100);
    expect((await run('0.6')).code).toBe(0);
    expect(await run('70%')).toMatchObject({
      code: 3,
      stdout: expect.stringContaining(
        '2 cases, all passed, 66.7 % of clauses seen both ways (expected 70 %)',
      ),
    });
    expect((await run('seventy')).code).toBe(2);
  });

  it('policy test names surviving mutants, and cases at the limit kill mutants of the limit', async () => {
    const survivors = async () => {
      const { stdout } = await gov('policy test p --cases p --mutants -o json');
      const { mutants } = JSON.parse(stdout) as { mutants: { killed: boolean; description: string }[] };
      return mutants.filter(({ killed }) => !killed).map(({ description }) => description);
    };
    cases(['shell', shell(9), 'deny'], ['search', { tool: { name: 'search' }, n: 9 }, 'warn']);
    expect(await survivors()).toContain('$.and[2].>: > became >=');
    cases(
      ['above', shell(4), 'deny'],
      ['at', shell(3), 'warn'],
      ['search', { tool: { name: 'search' }, n: 9 }, 'warn'],
      ['no tool', { n: 9 }, 'warn'],
    );
    expect(await survivors()).toEqual([]);
  });

  it.each([
    [[], 'expected at least one case'],
    [[{ name: 'x', checkpoint: {}, expect: 'block' }], 'case 1: expected one of allow, warn, escalate, deny'],
    [[{ checkpoint: [], expect: 'deny' }], 'case 1: expected a checkpoint'],
    [[{ checkpoint: {}, expect: { nope: 'deny' } }], 'expected one of all, no-shell, got "nope"'],
    [[{ checkpoint: {}, expected: 'deny' }], 'got "expected"'],
    ['[', 'some.cases.json:1:2: not whole JSON: '],
  ])('policy test refuses invalid cases: %j', async (content, expected) => {
    writeInto(folder, 'p/some.cases.json', content);
    const { code, stderr } = await gov('policy test p --cases p');
    expect([code, stderr]).toEqual([2, expect.stringContaining(expected)]);
  });
});

describe('policy lint', () => {
  it('policy lint finds unmatchable conditions and exits with 3 from the severity of --fail-on', async () => {
    writeInto(folder, 'never.policy', 'deny "never"\nwhen a == 1 && a == 2');
    const { code, stdout } = await gov('policy lint never.policy -o json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout).findings).toContainEqual(
      expect.objectContaining({ policyId: 'never', code: 'never_matches', severity: 'error' }),
    );
    writeInto(folder, 'guard.policy', 'deny "guard"\nwhen tool.name == "shell"');
    expect((await gov('policy lint guard.policy')).code).toBe(0);
    expect((await gov('policy lint guard.policy --fail-on info')).code).toBe(3);
  });

  it('policy lint reports paths that no recorded checkpoint has', async () => {
    writeInto(folder, 'seen.ndjson', '{"tool":{"name":"x"}}\n{"context":{"n":4}}\n');
    writeInto(folder, 'typo.policy', 'deny "typo"\nwhen has(toool) && toool.name == "x"');
    const codes = async (file: string) =>
      JSON.parse((await gov(`policy lint ${file} --seen seen.ndjson -o json`)).stdout).findings.map(
        ({ code }: { code: string }) => code,
      );
    expect(await codes('typo.policy')).toContain('unseen_path');
    expect(await codes('p/shell.policy')).not.toContain('unseen_path');
  });

  it('policy lint shows people the repaired condition', async () => {
    writeInto(folder, 'guard.policy', 'deny "guard"\nwhen tool.name == "shell"');
    const { stdout } = await gov('policy lint guard.policy', 100);
    expect(stdout).toContain('(missing_guard at $.==)');
    expect(stdout).toContain('fix: has(context.tool) && context.tool.name == "shell"');
  });

  it('policy lint shows no repair by which a missing fact would escape the policy', async () => {
    writeInto(folder, 'fact.policy', 'deny "fact"\nwhen has(tool) && "rm" in arguments.cmd');
    const { code, stdout } = await gov('policy lint fact.policy', 200);
    expect(stdout).toContain('info: expected context.arguments.cmd in the checkpoint, got no guard for it');
    expect(stdout).toContain(
      'warning: expected a test of either a list or a text, got "rm" in context.arguments.cmd',
    );
    expect(stdout).not.toContain('fix:');
    expect(code).toBe(0);
  });
});
