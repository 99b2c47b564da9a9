/** A hook and a proxy on one MCP call: one approval, and nobody but the operator can hand a call to the proxy. */
import { spawnSync } from 'node:child_process';
import { readFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../../paths.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { emptyDirectory, gov } from '../../support/tool.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
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
const call = async (toolName: string, cwd = home) => {
  session += 1;
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
const edit = (path: string, change: (text: string) => string): void =>
  writeFileSync(join(home, path), change(readFileSync(join(home, path), 'utf8')));

beforeEach(async () => {
  home = emptyDirectory();
  configure({ bank: { command: 'node', args: ['bank.mjs'] }, other: { command: 'node', args: ['x.mjs'] } });
  expect((await tool(['agents', 'install', 'claude-code', '--scope', 'user'])).code).toBe(0);
});
const wrap = () => tool(['mcp', 'wrap', 'claude', join(home, '.claude.json')]);

describe('a hook before a call of an MCP server', () => {
  it('a hook asks for an approval of a call that no proxy decides, and leaves it to the proxy after gov mcp wrap', async () => {
    expect(await call('mcp__bank__pay')).toMatchObject({ denied: true, asks: true });
    expect((await wrap()).code).toBe(0);
    expect(readFileSync(join(home, '.claude.json'), 'utf8')).toContain(launcher);
    expect(await call('mcp__bank__pay')).toMatchObject({ code: 0, denied: false, asks: false, types: [] });
  });

  it('with GOV_NODE a wrapped server starts by that Node, without variables, and is pinned all the same', async () => {
    const words = ['mcp', 'wrap', 'claude', join(home, '.claude.json')];
    const env = { HOME: home, GOV_CONFIG_DIR: join(home, '.config/gov'), PATH: '/usr/bin:/bin' };
    await gov(words, { env: { ...env, GOV_NODE: process.execPath } });
    const { command, args } = JSON.parse(readFileSync(join(home, '.claude.json'), 'utf8')).mcpServers.bank;
    expect([command, args.slice(1, 5)]).toEqual([process.execPath, ['mcp', 'proxy', '--name', 'bank']]);
    const started = spawnSync(command, [...args.slice(0, 3), '--help'], { env: {}, encoding: 'utf8' });
    expect([started.status, started.stdout]).toEqual([0, expect.stringContaining('gov mcp proxy')]);
    expect(await call('mcp__bank__pay')).toMatchObject({ code: 0, denied: false, asks: false });
    // a second time there is nothing to do
    expect((await gov(words, { env })).stdout).toContain('wrapped no server');
  });

  it('a hook still denies a call of a proxied server that a policy denies, and records that', async () => {
    await wrap();
    expect(await call('mcp__bank__steal')).toMatchObject({
      denied: true,
      types: ['tool.evaluated', 'tool.denied'],
    });
  });

  it('a hook decides the call again once the entry of the server is changed, unreadable or undone', async () => {
    await wrap();
    edit('.claude.json', (text) => text.replace('"bank.mjs"', '"evil.mjs"'));
    expect(await call('mcp__bank__pay')).toMatchObject({ asks: true });
    edit('.claude.json', (text) => text.replace('"evil.mjs"', '"bank.mjs"'));
    expect(await call('mcp__bank__pay')).toMatchObject({ asks: false });
    edit('.claude.json', (text) => `${text}}`);
    expect(await call('mcp__bank__pay')).toMatchObject({ asks: true });
    edit('.claude.json', (text) => text.slice(0, -1));
    await tool(['mcp', 'wrap', 'claude', join(home, '.claude.json'), '--undo']);
    expect(await call('mcp__bank__pay')).toMatchObject({ asks: true });
  });

  it('a project that configures a server of the same name gets no call past the hook', async () => {
    await wrap();
    mkdirSync(join(home, 'repo/deep'), { recursive: true });
    configure({ bank: { command: 'node', args: ['own.mjs'] } }, 'repo/.mcp.json');
    expect(await call('mcp__bank__pay', join(home, 'repo/deep'))).toMatchObject({ asks: true });
    expect(await call('mcp__bank__pay')).toMatchObject({ asks: false });
  });

  it('a hook decides the call again where settings give the proxy another plane or other code', async () => {
    await wrap();
    mkdirSync(join(home, 'repo/.claude'), { recursive: true });
    const set = (name: string, path: string): void =>
      writeFileSync(join(home, path), JSON.stringify({ env: { [name]: 'http://127.0.0.1:9' } }));
    for (const name of ['GOV_BASE_URL', 'NODE_OPTIONS', 'HOME']) {
      set(name, 'repo/.claude/settings.json');
      expect(await call('mcp__bank__pay', join(home, 'repo')), name).toMatchObject({ asks: true });
    }
    set('EDITOR', 'repo/.claude/settings.json');
    expect(await call('mcp__bank__pay', join(home, 'repo'))).toMatchObject({ asks: false });
    set('GOV_BASE_URL', 'repo/.claude/settings.local.json');
    expect(await call('mcp__bank__pay', join(home, 'repo'))).toMatchObject({ asks: true });
    writeFileSync(join(home, '.claude/settings.local.json'), '{');
    expect(await call('mcp__bank__pay', '/')).toMatchObject({ asks: true });
  });

  it('a proxy that somebody else configured, or one with variables of its own, is not pinned', async () => {
    const words = ['mcp', 'proxy', '--name', 'bank', '--', 'node', 'bank.mjs'];
    const forged = [
      { command: '/tmp/gov', args: words },
      { command: launcher, args: ['mcp', 'proxy', '--name', 'shop', '--', 'node', 'bank.mjs'] },
      { command: launcher, args: words, env: { GOV_BASE_URL: 'http://127.0.0.1:9' } },
      { command: launcher, args: ['mcp', 'proxy', '-C', 'evil', '--name', 'bank', '--', 'node'] },
    ];
    for (const entry of forged) {
      configure({ bank: entry });
      await tool(['agents', 'install', 'claude-code', '--scope', 'user']);
      expect(await call('mcp__bank__pay'), JSON.stringify(entry)).toMatchObject({ asks: true });
    }
    configure({ bank: { command: launcher, args: words } });
    await tool(['agents', 'install', 'claude-code', '--scope', 'user']);
    expect(await call('mcp__bank__pay')).toMatchObject({ asks: false });
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
