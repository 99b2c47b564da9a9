import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
const limit = (id: string, amount: number): string =>
  `deny "${id}"\nwhen tool.name == "pay" && arguments.amount > ${amount}`;
beforeAll(async () => {
  plane = await startPolicyPlane();
  plane.write('limit.policy', limit('limit', 100));
  plane.write('looser.policy', limit('limit', 200));
  plane.write('tighter.policy', limit('limit', 50));
  await plane.json('policy create limit.policy --publish');
  for (const amount of [20, 80, 150, 300]) {
    const call = { tool: { name: 'pay' }, arguments: { amount }, runId: `run-${amount}` };
    const { code } = await plane.gov('tools evaluate - -o json', { input: JSON.stringify(call) });
    expect(code).toBe(0);
  }
});
afterAll(() => plane.end());

describe('policy impact', () => {
  it('policy impact stops a looser version and shows which recorded calls would have passed', async () => {
    const { code, stdout } = await plane.gov(
      'policy impact --proposed looser.policy --since 1d --fail-on loosened',
      { columns: 140 },
    );
    expect(code).toBe(3);
    expect(stdout).toContain('1 of 4 recorded decisions change (25 %): 1 loosened: they would pass now');
    expect(stdout).toMatch(/pev_\S+ +deny +allow +loosened +run-150/);
    expect(stdout).toContain('pay  1 loosened, 0 tightened of 4');
  });

  it('policy impact lets a tighter version pass, unless --fail-on says otherwise', async () => {
    const code = async (more: string) =>
      (await plane.gov(`policy impact limit --proposed tighter.policy ${more}`)).code;
    expect(await code('--fail-on loosened')).toBe(0);
    expect(await code('--fail-on changed')).toBe(3);
    expect(await code('--fail-on loosened,tightened')).toBe(3);
    expect(await code('--max-change 25%')).toBe(0);
    expect(await code('--max-change 0.2')).toBe(3);
    expect(await code('--until 30d --fail-on changed')).toBe(0);
  });

  it('policy impact takes samples instead of recorded calls', async () => {
    plane.write(
      'samples.json',
      [150, 20].map((amount) => ({ tool: { name: 'pay' }, arguments: { amount } })),
    );
    const result = await plane.gov(
      'policy impact --proposed looser.policy --samples samples.json --fail-on loosened',
    );
    expect(result.code).toBe(3);
    expect(result.stdout).toMatch(
      /^loosened\t1\ntightened\t0\nchanged\t1\ntotal\t2\nchangeRate\t0.5\nchange\t1\tdeny\tallow\tloosened\t/,
    );
    const both = await plane.gov('policy impact --proposed looser.policy --samples samples.json --since 1d');
    expect(both.code).toBe(2);
    plane.write(
      'many.json',
      Array.from({ length: 51 }, () => ({})),
    );
    const many = await plane.gov('policy impact --proposed looser.policy --samples many.json');
    expect(many).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('at most 50 checkpoints, got 51'),
    });
  });

  it('policy impact exits with 5 for a policy that does not exist', async () => {
    plane.write('other.policy', limit('other', 1));
    expect((await plane.gov('policy impact --proposed other.policy')).code).toBe(5);
  });
});

describe('policy diff', () => {
  it('policy diff compares versions, the version in force, and files', async () => {
    await plane.json('policy create looser.policy');
    const { stdout } = await plane.gov('policy diff limit');
    expect(stdout).toContain('limit\t-\t    context.arguments.amount > 100\n');
    expect(stdout).toContain('limit\t+\t    context.arguments.amount > 200\n');
    expect(await plane.json('policy diff limit 2 1')).toMatchObject({ from: 2, to: 1, changed: true });
    expect(await plane.json('policy diff limit 2 2')).toMatchObject({ changed: false });
    expect((await plane.gov('policy diff limit 1 9')).code).toBe(5);
    expect((await plane.gov('policy diff limit one')).code).toBe(2);
  });

  it('policy diff says what policy create would do', async () => {
    expect(await plane.json('policy diff looser.policy --fail-on changed')).toMatchObject({ changed: false });
    const { code, stdout } = await plane.gov('policy diff tighter.policy --fail-on changed -o json');
    expect([code, JSON.parse(stdout)]).toMatchObject([3, { from: 2, to: 'tighter.policy', changed: true }]);
    plane.write('fresh.policy', limit('fresh', 1));
    expect(await plane.json('policy diff fresh.policy')).toMatchObject({ from: null, changed: true });
  });
});

describe('policy lint --seen', () => {
  it('policy lint --seen reads the checkpoints of a run from the service', async () => {
    plane.write('typo.policy', 'deny "typo"\nwhen has(arguments.amout) && arguments.amout > 3');
    const { findings } = await plane.json('policy lint typo.policy --seen run-150');
    expect(findings).toContainEqual(expect.objectContaining({ code: 'unseen_path' }));
    expect((await plane.gov('policy lint typo.policy --seen no-such-run')).code).toBe(2);
  });
});

describe('risk', () => {
  it('gov risk evaluate takes flags and files, and --fail-on also counts stricter actions', async () => {
    const run = (more: string) => plane.gov(`risk evaluate --run r1 ${more}`);
    expect((await run('--signal prompt_injection=1 --fail-on escalate')).code).toBe(3);
    expect((await run('--signal pii=0 --fail-on flag')).code).toBe(0);
    expect((await run('--signal pii')).code).toBe(2);
    plane.write('risk.json', { runId: 'r2', explicitSignals: { pii: 1 } });
    const { stdout } = await plane.gov('risk evaluate risk.json', { columns: 100 });
    expect(stdout).toMatch(/^\w+ {2}score /);
    const piped = await plane.gov('risk evaluate risk.json');
    expect(piped.stdout).toMatch(/^action\t\w+\nscore\t[\d.]+\nwouldBeAction\t\nid\trsk_\w+\n/);
    expect(piped.stdout).toMatch(/\nfactor\texplicit:pii\t[\d.]+\t[\d.]+\t[\d.]+\n$/);
    const { data } = await plane.json('risk decisions');
    expect(data.map(({ runId }: { runId: string }) => runId)).toEqual(['r2', 'r2', 'r1', 'r1']);
    expect((await plane.gov('risk evaluate')).code).toBe(2);
  });

  it('gov risk config takes a file and shows its differences first', async () => {
    const { bands: _, ...config } = await plane.json('risk config get');
    plane.write('config.json', { ...config, mode: 'strict' });
    const differs = await plane.gov('risk config diff config.json --fail-on changed');
    expect(differs).toMatchObject({ code: 3, stdout: 'mode\t"adaptive"\t"strict"\n' });
    expect(await plane.json('risk config set config.json')).toMatchObject({ mode: 'strict' });
    expect(await plane.json('risk config diff config.json')).toEqual({ changed: false, changes: [] });
    plane.write('bad.json', { mode: 'strict' });
    expect((await plane.gov('risk config set bad.json')).code).toBe(2);
  });
});
