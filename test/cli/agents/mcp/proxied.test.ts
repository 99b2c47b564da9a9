/** A hook and a proxy on one MCP call: both decide, one approval, and a name means one server. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../../paths.ts';
import { proxiedServers } from '../../../../src/cli/agents/mcp/proxied.ts';
import { startProxy, textIn } from '../../support/mcp.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { emptyDirectory, gov } from '../../support/tool.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  plane.write('pay.policy', 'escalate "pay" high\nwhen tool.name == "pay"\n');
  plane.write('steal.policy', 'deny "steal" high\nwhen tool.name == "steal"\n');
  for (const name of ['pay', 'steal'])
    expect((await plane.gov(`policy create ${name}.policy --publish`)).code).toBe(0);
});
afterAll(() => plane.end());

let home = '';
const launcher = join(projectRoot, 'bin/gov');
const tool = (words: readonly string[], input?: unknown) =>
  gov(words, {
    env: {
      HOME: home,
      GOV_CONFIG_DIR: join(home, '.config/gov'),
      PATH: '/usr/bin:/bin',
      GOV_BASE_URL: plane.baseUrl,
      GOV_API_KEY: plane.key,
    },
    ...(input === undefined ? {} : { input: JSON.stringify(input) }),
  });
let session = 0;
const call = async (toolName: string, cwd = home, again = false) => {
  if (!again) session += 1;
  const event = {
    session_id: `mcp-${session}`,
    hook_event_name: 'PreToolUse',
    cwd,
    tool_name: toolName,
    tool_input: { amount: 5 },
    tool_use_id: `toolu_mcp_${session}`,
  };
  const { code, stdout, stderr } = await tool(
    ['hook', 'claude-code', '--config', join(home, '.config/gov/agents.json')],
    event,
  );
  const { events } = await plane.json(`events list --run mcp-${session}`).catch(() => ({ events: [] }));
  const types = events.map(({ eventType }: { eventType: string }) => eventType);
  return { code, stderr, denied: stdout.includes('"deny"'), asks: stdout.includes('apr_'), types };
};
const configure = (servers: Record<string, unknown>, path = '.claude.json'): void =>
  writeFileSync(join(home, path), JSON.stringify({ mcpServers: servers }, null, 2));

beforeEach(async () => {
  home = emptyDirectory();
  configure({ bank: { command: 'node', args: ['bank.mjs'] }, other: { command: 'node', args: ['x.mjs'] } });
  expect((await tool(['agents', 'install', 'claude-code', '--scope', 'user'])).code).toBe(0);
});
const wrap = () => tool(['mcp', 'wrap', 'claude', join(home, '.claude.json')]);

describe('a hook before a call of an MCP server', () => {
  it('a hook and the proxy of a server that gov mcp wrap wrapped each decide a call, and ask once', async () => {
    expect((await wrap()).code).toBe(0);
    expect(readFileSync(join(home, '.claude.json'), 'utf8')).toContain(launcher);
    expect(await call('mcp__bank__pay')).toMatchObject({ denied: true, asks: true });
    const runId = `mcp-${session}`;
    const approvals = async () => (await plane.call('GET', `/approvals?runId=${runId}`)).body.data;
    const [{ approvalId }] = await approvals();
    const person = plane.keys['person'] ?? null;
    const body = { outcome: 'approved' };
    await plane.call('POST', `/approvals/${approvalId}/decision`, { body, key: person });
    expect(await call('mcp__bank__pay', home, true)).toMatchObject({ code: 0, denied: false });
    const proxy = startProxy({
      env: { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key, CLAUDE_CODE_SESSION_ID: runId },
      flags: ['--name', 'bank'],
    });
    onTestFinished(() => void proxy.child.kill('SIGKILL'));
    await proxy.ask(0, 'initialize', { protocolVersion: '2025-11-25' });
    await proxy.ask('list', 'tools/list');
    const id = { 'claudecode/toolUseId': `toolu_mcp_${session}` };
    expect(textIn(await proxy.call(1, 'pay', { amount: 5 }, id))).toBe('paid');
    await proxy.end();
    expect(await approvals()).toHaveLength(1);
    const { events } = await plane.json(`events list --run ${runId}`);
    expect(events).toContainEqual(
      expect.objectContaining({
        eventType: 'tool.call',
        metadata: expect.objectContaining({ recordedBy: 'mcp', joined: true, approvalId }),
      }),
    );
  });

  it('with GOV_NODE a wrapped server starts by that Node, without variables', async () => {
    const words = ['mcp', 'wrap', 'claude', join(home, '.claude.json')];
    const env = { HOME: home, GOV_CONFIG_DIR: join(home, '.config/gov'), PATH: '/usr/bin:/bin' };
    await gov(words, { env: { ...env, GOV_NODE: process.execPath } });
    const { command, args } = JSON.parse(readFileSync(join(home, '.claude.json'), 'utf8')).mcpServers.bank;
    expect([command, args.slice(1, 5)]).toEqual([process.execPath, ['mcp', 'proxy', '--name', 'bank']]);
    const started = spawnSync(command, [...args.slice(0, 3), '--help'], { env: {}, encoding: 'utf8' });
    expect([started.status, started.stdout]).toEqual([0, expect.stringContaining('gov mcp proxy')]);
    // a second time there is nothing to do
    expect((await gov(words, { env })).stdout).toContain('wrapped no server');
  });

  it('a hook denies a call of a wrapped server that a policy denies, and records that', async () => {
    await wrap();
    expect(await call('mcp__bank__steal')).toMatchObject({
      denied: true,
      types: ['tool.evaluated', 'tool.denied'],
    });
  });

  it('a proxy that somebody else configured, or one with variables of its own, is not one of gov', () => {
    const words = ['mcp', 'proxy', '--name', 'bank', '--', 'node', 'bank.mjs'];
    const own = process.argv[1];
    onTestFinished(() => void (process.argv[1] = own ?? ''));
    process.argv[1] = join(projectRoot, 'dist/gov.cjs');
    const place = { env: { HOME: home }, etc: '/etc', scope: 'user', folder: home, cwd: home } as const;
    const names = () =>
      proxiedServers('claude-code', { ...place, context: undefined }).map(({ name }) => name);
    for (const entry of [
      { command: '/tmp/gov', args: words },
      { command: launcher, args: ['mcp', 'proxy', '--name', 'shop', '--', 'node', 'bank.mjs'] },
      { command: launcher, args: words, env: { GOV_BASE_URL: 'http://127.0.0.1:9' } },
      { command: launcher, args: ['mcp', 'proxy', '-C', 'evil', '--name', 'bank', '--', 'node'] },
    ]) {
      configure({ bank: entry });
      expect(names(), JSON.stringify(entry)).toEqual([]);
    }
    configure({ bank: { command: launcher, args: words } });
    expect(names()).toEqual(['bank']);
  });

  it('a name that could mean tools of two servers does not run, and one that the configuration explains is decided', async () => {
    configure({ bank: { command: 'a' }, bank__eu: { command: 'b' } });
    const both = await call('mcp__bank__eu__pay');
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('several MCP servers') });
    configure({ bank__eu: { command: 'b' } });
    expect(await call('mcp__bank__eu__pay')).toMatchObject({ asks: true });
    expect((await call('mcp__plugin__x__pay')).code).toBe(2);
  });
});
