import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hookPaths } from '../../../src/cli/agents/hook.ts';
import { limits } from '../../../src/contract/limits.ts';
import { table } from '../../../src/contract/table.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { ended, gov, runner, type Result } from '../support/tool.ts';

let plane: PolicyPlane;
let config: string;
beforeAll(async () => {
  plane = await startPolicyPlane({
    extraKeys: {
      agent: { scopes: ['tools:evaluate', 'events:write'] },
      reader: { scopes: ['events:read'] },
      approver: { scopes: ['approvals:decide', 'governance:read'] },
    },
  });
  plane.write('p/rm.policy', 'deny "no-rm"\nwhen "rm -rf" in default(arguments.command, "")');
  plane.write('p/push.policy', 'escalate "ask-push"\nwhen "git push" in default(arguments.command, "")');
  plane.write('p/curl.policy', 'warn "careful"\nwhen "curl" in default(arguments.command, "")');
  await plane.json('policy create p --publish');
  config = connection('agents.json', {
    baseUrl: plane.baseUrl,
    keyFile: key('agent.key', plane.keys['agent']),
  });
});
afterAll(() => plane.end());

function key(name: string, text = ''): string {
  const path = join(plane.folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
function connection(name: string, members: object): string {
  plane.write(name, members);
  return join(plane.folder, name);
}

let calls = 0;
const event = (command: string, more: object = {}): string =>
  JSON.stringify({
    session_id: 'session-1',
    hook_event_name: 'PreToolUse',
    cwd: '/work',
    tool_name: 'Bash',
    tool_input: { command },
    tool_use_id: `toolu_${(calls += 1)}`,
    ...more,
  });
const hook = (input: string | Uint8Array, words: readonly string[] = []): Promise<Result> =>
  gov(['hook', 'claude-code', '--config', config, ...words], { input });
const contextIn = async (runId: string) =>
  (await plane.call('GET', `/governance/policy/evaluations?runId=${runId}`)).body.data[0].checkpoint.context;
const last = async (runId = 'session-1') => (await plane.json(`events list --run ${runId}`)).events.at(-1);

/** A server in place of the plane. */
async function answering(listener: Parameters<typeof createServer>[1]): Promise<Server & { config: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const path = connection(`server-${port}.json`, {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    keyFile: key('server.key', 'gov_x'),
  });
  return Object.assign(server, { config: path });
}
const hookAt = (path: string, input = event('ls'), more: readonly string[] = []): Promise<Result> =>
  gov(['hook', 'claude-code', '--config', path, ...more], { input });

describe('gov hook', () => {
  it('gov hook sends facts, and policies see the action', async () => {
    await hook(event('rm x', { cwd: plane.folder, session_id: 'session-action' }));
    expect(await contextIn('session-action')).toMatchObject({
      facts: { client: { name: 'claude-code' }, cwd: plane.folder, sandbox: null },
      action: { kind: 'shell', commands: [{ program: 'rm', cwd: plane.folder }] },
    });
    expect((await last('session-action')).metadata.actionHash).toMatch(/^sha256:/);
  });

  it('gov hook decides a write of any size', async () => {
    const content = 'x'.repeat(limits.toolArgumentsBytes * 2);
    const tool_input = { file_path: '/work/x', content };
    const answer = await hook(event('', { tool_name: 'Write', tool_input, session_id: 'session-large' }));
    expect(answer).toMatchObject({ code: 0, stdout: '{}\n' });
    expect((await contextIn('session-large')).arguments.content).toMatchObject({ bytes: content.length });
  });

  it('gov hook sends its requests to the paths of the contract', () => {
    expect(hookPaths).toEqual({
      evaluate: table.evaluateTool.path,
      record: table.createEvent.path,
      wait: table.awaitApproval.path,
    });
  });

  it('gov hook lets an allowed call go on after the call is in the log', async () => {
    expect(await hook(event('ls'))).toMatchObject({ code: 0, stdout: '{}\n', stderr: '' });
    expect(await last()).toMatchObject({
      eventType: 'tool.call',
      metadata: { toolCallId: `toolu_${calls}`, decision: 'allow' },
    });
  });

  it('gov hook below gov run --sandbox leads from that run to the one with its decisions, once for a session', async () => {
    const startedIn = { runId: 'boxed-run', at: '2026-01-05T09:00:00.000Z' };
    const boxed = connection('boxed.json', {
      baseUrl: plane.baseUrl,
      keyFile: key('agent.key', plane.keys['agent']),
      startedIn,
    });
    for (const session of ['boxed-session', 'boxed-session', 'boxed-run'])
      expect(await hookAt(boxed, event('ls', { session_id: session }))).toMatchObject({
        code: 0,
        stdout: '{}\n',
      });
    const { events } = await plane.json('events list --run boxed-run');
    expect(events.filter(({ eventType }: { eventType: string }) => eventType === 'run.linked')).toMatchObject(
      [
        {
          timestamp: startedIn.at,
          metadata: { recordedBy: 'hook', client: 'claude-code', run: 'boxed-session' },
        },
      ],
    );
  });

  it('gov hook refuses a denied call in the form of the client, and records the refusal', async () => {
    const { code, stdout } = await hook(event('rm -rf /'));
    expect(code).toBe(0);
    expect(JSON.parse(stdout).hookSpecificOutput).toMatchObject({ permissionDecision: 'deny' });
    expect(await last()).toMatchObject({ eventType: 'tool.denied', metadata: { status: 'deny' } });
  });

  it('gov hook opens an approval for an escalated call, and names it', async () => {
    const { stdout } = await hook(event('git push'));
    const { metadata } = await last();
    expect(metadata).toMatchObject({ status: 'escalate', approvalId: expect.stringMatching(/^apr_/) });
    expect(stdout).toContain(`gov approvals show ${metadata.approvalId}`);
    expect(await plane.json(`approvals show ${metadata.approvalId}`)).toMatchObject({ status: 'pending' });
  });

  it('gov hook lets an escalated call go on once after a person approved it; the next one asks again', async () => {
    const push = async () => {
      const { code, stdout, stderr } = await hook(
        event('git push origin', { session_id: 'session-approved' }),
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const { eventType, metadata } = await last('session-approved');
      return { stdout, eventType, metadata };
    };
    const first = await push();
    const { approvalId } = first.metadata;
    expect(first.eventType).toBe('tool.denied');
    expect(first.stdout).toContain(`gov approvals show ${approvalId}`);

    const second = await push();
    expect(second.eventType).toBe('tool.denied');
    expect(second.stdout).toContain(`gov approvals show ${approvalId}`);
    expect(second.metadata).toMatchObject({ status: 'escalate', approvalId });

    const env = { GOV_API_KEY: plane.keys['approver']! };
    expect((await plane.gov(`approvals approve ${approvalId}`, { env })).code).toBe(0);
    expect(await push()).toMatchObject({
      stdout: '{}\n',
      eventType: 'tool.call',
      metadata: { decision: 'allow', approvalId },
    });

    const third = await push();
    expect(third.eventType).toBe('tool.denied');
    expect(third.metadata.approvalId).not.toBe(approvalId);
    expect(third.stdout).toContain(`gov approvals show ${third.metadata.approvalId}`);
    expect(await plane.json(`approvals show ${approvalId}`)).toMatchObject({
      status: 'approved',
      used: { evaluationId: expect.stringMatching(/^pev_/) },
    });
    expect(await plane.json(`approvals show ${third.metadata.approvalId}`)).toMatchObject({
      status: 'pending',
    });
  });

  it('gov hook shows a warning and lets the call go on', async () => {
    const { code, stdout } = await hook(event('curl x'));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ systemMessage: expect.stringContaining('gov warns') });
  });

  it('gov hook records the other moments of a session', async () => {
    const base = { session_id: 'session-2', tool_use_id: 't1', tool_name: 'Bash', tool_input: {} };
    const names = [
      'SessionStart',
      'UserPromptSubmit',
      'PostToolUse',
      'PostToolUseFailure',
      'Stop',
      'SessionEnd',
    ];
    for (const hook_event_name of names)
      expect(await hook(JSON.stringify({ ...base, hook_event_name }))).toMatchObject({
        code: 0,
        stdout: '{}\n',
      });
    const { events } = await plane.json('events list --run session-2');
    expect(events.map(({ eventType }: { eventType: string }) => eventType)).toEqual([
      'run.started',
      'prompt.submitted',
      'tool.result',
      'tool.result',
      'agent.step',
      'run.ended',
    ]);
  });

  it.each([
    ['nothing', ''],
    ['a text that is not JSON', '{"a'],
    ['an unknown event', '{"hook_event_name":"Later"}'],
    ['a call without an id', '{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"x"}'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('gov hook blocks after %s, and says what it expected', async (_what, input) => {
    const { code, stdout, stderr } = await hook(input);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^gov: the call did not run: .*expected/);
  });

  it('gov hook reads its limit of bytes, blocks after one byte more, and after 100 MB', async () => {
    const padded = (bytes: number) => Buffer.from(event('ls').padEnd(bytes, ' '));
    expect((await hook(padded(limits.hookInputBytes))).code).toBe(0);
    for (const bytes of [limits.hookInputBytes + 1, 100_000_000]) {
      const { code, stderr } = await hook(padded(bytes));
      expect(code).toBe(2);
      expect(stderr).toContain(`expected at most ${limits.hookInputBytes} bytes`);
    }
  });

  it('gov hook blocks a call whose arguments exceed the limit of the plane, and says which', async () => {
    const { code, stderr } = await hook(event('x'.repeat(limits.toolArgumentsBytes)));
    expect(code).toBe(2);
    expect(stderr).toMatch(/\/arguments: expected at most 32768 canonical bytes/);
  });

  it('gov hook blocks if no plane listens, and says where it looked', async () => {
    const away = connection('away.json', {
      baseUrl: 'http://127.0.0.1:9/api/v1',
      keyFile: key('k', 'gov_x'),
    });
    const { code, stderr } = await hookAt(away);
    expect(code).toBe(2);
    expect(stderr).toMatch(/could not reach http:\/\/127\.0\.0\.1:9.*gov plane serve.*away\.json/);
    const report = await hookAt(away, event('', { hook_event_name: 'Stop' }));
    expect(report).toMatchObject({ code: 1, stderr: expect.stringContaining('Stop was not recorded') });
  });

  it('gov hook blocks within its time limit if the plane does not answer, or standard input does not end', async () => {
    const server = await answering(() => {});
    const startedMs = Date.now();
    const silent = spawn(process.execPath, [runner, 'hook', 'codex', '--config', config]);
    const [slow, open] = await Promise.all([hookAt(server.config), ended(silent)]);
    expect(slow).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no answer of the plane within 5 s'),
    });
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('standard input did not end') });
    expect(Date.now() - startedMs).toBeLessThan(limits.hookClientSeconds * 1000);
    server.closeAllConnections();
    server.close();
  });

  it('gov hook blocks if the plane rejects the key or may not record, and says what to do', async () => {
    const wrong = connection('wrong.json', {
      baseUrl: plane.baseUrl,
      keyFile: key('wrong.key', 'gov_live_x'),
    });
    expect(await hookAt(wrong)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/401.*gov agents install/),
    });
    const reader = connection('reader.json', {
      baseUrl: plane.baseUrl,
      keyFile: key('reader.key', plane.keys['reader']),
    });
    expect(await hookAt(reader)).toMatchObject({ code: 2, stderr: expect.stringContaining('403') });
  });

  it('gov hook blocks if the decision cannot be recorded, as on a full disk', async () => {
    const evaluation = { allowed: true, decision: 'allow', evaluationId: 'pev_01m8e7w8x1f2js0crxsyzkqgsq' };
    const full = { status: 507, code: 'STORAGE_FULL', detail: 'the disk is full', retryable: false };
    const server = await answering((request, response) => {
      const isEvaluation = request.url?.endsWith('/evaluate') === true;
      response.writeHead(isEvaluation ? 200 : 507, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isEvaluation ? evaluation : full));
    });
    const { code, stdout, stderr } = await hookAt(server.config);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/507 STORAGE_FULL: the disk is full.*gov plane doctor/);
    server.closeAllConnections();
    server.close();
  });

  it.each([['{"allowed":"yes"}'], ['{}'], ['null'], ['<html>'], ['']])(
    'gov hook blocks if another server answers %s in place of the plane',
    async (text) => {
      const server = await answering((_request, response) => response.end(text));
      expect(await hookAt(server.config)).toMatchObject({ code: 2, stdout: '' });
      server.closeAllConnections();
      server.close();
    },
  );

  it('gov hook blocks without its file, and with a key that every user can read', async () => {
    expect(await hookAt(join(plane.folder, 'none.json'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('gov agents install'),
    });
    const open = key('open.key', 'gov_x');
    chmodSync(open, 0o644);
    const path = connection('open.json', { baseUrl: plane.baseUrl, keyFile: open });
    expect(await hookAt(path)).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') });
  });

  it('gov hook --fail open stays closed without the file of an administrator', async () => {
    const away = connection('away.json', {
      baseUrl: 'http://127.0.0.1:9/api/v1',
      keyFile: key('k', 'gov_x'),
    });
    expect(await hookAt(away, event('ls'), ['--fail', 'open'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/etc/gov/agents.json'),
    });
  });

  it('gov hook takes nothing from the variables that a project can set', async () => {
    const env = {
      GOV_BASE_URL: 'http://127.0.0.1:9/api/v1',
      GOV_API_KEY: 'x',
      HTTP_PROXY: 'http://127.0.0.1:9',
    };
    const result = await gov(['hook', 'claude-code', '--config', config], { env, input: event('rm -rf /') });
    expect(result.stdout).toContain('"deny"');
  });

  it('gov hook explains words that it does not know, and blocks', async () => {
    expect(await gov(['hook', 'emacs'], { input: event('ls') })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected one of claude-code'),
    });
    expect((await gov(['hook', 'codex', '--fail', 'sometimes'])).code).toBe(2);
    expect((await gov(['hook', '--help'])).stdout).toContain('gov hook');
    const joined = await gov(['hook', 'claude-code', `--config=${config}`], { input: event('rm -rf /') });
    expect(joined.stdout).toContain('"deny"');
  });
});
