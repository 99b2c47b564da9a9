/**
 * The real Gemini CLI against a real plane: what the plane allows runs and is recorded, and nothing else runs. The client is
 * large, and no dependency of the project, so these tests are skipped where it is not on PATH. By hand:
 *
 *   npm install --ignore-scripts --prefix /tmp/gemini @google/gemini-cli@0.61.0
 *   PATH=/tmp/gemini/node_modules/.bin:$PATH GOV_TEST_LONG=1 scripts/with-node vitest run test/real/gemini.long.test.ts
 *
 * `test/cli/agents/real.long.test.ts` runs its drill.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/client/index.ts';
import { emptyDirectory, ended, gov, type Serving } from '../cli/support/tool.ts';
import { geminiModel, type ModelCall } from './support/gemini-model.ts';
import { servePlane } from './support/plane.ts';

const path = process.env['PATH'] ?? '';
const isHere = path.split(delimiter).some((folder) => existsSync(join(folder, 'gemini')));

const home = emptyDirectory();
const project = join(home, 'project');
const settings = join(home, '.gemini/settings.json');
const ran = join(home, 'ran');
const env = {
  HOME: home,
  PATH: path,
  GOV_CONFIG_DIR: join(home, 'config'),
  XDG_STATE_HOME: join(home, 'state'),
};

const policies = `deny "no-forbidden" high
when
  "forbidden" in default(arguments.command, "")
`;
const escalation = `escalate "ask-first" high
when
  "ask" in default(arguments.command, "")
`;
const payments = `deny "no-large-payment" high
when
  tool.server == "shop" && tool.name == "pay" && default(arguments.amount, 0) > 100
`;
/** A server of one tool, which notes each call in a file; the description is that of the tool. */
const server = (description: string): string => `
const { appendFileSync } = require('node:fs');
const tools = [{ name: 'pay', description: ${JSON.stringify(description)}, inputSchema: { type: 'object', properties: { amount: { type: 'number' } } } }];
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const say = (more) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...more }) + '\\n');
  if (method === 'initialize') say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } } });
  else if (method === 'tools/list') say({ result: { tools } });
  else if (method === 'tools/call') { appendFileSync(${JSON.stringify(ran)}, 'paid ' + params.arguments.amount); say({ result: { content: [{ type: 'text', text: 'paid' }] } }); }
  else say({ error: { code: -32601, message: 'unknown' } });
});
`;

const run = async (...words: string[]) => {
  const { code, stdout, stderr } = await gov(words, { env, cwd: home });
  if (code !== 0) throw new Error(`gov ${words.join(' ')}: ${code}: ${stderr}`);
  return stdout;
};

let plane: Serving;
const serve = async (): Promise<void> => {
  plane = await servePlane(join(home, 'plane'), { env, cwd: home });
};

const shell = (command: string): ModelCall => ({ name: 'run_shell_command', args: { command } });
/** Leaves a trace. */
const note = (text: string): ModelCall => shell(`echo ${text} >> '${ran}'`);
const pay = (amount: number): ModelCall => ({ name: 'mcp_shop_pay', args: { amount } });

/** One session of the client in a trusted folder, without a terminal. */
async function session(
  calls: readonly ModelCall[],
  before?: (index: number) => Promise<void>,
  more: Readonly<Record<string, string>> = {},
) {
  const model = await geminiModel(calls, before === undefined ? {} : { before });
  const words = ['-p', 'go', '--approval-mode', 'yolo', '-m', 'gemini-2.5-flash', '-o', 'json'];
  const { code, stdout } = await ended(
    spawn('gemini', words, {
      cwd: project,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...env,
        GOOGLE_GEMINI_BASE_URL: model.origin,
        GEMINI_API_KEY: 'test',
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
        ...more,
      },
    }),
  );
  model.close();
  const runId = String(/"session_id": "([^"]+)"/.exec(stdout)?.[1]);
  return { code, runId, results: [...model.results] };
}

/** Types of the events about calls, with what was decided. */
async function callsOf(runId: string): Promise<string[]> {
  const text = await run('events', 'list', '--run', runId, '-o', 'json');
  const { events } = JSON.parse(text) as { events: AuditEvent[] };
  return events
    .filter(({ eventType }) => ['tool.call', 'tool.denied', 'tool.result'].includes(eventType))
    .map(({ eventType, metadata }) =>
      [eventType, metadata['decision'] ?? metadata['status'] ?? metadata['outcome']].join(' '),
    );
}
const traces = (): string => (existsSync(ran) ? readFileSync(ran, 'utf8').trim().replaceAll('\n', ' ') : '');

describe.skipIf(!isHere)(
  'the real Gemini CLI (skipped where it is not on PATH)',
  () => {
    beforeAll(async () => {
      mkdirSync(project);
      mkdirSync(join(home, '.gemini'));
      await run(
        'plane',
        'init',
        '--data',
        join(home, 'plane'),
        '--listen',
        '127.0.0.1:0',
        '--metrics-listen',
        'off',
      );
      await serve();
      for (const [name, text] of Object.entries({ policies, escalation, payments }))
        writeFileSync(join(home, `${name}.policy`), text);
      await run(
        'policy',
        'create',
        ...['policies', 'escalation', 'payments'].map((name) => join(home, `${name}.policy`)),
        '--publish',
      );
    }, 60_000);
    afterAll(() => plane.stop());
    beforeEach(async () => {
      rmSync(ran, { force: true });
      rmSync(join(home, 'config/agents-installed.json'), { force: true });
      writeFileSync(settings, '{ "security": {"auth": {"selectedType": "gemini-api-key"}} }\n');
      await run('agents', 'install', 'gemini', '--scope', 'user');
    });

    it('an allowed call runs, a denied one does not, and the log has both in the run of the session', async () => {
      const { runId, results } = await session([note('allowed'), note('forbidden')]);
      expect(traces()).toBe('allowed');
      expect(await callsOf(runId)).toEqual(['tool.call allow', 'tool.result ok', 'tool.denied deny']);
      expect(results[1]).toContain('gov denied this call');
      const { counts } = JSON.parse(await run('runs', 'coverage', runId, '-o', 'json'));
      expect(counts).toMatchObject({ ungoverned: 0, denied_but_ran: 0 });
    });

    it.each([
      ['approve', 'ask', ['tool.denied escalate', 'tool.call allow', 'tool.result ok']],
      ['deny', '', ['tool.denied escalate', 'tool.denied deny']],
    ])('the same call again after a person says %s', async (verb, trace, events) => {
      const decide = async (index: number): Promise<void> => {
        if (index !== 1) return;
        const pending = await run('approvals', 'list', '--status', 'pending', '-o', 'id');
        await run('approvals', verb, pending.trim(), '--yes');
      };
      const { runId } = await session([note('ask'), note('ask')], decide);
      expect(traces()).toBe(trace);
      expect(await callsOf(runId)).toEqual(events);
    });

    it('a plane that is killed in the middle of a run stops the calls after it', async () => {
      const { runId, results } = await session([note('first'), note('second')], async (index) => {
        if (index === 1) plane.child.kill('SIGKILL');
      });
      await serve();
      expect(traces()).toBe('first');
      expect(results[1]).toContain('the call did not run');
      expect(await callsOf(runId)).toEqual(['tool.call allow', 'tool.result ok']);
    });

    it.each([
      ['Node.js', process.execPath],
      ['program', 'dist/gov.cjs'],
      ['connection file', 'agents.json'],
    ])('a hook without its %s stops the call', async (_name, part) => {
      const text = readFileSync(settings, 'utf8');
      writeFileSync(settings, text.replaceAll(part, `${part}-gone`));
      if (!text.includes(part)) return;
      const { results } = await session([note('missing')]);
      expect(traces()).toBe('');
      expect(results[0]).toContain('the call did not run');
    });

    it('a hook whose report is missing does not start the turn again', async () => {
      const { hooks, ...others } = JSON.parse(readFileSync(settings, 'utf8'));
      hooks.AfterAgent[0].hooks[0].command = hooks.AfterAgent[0].hooks[0].command.replace(
        'gov.cjs',
        'gone.cjs',
      );
      writeFileSync(settings, JSON.stringify({ hooks, ...others }));
      const { code } = await session([note('once')]);
      expect([code, traces()]).toEqual([0, 'once']);
    });

    it('its telemetry and its hooks report one call in the run of the session, and telemetry shows a missing hook', async () => {
      const file = join(home, 'shop.cjs');
      writeFileSync(file, server('Pay'));
      const text = JSON.parse(readFileSync(settings, 'utf8'));
      text.mcpServers = { shop: { command: process.execPath, args: [file] } };
      const otlpEndpoint = new URL(plane.baseUrl).origin;
      text.telemetry = { enabled: true, target: 'local', otlpProtocol: 'http', otlpEndpoint };
      writeFileSync(settings, JSON.stringify(text));
      const key = readFileSync(join(home, 'plane/agent.key'), 'utf8').trim();
      const sent = { OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}` };
      const coverageOf = async ({ runId }: { runId: string }) =>
        JSON.parse((await gov(['runs', 'coverage', runId, '-o', 'json'], { env, cwd: home })).stdout);
      const calls = [note('allowed'), note('forbidden'), pay(12), pay(500)];
      expect(await coverageOf(await session(calls, undefined, sent))).toMatchObject({
        covered: true,
        confirmed: 4,
        counts: { governed: 4, ungoverned: 0, gap: 0, denied_but_ran: 0 },
      });
      await run('agents', 'uninstall', 'gemini', '--scope', 'user');
      expect(await coverageOf(await session([note('forbidden')], undefined, sent))).toMatchObject({
        covered: false,
        counts: { governed: 0, ungoverned: 1 },
      });
    });

    it('without hooks the call runs, and uninstall gives the same bytes back', async () => {
      await run('agents', 'uninstall', 'gemini', '--scope', 'user');
      expect(readFileSync(settings, 'utf8')).toBe(
        '{ "security": {"auth": {"selectedType": "gemini-api-key"}} }\n',
      );
      const { runId } = await session([note('forbidden')]);
      expect(traces()).toBe('forbidden');
      expect(await callsOf(runId)).toEqual([]);
    });

    it('an MCP tool is decided by server and name, and does not run with a changed definition', async () => {
      const file = join(home, 'shop.cjs');
      writeFileSync(file, server('Pay'));
      const text = JSON.parse(readFileSync(settings, 'utf8'));
      text.mcpServers = { shop: { command: process.execPath, args: [file] } };
      writeFileSync(settings, JSON.stringify(text));
      await run('mcp', 'wrap', 'gemini', settings);
      const { runId } = await session([pay(12), pay(500)]);
      expect(traces()).toBe('paid 12');
      expect(await callsOf(runId)).toEqual(['tool.call allow', 'tool.result ok', 'tool.denied deny']);
      writeFileSync(file, server('Pay anything'));
      const changed = await session([pay(13)]);
      expect(traces()).toBe('paid 12');
      expect(await callsOf(changed.runId)).toEqual(['tool.call allow', 'tool.result error']);
    });
  },
  120_000,
);
