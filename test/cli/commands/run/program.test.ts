import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { cleanEnv, ended, runner, type Result } from '../../support/tool.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
});
afterAll(() => plane.end());

const start = (words: readonly string[], env: Record<string, string> = {}) =>
  spawn(process.execPath, [runner, 'run', ...words], {
    env: cleanEnv({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key, ...env }),
    cwd: plane.folder,
  });
const run = (words: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Result> => {
  const child = start(words, env);
  child.stdin.end(input);
  return ended(child);
};
const node = (program: string): string[] => ['--', process.execPath, '-e', program];

interface Event {
  readonly eventType: string;
  readonly actor: unknown;
  readonly resource: unknown;
  readonly metadata: Readonly<Record<string, unknown>>;
}
const eventsOf = async (runId: string): Promise<Event[]> =>
  (await plane.json(`events list --run ${runId}`)).events;
const typesOf = async (runId: string): Promise<string[]> =>
  (await eventsOf(runId)).map(({ eventType }) => eventType);
const unreachable = { GOV_BASE_URL: 'http://127.0.0.1:1/api/v1' };

/** Sends one span to the receiver that the environment names. */
const sender = (attributes: Record<string, string>): string => `
  const spans = [{
    traceId: require('crypto').randomBytes(16).toString('hex'), spanId: 'eee19b7ec3c1b174', name: 'execute_tool pay',
    startTimeUnixNano: Date.now() + '000000', endTimeUnixNano: Date.now() + '000000',
    attributes: Object.entries({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'pay', ...${JSON.stringify(attributes)} })
      .map(([key, stringValue]) => ({ key, value: { stringValue } })),
  }];
  const named = process.env.OTEL_RESOURCE_ATTRIBUTES.split(',').map((each) => each.split('='));
  const resource = { attributes: named.map(([key, value]) => ({ key, value: { stringValue: decodeURIComponent(value) } })) };
  const headers = Object.fromEntries(process.env.OTEL_EXPORTER_OTLP_HEADERS.split(',').map((each) => each.split('=').map(decodeURIComponent)));
  fetch(process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/traces', {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }),
  }).then(({ status }) => console.log(status));`;

describe('variables of the user', () => {
  it('that keep telemetry from the run are named', async () => {
    const { code, stderr } = await run(node('0'), { OTEL_TRACES_EXPORTER: 'none' });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('OTEL_TRACES_EXPORTER is set: spans are not sent over OTLP, but to none'),
    ]);
  });
});

describe('gov run', () => {
  it('gov run records start and end, leaves the streams alone, and proves the run in one line', async () => {
    const program = `process.stdin.pipe(process.stdout); console.error(process.env.GOV_RUN)`;
    const result = await run(['--run', 'g1', ...node(program)], {}, 'through\n');
    expect(result).toMatchObject({ code: 0, stdout: 'through\n' });
    expect(result.stderr).toMatch(/^g1\nrun g1: proof prf_\w+\n$/);
    const [first, last] = await eventsOf('g1');
    expect(first).toMatchObject({
      eventType: 'run.started',
      actor: { name: 'node', role: 'agent' },
      metadata: {
        program: 'node',
        arguments: { hash: expect.stringMatching(/^sha256:/), bytes: expect.any(Number) },
      },
    });
    expect(last).toMatchObject({
      eventType: 'run.ended',
      metadata: { exitCode: 0, outcome: 'ok', durationMs: expect.any(Number) },
    });
    expect(JSON.stringify([first, last])).not.toContain('pipe');
    expect((await plane.json('proofs list --run g1')).data).toHaveLength(1);
  });

  it('gov run names a new run by its time', async () => {
    const { stderr } = await run(['--prove', 'no', ...node('console.error(process.env.GOV_RUN)')]);
    expect(stderr).toMatch(/^run-\d{8}T\d{6}Z-[0-9a-f]{8}\n$/);
    expect(await typesOf(stderr.trim())).toEqual(['run.started', 'run.ended']);
  });

  it('gov run gives the program a receiver that takes its telemetry into the run', async () => {
    const { stdout } = await run(['--run', 'g2', ...node(sender({}))], {
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=a',
    });
    expect(stdout).toBe('200\n');
    expect(await typesOf('g2')).toEqual(['run.started', 'tool.call', 'run.ended']);
  });

  it('gov run gives the program a token of this run, and no other credential', async () => {
    const program = `
      const { readFileSync } = require('fs');
      const all = Object.entries(process.env);
      const parent = readFileSync('/proc/' + process.ppid + '/cmdline', 'utf8');
      const own = process.env.GOV_API_KEY;
      const call = (path, init) => fetch(process.env.OTEL_EXPORTER_OTLP_ENDPOINT.replace('/otlp', path),
        { ...init, headers: { authorization: 'Bearer ' + own, 'content-type': 'application/json' } }).then(({ status }) => status);
      const body = (runId) => JSON.stringify({ runId, eventType: 'note', actor: { name: 'a' }, action: 'write', timestamp: new Date().toISOString() });
      (async () => console.log(JSON.stringify({ all, parent, statuses: [
        await call('/events', { method: 'POST', body: body('g2t') }),
        await call('/events', { method: 'POST', body: body('other') }),
        await call('/runs'),
      ] })))();`;
    const file = join(plane.folder, 'key');
    writeFileSync(file, plane.key, { mode: 0o600 });
    for (const [at, env] of [{}, { GOV_API_KEY: '', GOV_API_KEY_FILE: file }].entries()) {
      const { stdout, stderr } = await run(['--run', 'g2t', '--prove', 'no', ...node(program)], env);
      expect([at, stderr]).toEqual([at, '']);
      const { all, parent, statuses } = JSON.parse(stdout);
      expect(statuses).toEqual([201, 400, 403]);
      expect(JSON.stringify([all, parent])).not.toContain(plane.key);
      const names = all.map(([name]: [string, string]) => name);
      expect(names).not.toContain('GOV_API_KEY_FILE');
      const headers = new Map<string, string>(all).get('OTEL_EXPORTER_OTLP_HEADERS') ?? '';
      expect(headers).toBe(
        `authorization=${encodeURIComponent(`Bearer ${new Map<string, string>(all).get('GOV_API_KEY')}`)}`,
      );
      expect(headers).toContain('gov_run_key_');
    }
  });

  it('a run in a run passes the token on, which records in no other run', async () => {
    const { stdout } = await run([
      '--run',
      'g2u',
      '--prove',
      'no',
      ...node('console.log(process.env.GOV_API_KEY)'),
    ]);
    const token = stdout.trim();
    const inner = await run(
      ['--run', 'g2u', '--prove', 'no', ...node('console.log(process.env.GOV_API_KEY)')],
      {
        GOV_API_KEY: token,
      },
    );
    expect([inner.code, inner.stdout]).toEqual([0, `${token}\n`]);
    const other = await run(['--run', 'g2v', ...node('0')], { GOV_API_KEY: token });
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('expected run g2u')]);
  });

  it('gov run links its run to the conversation that the program names', async () => {
    await run(['--run', 'g3', ...node(sender({ 'session.id': 'g3-session' }))]);
    expect(await typesOf('g3-session')).toEqual(['tool.call']);
    const [, link] = await eventsOf('g3');
    expect(link).toMatchObject({ eventType: 'run.linked', resource: { name: 'g3-session', type: 'run' } });
  });

  it('gov run says which layer does not hold, and that does not change the exit code', async () => {
    const { code, stderr } = await run(['--run', 'g4', ...node(sender({ 'gen_ai.tool.call.id': 'c1' }))]);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^run g4: proof prf_\w+; not satisfied: x-coverage\nsee why: gov runs coverage g4\n$/,
    );
  });

  it('gov run returns the exit code of the program, and records it', async () => {
    expect((await run(['--run', 'g5', ...node('process.exit(7)')])).code).toBe(7);
    expect((await eventsOf('g5'))[1]?.metadata).toMatchObject({ exitCode: 7, outcome: 'error' });
  });

  it('gov run exits with 127 for a missing program, and records why', async () => {
    const { code, stdout, stderr } = await run(['--run', 'g6', '--', 'no-such-program']);
    expect([code, stdout]).toEqual([127, '']);
    expect(stderr).toContain('cannot start no-such-program: the command does not exist');
    expect((await eventsOf('g6'))[1]?.metadata).toMatchObject({ exitCode: 127, error: expect.any(String) });
  });

  it.skipIf(process.platform !== 'linux')(
    'a program ends when gov run is killed with SIGKILL, because nobody would record it',
    async () => {
      const mark = join(plane.folder, 'ended');
      const program = `process.on('SIGTERM', () => { require('fs').writeFileSync(${JSON.stringify(mark)}, ''); process.exit(); }); console.log('up'); setInterval(() => {}, 1000)`;
      const child = start(node(program));
      await new Promise((resolve) => child.stdout.once('data', resolve));
      child.kill('SIGKILL');
      await vi.waitFor(() => expect(existsSync(mark)).toBe(true), { timeout: 10_000 });
    },
  );

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'gov run passes %s on, and records the signal that ended the program',
    async (name) => {
      const child = start(['--run', `g7-${name}`, ...node("console.log('up'); setInterval(() => {}, 1000)")]);
      const end = ended(child);
      await new Promise((resolve) => child.stdout.once('data', resolve));
      child.kill(name);
      expect((await end).code).toBe(name === 'SIGINT' ? 130 : 143);
      expect((await eventsOf(`g7-${name}`))[1]?.metadata).toMatchObject({ signal: name });
    },
  );

  it('gov run starts nothing where the start cannot be recorded, unless --fail open', async () => {
    const file = join(plane.folder, 'made');
    const make = node(`require('fs').writeFileSync(${JSON.stringify(file)}, '')`);
    const closed = await run(['--retries', '0', ...make], unreachable);
    expect([closed.code, existsSync(file)]).toEqual([10, false]);
    const open = await run(['--retries', '0', '--fail', 'open', ...make], unreachable);
    expect([open.code, existsSync(file)]).toEqual([0, true]);
    expect(open.stderr).toContain('the run is not recorded');
  });

  it('gov run exits with 1 where the program succeeded and its end could not be recorded', async () => {
    const other = await startPolicyPlane();
    const env = { GOV_BASE_URL: other.baseUrl, GOV_API_KEY: other.key };
    const child = start(['--retries', '0', ...node('process.stdin.resume(); console.log(1)')], env);
    const end = ended(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await other.end();
    child.stdin.end();
    const { code, stderr } = await end;
    expect(code).toBe(1);
    expect(stderr).toContain('the end of the run could not be recorded');
  });

  it('gov run needs a program', async () => {
    expect((await run(['--run', 'g8'])).code).toBe(2);
    const { code, stderr } = await run(['--run', 'g8', 'list']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean gov runs list?')]);
    expect(await eventsOf('g8')).toEqual([]);
  });
});
