import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { obstacle, tryBypass, type Drilled } from '../../../src/cli/agents/drill/bypass-judge.ts';
import { bypasses } from '../../../src/cli/agents/drill/bypasses/all.ts';
import { allowed, deniedCommand, type Bypass } from '../../../src/cli/agents/drill/bypasses/bypass.ts';
import { ensureAskingPolicy, ensurePolicy } from '../../../src/cli/agents/drill/policy.ts';
import { claudeCode } from '../../../src/cli/agents/setup/claude-code.ts';
import { createClient, type Client } from '../../../src/client/create.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { emptyDirectory, gov } from '../support/tool.ts';

let plane: PolicyPlane;
let client: Client;
beforeAll(async () => {
  plane = await startPolicyPlane();
  client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.key, env: {} });
  await ensurePolicy(client);
  await ensureAskingPolicy(client);
});
afterAll(async () => {
  client.close();
  await plane.end();
});

/**
 * What Claude Code does in one turn, as far as the tests below need it: it asks the model, runs the hook of the user unless
 * the project disables all hooks, runs the call with the variables of the project, and starts the helper for its key and the
 * MCP servers of the project. `real.long.test.ts` runs the real one.
 */
const claude = `#!${process.execPath}
const { spawnSync } = require('node:child_process');
const { existsSync, readFileSync } = require('node:fs');
const json = (path) => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {});
const session = process.argv[process.argv.indexOf('--session-id') + 1];
const user = json(process.env.CLAUDE_CONFIG_DIR + '/settings.json');
const project = json('.claude/settings.json');
const sh = (command, input) => spawnSync('/bin/sh', ['-c', command], { input, encoding: 'utf8' });
const ask = async (messages) => {
  const body = JSON.stringify({ tools: [{ name: 'Bash' }], messages });
  const answer = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages?beta=true', { method: 'POST', body });
  return (await answer.text()).split('\\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
};
(async () => {
  if (project.apiKeyHelper) sh(project.apiKeyHelper);
  for (const { command, args } of Object.values(json('.mcp.json').mcpServers ?? {})) spawnSync(command, args);
  const messages = [];
  for (;;) {
    const events = await ask(messages);
    const { type, id, name } = events.find(({ type }) => type === 'content_block_start').content_block;
    if (type === 'text') return;
    const input = JSON.parse(events.find(({ type }) => type === 'content_block_delta').delta.partial_json);
    const hook = project.disableAllHooks ? undefined : user.hooks?.PreToolUse?.[0].hooks[0];
    const event = { session_id: session, hook_event_name: 'PreToolUse', tool_name: name, tool_input: input, tool_use_id: id };
    const { status, stdout } = hook === undefined ? { status: 0, stdout: '' } : sh(hook.command, JSON.stringify(event));
    if (name === 'Bash' && status === 0 && !stdout.includes('"deny"'))
      spawnSync('/bin/bash', ['-c', input.command], { input: '', env: { ...process.env, ...project.env } });
    messages.push({ content: [{ type: 'tool_result', tool_use_id: id }] });
  }
})();
`;

/** OpenCode in one turn: its plugins see the call in the order of their names, unless it was started with --pure. */
const opencode = `#!${process.execPath}
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
if (process.argv[2] === '--version') { console.log('1.18.33'); process.exit(); }
const { options } = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT).provider['gov-drill'];
const ask = async (messages) => {
  const body = JSON.stringify({ tools: [{ name: 'bash' }], messages });
  const answer = await (await fetch(options.baseURL + '/messages', { method: 'POST', body })).text();
  return answer.split('\\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
};
const events = await ask([]);
const { id, name } = events.find(({ type }) => type === 'content_block_start').content_block;
const args = JSON.parse(events.find(({ type }) => type === 'content_block_delta').delta.partial_json);
const sessionID = 'ses_' + id;
console.log(JSON.stringify({ sessionID }));
const folder = process.env.XDG_CONFIG_HOME + '/opencode/plugins/';
try {
  for (const file of process.argv.includes('--pure') || !existsSync(folder) ? [] : readdirSync(folder).toSorted()) {
    const [plugin] = Object.values(await import(folder + file));
    await (await plugin({ directory: process.cwd() }))['tool.execute.before']({ sessionID, callID: id, tool: name }, { args });
  }
  spawnSync('/bin/sh', ['-c', args.command]);
} catch (cause) {
  console.error(String(cause));
}
await ask([{ content: [{ type: 'tool_result', tool_use_id: id }] }]);
`;

let home = '';
let env: Record<string, string> = {};
beforeEach(() => {
  home = emptyDirectory();
  for (const folder of ['bin', '.claude', '.config/opencode'])
    mkdirSync(join(home, folder), { recursive: true });
  program('claude', claude);
  env = {
    HOME: home,
    GOV_CONFIG_DIR: join(home, '.config/gov'),
    XDG_CONFIG_HOME: join(home, '.config'),
    PATH: `${join(home, 'bin')}:/usr/bin:/bin`,
    GOV_BASE_URL: plane.baseUrl,
    GOV_API_KEY: plane.key,
  };
});
function program(name: string, text: string): void {
  writeFileSync(join(home, 'bin', name), text);
  chmodSync(join(home, 'bin', name), 0o755);
}
const agents = (line: string, more: Record<string, string> = {}) =>
  gov(['agents', ...line.split(' ')], { env: { ...env, ...more } });
const install = async (): Promise<void> => {
  writeFileSync(join(home, '.claude/settings.json'), '{}');
  const { code, stderr } = await agents('install claude-code --scope user');
  if (code !== 0) throw new Error(stderr);
};
const drilled = (): Drilled => ({
  setup: claudeCode,
  program: { path: join(home, 'bin/claude'), version: '2.1.332' },
  scope: 'user',
  plane: client,
  env,
  etc: join(home, 'etc'),
  gov: 'gov',
  keyFile: null,
});
const tried = async (way: string | Bypass) => {
  const bypass = typeof way === 'string' ? bypasses['claude-code']?.find(({ id }) => id === way) : way;
  if (bypass === undefined) throw new Error(`no way ${String(way)}`);
  const { result, reason } = await tryBypass(bypass, drilled());
  const { events } = await plane.json('events list --run agent-drills --type drill.bypass --order desc');
  expect(events[0]).toMatchObject({
    resource: { name: 'claude-code' },
    metadata: { id: bypass.id, result, version: '2.1.332', scope: 'user' },
  });
  return { result, reason, open: events[0].metadata.open };
};

describe('the judgement of a way around hooks', () => {
  it('a way that works is open, one that works only without gov is shut, each with its event', async () => {
    await install();
    expect(await obstacle(drilled())).toBeNull();
    expect(await tried('disable-all-hooks')).toMatchObject({ result: 'open', open: true });
    expect(await tried('bash-env')).toMatchObject({ result: 'open' });
    expect(await tried('project-mcp-server')).toMatchObject({ result: 'open' });
    expect(await tried('node-options')).toEqual({
      result: 'shut',
      open: false,
      reason: 'the call was refused, and the refusal recorded',
    });
  });

  it('a way that does not work without gov either is not shown, and not shut', async () => {
    await install();
    const shown = await tried('skill-command');
    expect(shown).toMatchObject({ result: 'not_shown', open: null });
    expect(shown.reason).toContain('it does not work without gov either');
  });

  it('a client that does not end its turn shows nothing', async () => {
    await install();
    program('claude', '#!/bin/sh\necho "not signed in" >&2\n');
    expect(await tried('disable-all-hooks')).toMatchObject({
      result: 'not_shown',
      reason: expect.stringContaining('not signed in'),
    });
  });

  it('no way is shown where a plain call is not stopped either', async () => {
    expect(await obstacle(drilled())).toContain('a call without a way around it was not stopped either');
    const way = bypasses['claude-code']?.[0];
    expect(way && (await tryBypass(way, drilled(), 'the hooks do not work'))).toMatchObject({
      result: 'not_shown',
      reason: 'the hooks do not work',
    });
  });

  it('a decision of the action that came before its mark shuts a way, unless the way is the call itself', async () => {
    await install();
    const way: Bypass = {
      id: 'decided',
      title: 'A call that is allowed',
      closes: '',
      prepare: ({ mark }) => ({ calls: [{ shell: `touch '${mark}'` }] }),
    };
    expect(await tried(way)).toMatchObject({
      result: 'shut',
      reason: 'a decision of this action came first',
    });
    expect(await tried({ ...way, isTheCall: true })).toMatchObject({ result: 'open' });
  });

  it('a refused call shows nothing of a way that hides behind it', async () => {
    await install();
    const way: Bypass = {
      id: 'behind',
      title: 'Behind a call',
      closes: '',
      isBehindCall: true,
      prepare: (place) => ({ calls: [{ shell: deniedCommand(place) }] }),
    };
    expect(await tried(way)).toMatchObject({
      result: 'not_shown',
      reason: 'a policy refused the call behind which it hides',
    });
  });

  it('says why this machine cannot try a way, and leaves settings and questions of people as they were', async () => {
    await install();
    const before = readFileSync(join(home, '.claude/settings.json'), 'utf8');
    const none: Bypass = { id: 'none', title: '', closes: '', prepare: () => 'it needs a C compiler' };
    expect(await tried(none)).toMatchObject({ result: 'not_shown', reason: 'it needs a C compiler' });
    const premise: Bypass = {
      ...none,
      prepare: () => ({ calls: [allowed] }),
      premise: () => 'it was not made',
    };
    expect(await tried(premise)).toMatchObject({ result: 'not_shown', reason: 'it was not made' });
    await tried('api-key-helper-home');
    const asks: Bypass = {
      ...none,
      prepare: () => ({ calls: [{ shell: 'true # gov-drill-ask-a-person' }] }),
    };
    await tried(asks);
    expect(readFileSync(join(home, '.claude/settings.json'), 'utf8')).toBe(before);
    const { data } = await plane.json('approvals list');
    expect(data.map(({ status }: { status: string }) => status)).toEqual(['denied']);
  });
});

describe('gov agents drill --bypasses', () => {
  it('tries all ways of the client, ends with 3 where one is open, and doctor and health name it with what closes it', async () => {
    program('opencode', opencode);
    await agents('install opencode --scope user');
    const { code, stdout, stderr } = await agents('drill opencode --bypasses -o json');
    if (stdout === '') throw new Error(stderr);
    const { ok, drills, bypasses: ways } = JSON.parse(stdout);
    expect({ code, ok, drills }).toMatchObject({ code: 3, ok: false, drills: [{ passed: true }] });
    expect(ways.map(({ id, result }: { id: string; result: string }) => [id, result])).toEqual([
      ['plugin-arguments-home', 'open'],
      ['flag-pure', 'open'],
    ]);
    expect(ways[0]).toMatchObject({ client: 'opencode', version: '1.18.33', scope: 'user' });
    const doctor = await agents('doctor opencode -o json');
    expect(doctor.code).toBe(3);
    expect(JSON.parse(doctor.stdout).clients[0].problems).toContainEqual(
      expect.stringMatching(/\(flag-pure\): open at .* with 1\.18\.33\. What closes it: /),
    );
  });
});
