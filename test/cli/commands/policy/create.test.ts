import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parsePolicyText } from '../../../../src/cli/policies/text-form.ts';
import { said } from '../../../service/support/said.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
  plane.write(
    'policies/no-shell.policy',
    'deny "no-shell" high\nname "No shell"\nwhen tool.name == "shell" && n > 3',
  );
  plane.write('policies/refund.json', {
    policyId: 'refund',
    name: 'Refunds',
    condition: 'tool.name == "refund" && arguments.amount > 100',
    action: 'escalate',
  });
  plane.write('shell.json', { tool: { name: 'shell' }, n: 5 });
  plane.write('refund.json', { context: { tool: { name: 'refund' }, arguments: { amount: 200 } }, step: 2 });
  plane.write('other.json', { tool: { name: 'search' }, arguments: {} });
});
afterAll(() => plane.end());

describe('policy create', () => {
  it('policy create creates missing policies and reports them', async () => {
    const { data } = await plane.json('policy create policies');
    expect(data).toMatchObject([
      { policyId: 'no-shell', did: 'created', version: 1, status: 'draft', activeVersion: null },
      { policyId: 'refund', did: 'created', file: 'policies/refund.json' },
    ]);
  });

  it('policy create does nothing without differences, and publishes on request', async () => {
    const done = (await plane.json('policy create policies --publish --reason first')).data;
    expect(done.map(({ did }: { did: string }) => did)).toEqual(['published', 'published']);
    const again = (await plane.json('policy create policies --publish')).data;
    expect(again.map(({ did }: { did: string }) => did)).toEqual(['unchanged', 'unchanged']);
    const { data } = await plane.json('policy versions no-shell');
    expect(data).toHaveLength(1);
  });

  it('policy create adds a version for a changed file, which is in force only when published', async () => {
    plane.write('changed.policy', 'deny "no-shell" high\nname "No shell"\nwhen tool.name == "shell"');
    const { data } = await plane.json('policy create changed.policy');
    expect(data).toMatchObject([{ did: 'version added', version: 2, status: 'active', activeVersion: 1 }]);
  });

  it('policy create writes nothing when one of the files is wrong', async () => {
    plane.write('mixed/a.policy', 'deny "mixed-a"\nwhen true');
    plane.write('mixed/b.policy', 'deny "mixed-b"\nwhen tru e');
    const { code, stderr } = await plane.gov('policy create mixed');
    expect([code, stderr]).toEqual([2, expect.stringContaining('mixed/b.policy:2:10: expected')]);
    expect((await plane.gov('policy get mixed-a')).code).toBe(5);
  });

  it('policy create reads standard input', async () => {
    const { code, stdout } = await plane.gov('policy create -', { input: 'warn "from-stdin"\nwhen true' });
    expect([code, stdout]).toEqual([0, 'from-stdin\tcreated\t1\tdraft\t\t-\n']);
  });
});

describe('policy get', () => {
  it('policy get prints everything that a file said of a policy', async () => {
    plane.write('said.json', { policyId: 'said', ...said, condition: {}, action: 'warn' });
    await plane.json('policy create said.json');
    expect(await plane.json('policy get said')).toMatchObject(said);
    const { stdout } = await plane.gov('policy get said -o policy');
    expect(parsePolicyText(stdout)).toMatchObject(said);
  });

  it('policy get prints the file that makes the policy', async () => {
    const { stdout } = await plane.gov('policy get no-shell -o policy --version 1');
    expect(stdout).toBe(
      'deny "no-shell" high\nname "No shell"\nwhen\n  context.tool.name == "shell"\n  && context.n > 3\n',
    );
    plane.write('again.policy', stdout);
    const { data } = await plane.json('policy create again.policy');
    expect(data).toMatchObject([{ did: 'version added', version: 3 }]);
  });

  it('policy get shows people the active version and the newest version', async () => {
    const { stdout } = await plane.gov('policy get no-shell', { columns: 100 });
    expect(stdout).toMatch(/^no-shell {2}active {2}No shell\n/);
    expect(stdout).toContain('active: version 1, sha256:');
    expect(stdout).toContain('newest: version 3');
  });

  it('policy get refuses a version that does not exist', async () => {
    expect(await plane.gov('policy get no-shell -o policy --version 9')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('expected a version from 1 to 3, got 9'),
    });
    expect((await plane.gov('policy get no-shell --version 1')).code).toBe(2);
  });
});

describe('policy simulate', () => {
  it('policy simulate shows the decision and its clause, and records nothing', async () => {
    const { code, stdout } = await plane.gov('policy simulate --checkpoint shell.json');
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'combined\tdeny',
      'decidedBy\tno-shell',
      'total\t2',
      'matched\t1',
      'indeterminate\t0',
      'decision\tno-shell\t1\tdeny\thigh\tmatched\tcontext.tool.name == "shell"; context.n > 3',
      'decision\trefund\t1\tallow\t\tnot_matched\t',
      '',
    ]);
    expect((await plane.json('policy evaluations')).data).toEqual([]);
  });

  it('policy simulate --explain shows every clause with its values, and the nearest change', async () => {
    const { stdout } = await plane.gov('policy simulate no-shell --checkpoint shell.json --explain', {
      columns: 120,
    });
    expect(stdout).toContain('deny  by no-shell (1 evaluated, 1 matched)');
    expect(stdout).toContain('✓ $.and[1].>  context.n = 5  decided');
    expect(stdout).toContain('nearest change: context.');
  });

  it('policy simulate exits with 3 from the decision that --fail-on names', async () => {
    const code = async (file: string, failOn: string) =>
      (await plane.gov(`policy simulate --checkpoint ${file} --fail-on ${failOn}`)).code;
    expect(await code('refund.json', 'escalate')).toBe(3);
    expect(await code('refund.json', 'deny')).toBe(0);
    expect(await code('shell.json', 'escalate')).toBe(3);
    expect(await code('other.json', 'warn,deny')).toBe(0);
    expect(await code('other.json', 'nonsense')).toBe(2);
  });

  it('policy simulate takes the checkpoint from standard input and refuses an invalid one', async () => {
    const input = readFileSync(join(plane.folder, 'shell.json'));
    expect((await plane.gov('policy simulate --checkpoint - --fail-on deny', { input })).code).toBe(3);
    const faulty = await plane.gov('policy simulate --checkpoint -', { input: '{"context":1}' });
    expect(faulty).toMatchObject({ code: 2, stderr: 'error: -: expected an object as context\n' });
  });
});

describe('policy evaluate', () => {
  it('policy evaluate records the decision and names the approval that it opens', async () => {
    const { code, stderr, stdout } = await plane.gov(
      'policy evaluate --run r1 --checkpoint refund.json --fail-on escalate',
    );
    expect(stdout).toMatch(/^combined\tescalate\ndecidedBy\trefund\n/);
    expect(stdout).toMatch(/\nevaluationId\tpev_\w+\napprovalId\tapr_\w+\ndecision\t/);
    expect([code, stderr]).toEqual([3, expect.stringMatching(/gov approvals approve apr_/)]);
    const { data } = await plane.json('policy evaluations --run r1');
    expect(data).toMatchObject([{ runId: 'r1', combined: 'escalate', checkpoint: { step: 2 } }]);
  });

  it('policy evaluate uses only the named policies', async () => {
    const { decisions } = await plane.json(
      'policy evaluate --run r1 --checkpoint shell.json --policy refund,no-shell',
    );
    expect(decisions.map(({ policyId }: { policyId: string }) => policyId)).toEqual(['refund', 'no-shell']);
    expect((await plane.gov('policy evaluate --run r1 --checkpoint shell.json --policy nope')).code).toBe(5);
  });
});

describe('the life of a policy', () => {
  it('policy publish, transition and rollback move a policy through its life cycle', async () => {
    expect(await plane.json('policy publish no-shell --version 2 --reason stricter')).toMatchObject({
      activeVersion: 2,
      previousVersion: 1,
    });
    expect(await plane.json('policy rollback no-shell --to-version 1')).toMatchObject({ activeVersion: 1 });
    const { stdout } = await plane.gov('policy transition no-shell --to disabled', { columns: 80 });
    expect(stdout).toBe('no-shell  disabled, was active\n');
  });

  it('policy transition refuses other moves with 6 and says what is allowed', async () => {
    const { code, stderr } = await plane.gov('policy transition no-shell --to review');
    expect([code, stderr]).toEqual([6, expect.stringContaining('expected one of active, archived')]);
  });
});
