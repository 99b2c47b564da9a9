import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, govHere } from '../../support/tool.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
  await plane.json('policy starter add no-delete-outside no-secrets --to p');
  await plane.json('policy create p --publish');
});
afterAll(() => plane.end());

describe('gov policy explain', () => {
  it('shows the action of a command of any client, and what policy files decide', async () => {
    const explained = await plane.json(
      "policy explain p/no-delete-outside.policy --client codex --command 'rm -rf /home'",
    );
    expect(explained).toMatchObject({
      action: {
        kind: 'shell',
        commands: [{ program: 'rm' }],
        paths: [{ path: '/home', access: 'delete' }],
      },
      actionHash: expect.stringMatching(/^sha256:/),
      combined: 'deny',
      decisions: [{ policyId: 'no-delete-outside', decision: 'deny', outcome: 'matched' }],
    });
  });

  it('asks the active policies of the plane without files, and records nothing', async () => {
    const explained = await plane.json("policy explain --command 'cat $X'");
    expect(explained.combined).toBe('escalate');
    expect(explained.decisions).toMatchObject([
      { policyId: 'no-delete-outside', outcome: 'not_matched' },
      { policyId: 'no-secrets', decision: 'escalate', outcome: 'indeterminate' },
    ]);
    expect(explained.decisions[1].reasoning).toContain('escalate (unknown escalate)');
    expect((await plane.call('GET', '/governance/policy/evaluations')).body.data).toEqual([]);
  });

  it('takes the address of the plane from the context, and the usual one without a plane', async () => {
    await plane.json('policy starter add guard-the-guard --to g');
    const line = (url: string) => `policy explain g/guard-the-guard.policy --command 'curl ${url}'`;
    expect((await plane.json(line('localhost:3000'))).combined).toBe('allow');
    expect((await plane.json(line(`${plane.baseUrl}/x`))).combined).toBe('deny');
    const cwd = emptyDirectory();
    await govHere(['policy', 'starter', 'add', 'guard-the-guard', '--to', 'g'], { cwd });
    const alone = async (url: string) => {
      const words = ['policy', 'explain', 'g/guard-the-guard.policy', '--command', `curl ${url}`];
      const { stdout } = await govHere([...words, '-o', 'json'], { cwd, env: { HOME: cwd } });
      return JSON.parse(stdout).combined;
    };
    expect([await alone('localhost:3000'), await alone('localhost:7460')]).toEqual(['allow', 'deny']);
  });

  it('shows a tool with arguments, in lines', async () => {
    const { stdout } = await plane.gov(
      `policy explain p --tool Read --arguments '{"file_path":"/etc/shadow"}' --cwd /`,
      { columns: 200 },
    );
    expect(stdout).toContain('kind: read');
    expect(stdout).toContain('path: read /etc/shadow (system, secret)');
    expect(stdout).toMatch(/deny {2}1 of 2 policies/);
  });

  it.each([
    ['policy explain p', 'expected --command LINE, or --tool NAME'],
    ['policy explain p --command ls --tool x', 'expected --command LINE, or --tool NAME'],
    ["policy explain p --command ls --arguments '{}'", 'only with --tool'],
    ["policy explain p --tool x --arguments '[]'", 'expected an object'],
  ])('refuses %s', async (line, why) => {
    const { code, stderr } = await plane.gov(line);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});
