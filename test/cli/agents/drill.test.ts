import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { emptyDirectory, gov } from '../support/tool.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
});
afterAll(() => plane.end());

/**
 * What a client does in one turn: asks the model, runs the hook of its settings, runs the call unless it is refused, and
 * tells the model. `real.long.test.ts` runs the real ones.
 */
const client = `#!${process.execPath}
const { execFileSync, spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
if (process.argv[2] === '--version') { console.log('2.1.331'); process.exit(); }
const session = process.argv[process.argv.indexOf('--session-id') + 1];
const ask = async (messages) => {
  const body = JSON.stringify({ tools: [{ name: 'Bash' }], messages });
  const answer = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages?beta=true', { method: 'POST', body });
  return (await answer.text()).split('\\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
};
(async () => {
  const events = await ask([]);
  const { id, name } = events.find(({ type }) => type === 'content_block_start').content_block;
  const input = JSON.parse(events.find(({ type }) => type === 'content_block_delta').delta.partial_json);
  const settings = JSON.parse(readFileSync(process.env.HOME + '/.claude/settings.json', 'utf8'));
  const hook = settings.hooks?.PreToolUse?.[0].hooks[0];
  let refused = false;
  if (hook !== undefined) {
    const event = { session_id: session, hook_event_name: 'PreToolUse', tool_name: name, tool_input: input, tool_use_id: id };
    const { status, stdout } = spawnSync('/bin/sh', ['-c', hook.command], { input: JSON.stringify(event), encoding: 'utf8' });
    refused = status !== 0 || stdout.includes('"deny"');
  }
  if (!refused) execFileSync('/bin/sh', ['-c', input.command]);
  await ask([{ content: [{ type: 'tool_result', tool_use_id: id }] }]);
})();
`;

let home = '';
beforeEach(() => {
  home = emptyDirectory();
  mkdirSync(join(home, 'bin'));
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/settings.json'), '{}');
  program(client);
});
const program = (text: string): void => {
  writeFileSync(join(home, 'bin/claude'), text);
  chmodSync(join(home, 'bin/claude'), 0o755);
};
const agents = (line: string, more: Record<string, string> = {}) =>
  gov(['agents', ...line.split(' ')], {
    env: {
      HOME: home,
      GOV_CONFIG_DIR: join(home, '.config/gov'),
      PATH: `${join(home, 'bin')}:/usr/bin:/bin`,
      GOV_BASE_URL: plane.baseUrl,
      GOV_API_KEY: plane.key,
      ...more,
    },
  });
const drilled = async () => {
  const { code, stdout, stderr } = await agents('drill claude-code -o json');
  if (stdout === '') throw new Error(stderr);
  const [drill] = JSON.parse(stdout).drills;
  const { events } = await plane.json('events list --run agent-drills');
  return { code, ...drill, event: events.at(-1) };
};

/** What Gemini CLI does in one turn. It reads the settings of a project only in a folder that is trusted. */
const geminiClient = `#!${process.execPath}
const { execFileSync, spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
if (process.argv[2] === '--version') { console.log('0.61.0'); process.exit(); }
if (process.env.GEMINI_CLI_TRUST_WORKSPACE !== 'true' || process.env.GOOGLE_GENAI_USE_VERTEXAI) process.exit(55);
if (JSON.parse(readFileSync('.gemini/settings.json', 'utf8')).security.auth.selectedType !== 'gemini-api-key') process.exit(41);
const session = process.argv[process.argv.indexOf('--session-id') + 1];
const ask = async (contents) => {
  const body = JSON.stringify({ contents, tools: [{ functionDeclarations: [{ name: 'run_shell_command' }] }] });
  const url = process.env.GOOGLE_GEMINI_BASE_URL + '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse';
  const answer = await (await fetch(url, { method: 'POST', body })).text();
  return JSON.parse(answer.slice('data: '.length)).candidates[0].content.parts[0];
};
(async () => {
  const { functionCall: { id, name, args } } = await ask([]);
  const { hooks } = JSON.parse(readFileSync(process.env.HOME + '/.gemini/settings.json', 'utf8'));
  const event = { session_id: session, hook_event_name: 'BeforeTool', tool_name: name, tool_input: args };
  const { stdout } = spawnSync('/bin/sh', ['-c', hooks.BeforeTool[0].hooks[0].command], { input: JSON.stringify(event), encoding: 'utf8' });
  if (!stdout.includes('"deny"')) execFileSync('/bin/sh', ['-c', args.command]);
  await ask([{ parts: [{ functionResponse: { id, name } }] }]);
})();
`;

describe('gov agents drill', () => {
  it('gov agents drill gemini finds the refusal of a call to which the client gave no id', async () => {
    writeFileSync(join(home, 'bin/gemini'), geminiClient);
    chmodSync(join(home, 'bin/gemini'), 0o755);
    await agents('install gemini --scope user');
    const { code, stdout } = await agents('drill gemini -o json', { GOOGLE_GENAI_USE_VERTEXAI: 'true' });
    expect(JSON.parse(stdout).drills).toMatchObject([{ passed: true, recorded: true, version: '0.61.0' }]);
    expect(code).toBe(0);
  });

  it('gov agents drill passes after an installation, and its result is in the log with the refusal as its cause', async () => {
    await agents('install claude-code --scope user');
    const { event, runId, ...result } = await drilled();
    expect(result).toMatchObject({
      code: 0,
      passed: true,
      stopped: true,
      recorded: true,
      version: '2.1.331',
    });
    expect(event).toMatchObject({ eventType: 'drill.passed', resource: { name: 'claude-code' } });
    const { events } = await plane.json(`events list --run ${runId}`);
    const refusal = events.find(({ eventType }: { eventType: string }) => eventType === 'tool.denied');
    expect(event.causedBy).toEqual([refusal.eventId]);
  });

  it('gov agents drill fails if no hook stops the call, and records that', async () => {
    const { event, ...result } = await drilled();
    expect(result).toMatchObject({ code: 3, passed: false, stopped: false, recorded: false });
    expect(result.reason).toContain('the forbidden call ran');
    expect(event).toMatchObject({ eventType: 'drill.failed', metadata: { stopped: false } });
  });

  it('gov agents drill fails if the plane of the hooks is away or the hook is missing, although the call is stopped', async () => {
    await agents('install claude-code --scope user');
    const connection = join(home, '.config/gov/agents.json');
    const text = readFileSync(connection, 'utf8');
    writeFileSync(connection, text.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:9'));
    expect(await drilled()).toMatchObject({ code: 3, passed: false, stopped: true, recorded: false });
    writeFileSync(connection, text);
    const settings = join(home, '.claude/settings.json');
    writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll('gov.cjs', 'gone.cjs'));
    expect(await drilled()).toMatchObject({ code: 3, stopped: true, recorded: false });
  });

  it('gov agents drill fails if the client asks no model, and shows what it said', async () => {
    program('#!/bin/sh\necho "not signed in" >&2\n');
    expect(await drilled()).toMatchObject({
      code: 3,
      passed: false,
      reason: expect.stringContaining('not signed in'),
    });
  });

  it('gov agents drill reports an unknown client, one that it cannot start, and a plane that is away', async () => {
    expect((await agents('drill emacs')).code).toBe(2);
    expect(await agents('drill cursor')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cursor'),
    });
    expect((await agents('drill codex')).code).toBe(5);
    const away = { GOV_BASE_URL: 'http://127.0.0.1:9/api/v1', GOV_RETRIES: '0' };
    expect((await agents('drill', away)).code).toBe(10);
  });
});
