import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { cleanEnv, ended, runner, underNohup } from '../../support/tool.ts';
import type { Result } from '../../support/tool.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane({
    extraKeys: { approver: { scopes: ['approvals:decide', 'governance:read'] } },
  });
  plane.write('p/shell.policy', 'deny "no-shell"\nwhen tool.name == "shell"');
  plane.write('p/deploy.policy', 'escalate "ask-deploy"\nwhen tool.name == "deploy"');
  plane.write('p/rm.policy', 'deny "no-root"\nwhen "/" in default(arguments.args, [])');
  await plane.json('policy create p --publish');
});
afterAll(() => plane.end());

const start = (words: readonly string[]) =>
  spawn(process.execPath, [runner, 'tools', 'exec', ...words], {
    env: cleanEnv({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key }),
    cwd: plane.folder,
  });
const exec = (words: readonly string[], input = ''): Promise<Result> => {
  const child = start(words);
  child.stdin.end(input);
  return ended(child);
};
const types = async (runId: string): Promise<string[]> =>
  (await plane.json(`events list --run ${runId}`)).events.map(
    ({ eventType }: { eventType: string }) => eventType,
  );
const asApprover = () => ({ env: { GOV_API_KEY: plane.keys['approver'] ?? '' } });

describe('tools evaluate', () => {
  it('tools evaluate decides from flags, from a file, and from both', async () => {
    expect(await plane.json('tools evaluate --tool shell --run e1')).toMatchObject({
      decision: 'deny',
      allowed: false,
    });
    plane.write('call.json', { tool: { name: 'search', server: 'web' }, arguments: { q: 1 } });
    expect(await plane.json('tools evaluate call.json')).toMatchObject({ decision: 'allow' });
    expect(await plane.json('tools evaluate call.json --tool deploy')).toMatchObject({
      decision: 'escalate',
    });
    const denied = await plane.gov('tools evaluate --tool shell --fail-on escalate');
    expect([denied.code, denied.stdout]).toEqual([3, expect.stringMatching(/^decision\tdeny\nreason\t.+\n/)]);
    expect(denied.stdout).toMatch(/\npolicy\t[\w-]+\t1\tdeny\n$/);
    expect((await plane.gov('tools evaluate --tool search --fail-on warn')).code).toBe(0);
  });

  it('tools evaluate --dry-run records nothing', async () => {
    const { stdout } = await plane.gov('tools evaluate --tool shell --run dry --dry-run');
    expect(stdout).toContain('\nevaluationId\tnot recorded\n');
    expect((await plane.json('policy evaluations --run dry')).data).toEqual([]);
  });

  it('tools evaluate refuses a call without a tool, and reports what the service refuses', async () => {
    expect((await plane.gov('tools evaluate --run r')).code).toBe(2);
    expect(await plane.gov('tools evaluate --tool x --arguments 3')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/arguments'),
    });
  });
});

describe('tools exec', () => {
  it('tools exec runs an allowed command with its streams, and records call and outcome', async () => {
    const result = await exec(['--tool', 'cat', '--run', 'x1', '--', 'cat'], 'through\n');
    expect(result).toMatchObject({ code: 0, stdout: 'through\n', stderr: '' });
    expect(await types('x1')).toEqual(['tool.evaluated', 'tool.call', 'tool.result']);
    const { data } = await plane.json('policy evaluations --run x1');
    expect(data[0].checkpoint.context).toMatchObject({
      tool: { name: 'cat' },
      arguments: { command: 'cat', args: [] },
      actor: 'gov tools exec',
    });
  });

  it('tools exec gives no shell anything to interpret', async () => {
    const args = ['$HOME', '; echo owned', '*', '`id`', "'"];
    const program = 'console.log(JSON.stringify(process.argv.slice(1)))';
    const { stdout } = await exec([
      '--tool',
      'node',
      '--run',
      'x2',
      '--',
      process.execPath,
      '-e',
      program,
      '--',
      ...args,
    ]);
    expect(JSON.parse(stdout)).toEqual(args);
  });

  it('tools exec passes the exit code on and records the failure', async () => {
    const { code } = await exec(['--tool', 'sh', '--run', 'x3', '--', 'sh', '-c', 'exit 7']);
    expect(code).toBe(7);
    const { events } = await plane.json('events list --run x3');
    expect(events.at(-1)).toMatchObject({
      action: 'fail',
      metadata: { ok: false, error: 'CommandFailed: exit code 7' },
    });
    expect((await exec(['--tool', 'sh', '--run', 'x3', '--', 'no-such-command'])).code).toBe(127);
  });

  it('tools exec does not run a refused command and exits with 3', async () => {
    const file = join(plane.folder, 'made');
    const refused = await exec(['--tool', 'shell', '--run', 'x4', '--', 'touch', file]);
    expect(refused).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('nothing ran: shell: policy '),
    });
    expect((await exec(['--tool', 'rm', '--run', 'x4', '--', 'rm', '-rf', '/'])).code).toBe(3);
    expect(existsSync(file)).toBe(false);
    expect(await types('x4')).toEqual(['tool.evaluated', 'tool.denied', 'tool.evaluated', 'tool.denied']);
  });

  it('tools exec runs nothing when the service is unreachable', async () => {
    const child = spawn(
      process.execPath,
      [runner, 'tools', 'exec', '--tool', 't', '--run', 'r', '--retries', '0', '--', 'echo', 'ran'],
      {
        env: cleanEnv({ GOV_BASE_URL: 'http://127.0.0.1:1/api/v1', GOV_API_KEY: plane.key }),
      },
    );
    expect(await ended(child)).toMatchObject({ code: 10, stdout: '' });
  });

  it('tools exec waits for the person who approves', async () => {
    const running = exec([
      '--tool',
      'deploy',
      '--run',
      'x5',
      '--wait-approval',
      '30s',
      '--',
      'echo',
      'deployed',
    ]);
    const approvalId = await nextApproval('x5');
    expect(await plane.gov(`approvals approve ${approvalId}`)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('expected another key than the one that asked'),
    });
    const approved = await plane.gov(
      `approvals approve ${approvalId} --comment 'looked at it'`,
      asApprover(),
    );
    expect(approved.code).toBe(0);
    expect(await running).toMatchObject({ code: 0, stdout: 'deployed\n' });
    expect((await plane.gov(`approvals wait ${approvalId}`)).code).toBe(0);
    expect((await plane.gov(`approvals deny ${approvalId}`, asApprover())).code).toBe(6);
  });

  it('gov approvals uses the approver.key of a plane where it has one and no other key is named', async () => {
    plane.write('config/config.json', {
      currentContext: 'here',
      contexts: { here: { kind: 'plane', dataDir: plane.dataDir } },
    });
    const local = { GOV_BASE_URL: '', GOV_API_KEY: '', GOV_CONFIG_DIR: join(plane.folder, 'config') };
    const asked = await plane.gov('tools evaluate --tool deploy --run x9 -o json', { env: local });
    const { approvalId } = JSON.parse(asked.stdout);
    expect((await plane.gov(`approvals show ${approvalId} -o json`, { env: local })).code).toBe(0);
    const { code, stdout } = await plane.gov(`approvals approve ${approvalId} -o json`, { env: local });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { status: 'approved' }]);
    // the approver may do nothing else
    const approver = { ...local, GOV_API_KEY_FILE: join(plane.dataDir, 'approver.key') };
    expect((await plane.gov('tools evaluate --tool deploy', { env: approver })).code).toBe(4);
  });

  it('tools exec passes --call-context to the policies', async () => {
    const { stdout } = await exec([
      '--tool',
      'echo',
      '--run',
      'x10',
      '--call-context',
      '{"ticket":7}',
      '--',
      'echo',
      'a',
    ]);
    expect(stdout).toBe('a\n');
    const { data } = await plane.json('policy evaluations --run x10');
    expect(data[0].checkpoint.context).toMatchObject({ ticket: 7 });
  });

  it('tools exec does not run a denied command, and says how to wait for an approval', async () => {
    const atOnce = await exec(['--tool', 'deploy', '--run', 'x6', '--', 'echo', 'deployed']);
    expect(atOnce).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('--wait-approval') });
    const approvalId = await nextApproval('x6');
    expect(await plane.gov(`approvals wait ${approvalId} --timeout 100ms`)).toMatchObject({ code: 8 });
    expect((await plane.gov(`approvals deny ${approvalId}`, asApprover())).code).toBe(0);
    expect(await plane.gov(`approvals wait ${approvalId}`, { columns: 80 })).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^denied {2}apr_/),
    });
  });

  it('tools exec run again continues with the approval of the same command, and uses it once', async () => {
    const deploy = ['--tool', 'deploy', '--run', 'x11', '--', 'echo', 'deployed'];
    const first = await exec(deploy);
    expect(first).toMatchObject({ code: 3, stdout: '' });
    expect(first.stderr).toContain('run the same command again');
    const approvalId = await nextApproval('x11');
    expect((await exec(deploy)).code).toBe(3);
    expect((await plane.json('approvals list --run x11')).data).toHaveLength(1);
    expect((await plane.gov(`approvals approve ${approvalId}`, asApprover())).code).toBe(0);
    const other = await exec(['--tool', 'deploy', '--run', 'x11', '--', 'echo', 'other']);
    expect(other).toMatchObject({ code: 3, stdout: '' });
    const ran = await exec(deploy);
    expect(ran).toMatchObject({ code: 0, stdout: 'deployed\n' });
    expect(ran.stderr).toMatch(
      new RegExp(`approved by key_\\S+ at \\S+; ${approvalId} lets this call run once`),
    );
    expect(await exec(deploy)).toMatchObject({ code: 3, stdout: '' });
    const { used } = await plane.json(`approvals show ${approvalId}`);
    expect(used.evaluationId).toMatch(/^pev_/);
  });

  it('tools exec --approval runs a command only by this approval, and says why it cannot', async () => {
    const deploy = (...more: string[]) =>
      exec(['--tool', 'deploy', '--run', 'x12', ...more, '--', 'echo', 'deployed']);
    await deploy();
    const approvalId = await nextApproval('x12');
    expect(await deploy('--approval', approvalId)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('approval pending') as string,
    });
    await plane.gov(`approvals approve ${approvalId}`, asApprover());
    const other = await exec([
      '--tool',
      'deploy',
      '--run',
      'x13',
      '--approval',
      approvalId,
      '--',
      'echo',
      'a',
    ]);
    expect(other.code).toBe(3);
    expect(other.stderr).toContain('of another call: run, arguments changed');
    expect(await deploy('--approval', approvalId)).toMatchObject({ code: 0, stdout: 'deployed\n' });
    const again = await deploy('--approval', approvalId);
    expect(again).toMatchObject({ code: 3, stdout: '' });
    expect(again.stderr).toContain(`nothing ran: expected an approval of this call`);
    expect(again.stderr).toContain('used by pev_');
  });

  it('tools exec reports that the command ran when its outcome could not be recorded', async () => {
    const other = await startPolicyPlane();
    const words = ['tools', 'exec', '--tool', 'cat', '--run', 'r', '--retries', '0', '--', 'cat'];
    const child = spawn(process.execPath, [runner, ...words], {
      env: cleanEnv({ GOV_BASE_URL: other.baseUrl, GOV_API_KEY: other.key }),
    });
    const end = ended(child);
    const started = new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdin.write('running');
    await started;
    await other.end();
    child.stdin.end();
    const { code, stdout, stderr } = await end;
    expect([code, stdout]).toEqual([1, 'running']);
    expect(stderr).toContain('the tool ran, but its outcome could not be recorded');
  });

  it('tools exec passes signals on to the command', async () => {
    const program =
      "process.on('SIGTERM', () => { console.log('told'); process.exit(9); }); console.log('up'); setInterval(() => {}, 1000)";
    const child = start(['--tool', 'node', '--run', 'x7', '--', process.execPath, '-e', program]);
    const end = ended(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGTERM');
    expect(await end).toMatchObject({ code: 9, stdout: 'up\ntold\n' });
    expect(await types('x7')).toEqual(['tool.evaluated', 'tool.call', 'tool.result']);
  });

  it.each([['tools exec --tool sh --run x10'], ['mcp proxy --name nohup']])(
    '%s that nohup started lives on at SIGHUP, and so does its program',
    async (line) => {
      const env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
      const script = 'kill -HUP $$ $PPID; echo "lived $GOV_SIGHUP_IGNORED" >&2';
      const words = [...line.split(' '), '--', '/bin/sh', '-c', script];
      const child = underNohup(words, { env, cwd: plane.folder });
      expect(await ended(child)).toMatchObject({ code: 0, stdout: '', stderr: 'lived \n' });
    },
  );

  it('tools exec stops at a signal while it waits for a person, and runs nothing', async () => {
    const child = start([
      '--tool',
      'deploy',
      '--run',
      'x8',
      '--wait-approval',
      '60s',
      '--',
      'echo',
      'deployed',
    ]);
    const end = ended(child);
    await nextApproval('x8');
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: 130, stdout: '' });
  });

  it('tools exec needs a command', async () => {
    expect((await exec(['--tool', 't', '--run', 'r'])).code).toBe(2);
  });
});

async function nextApproval(runId: string): Promise<string> {
  for (;;) {
    const { data } = await plane.json(`approvals list --run ${runId} --status pending`);
    if (data.length > 0) return data[0].approvalId;
  }
}
