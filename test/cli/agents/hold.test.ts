/** `gov hook --hold` waits for the person, and the call runs in the same attempt. */
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { gov, type Result } from '../support/tool.ts';

let plane: PolicyPlane;
let config: string;
beforeAll(async () => {
  plane = await startPolicyPlane({
    holdSeconds: 30,
    extraKeys: {
      agent: { scopes: ['tools:evaluate', 'events:write'] },
      approver: { scopes: ['approvals:decide', 'governance:read'] },
    },
  });
  plane.write('p/push.policy', 'escalate "ask-push"\nwhen "git push" in default(arguments.command, "")');
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

describe('gov hook --hold', () => {
  const push = (session: string) => event('git push', { session_id: session });
  const opened = async (runId: string): Promise<string> => {
    const list = async () => (await plane.call('GET', `/approvals?runId=${runId}`)).body.data;
    await expect.poll(list).toHaveLength(1);
    return (await list())[0].approvalId;
  };
  const decide = (approvalId: string, outcome: string) =>
    plane.call('POST', `/approvals/${approvalId}/decision`, {
      body: { outcome },
      key: plane.keys['approver'] ?? null,
    });

  it('lets a call go on in the same attempt after a person approved it', async () => {
    const held = hook(push('session-held'), ['--hold', '30']);
    const approvalId = await opened('session-held');
    expect((await decide(approvalId, 'approved')).status).toBe(200);
    expect(await held).toMatchObject({ code: 0, stdout: '{}\n', stderr: '' });
    expect(await last('session-held')).toMatchObject({
      eventType: 'tool.call',
      metadata: { decision: 'allow', approvalId },
    });
    expect((await plane.call('GET', `/approvals/${approvalId}`)).body.used).not.toBeNull();
  });

  it('refuses the call after a person denied it', async () => {
    const held = hook(push('session-denied'), ['--hold', '30']);
    await decide(await opened('session-denied'), 'denied');
    const { stdout } = await held;
    expect(JSON.parse(stdout).hookSpecificOutput).toMatchObject({
      permissionDecision: 'deny',
      permissionDecisionReason: expect.stringContaining('denied by'),
    });
    expect(await last('session-denied')).toMatchObject({
      eventType: 'tool.denied',
      metadata: { status: 'deny' },
    });
  });

  it('refuses the call at the end of the time, and says that the call can be repeated', async () => {
    const { stdout } = await hook(push('session-late'), ['--hold', '1']);
    expect(stdout).toContain('After the approval, make the same call again');
    expect(await last('session-late')).toMatchObject({
      eventType: 'tool.denied',
      metadata: { status: 'escalate' },
    });
  });

  it('does not wait for Cursor, which ends slow hooks', async () => {
    const input = push('session-cursor').replace('PreToolUse', 'preToolUse').replace('Bash', 'Shell');
    const { stdout } = await gov(['hook', 'cursor', '--config', config, '--hold', '600'], { input });
    expect(JSON.parse(stdout)).toMatchObject({ permission: 'deny' });
  });

  it(`takes at most ${limits.holdMostSeconds} seconds`, async () => {
    const answer = await hook(push('session-long'), [`--hold=${limits.holdMostSeconds + 1}`]);
    expect(answer.code).toBe(2);
    expect(answer.stderr).toContain('--hold');
  });

  it('refuses the call if the plane is gone while it waits', async () => {
    let asked = 0;
    const server = await answering((request, response) => {
      asked += 1;
      if (request.method === 'GET') return void response.socket?.destroy();
      request.resume();
      const decision = {
        allowed: false,
        decision: 'escalate',
        reason: 'x',
        evaluationId: 'pev_1',
        approvalId: 'apr_1',
        obligations: [{ type: 'wait_for_approval', params: { holdSeconds: 30 } }],
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(decision));
    });
    const { stdout } = await hookAt(server.config, push('session-gone'), ['--hold', '30']);
    expect(JSON.parse(stdout).hookSpecificOutput).toMatchObject({ permissionDecision: 'deny' });
    expect(asked).toBeGreaterThan(2);
    server.close();
  });
});
