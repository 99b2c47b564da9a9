import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../../src/client/index.ts';
import { cleanEnv, emptyDirectory, ended, gov, govHere, runner } from '../../support/tool.ts';
import type { Result } from '../../support/tool.ts';
import { projectRoot } from '../../../paths.ts';

const root = emptyDirectory();
const dataDir = join(root, 'plane');
const env = { GOV_CONFIG_DIR: join(root, 'config'), HOME: root };
const argv = [
  'plane',
  'init',
  '--data',
  dataDir,
  '--listen',
  '127.0.0.1:0',
  '--metrics-listen',
  '127.0.0.1:0',
];

let stopped: Promise<Result>;
let child: ReturnType<typeof spawn>;

/** Resolves once the plane says that it serves. */
async function serve(...flags: string[]): Promise<void> {
  child = spawn(process.execPath, [runner, 'plane', 'serve', ...flags], { env: cleanEnv(env) });
  stopped = ended(child);
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => chunk.includes('"serving"') && resolve());
    child.on('exit', () => reject(new Error('the plane ended early')));
  });
}

const event = (at: number, more: object = {}) => ({
  runId: 'run-1',
  eventType: 'tool.call',
  actor: { name: 'planner', role: 'agent' },
  resource: { name: 'search', type: 'tool' },
  action: `step ${at}`,
  timestamp: '2026-03-01T12:00:00Z',
  clientEventId: `run-1:${at}`,
  ...more,
});

describe('a plane on this machine', () => {
  beforeAll(async () => {
    const made = await gov([...argv, '-o', 'json'], { env });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(made.stdout)).toMatchObject({ created: true, dataDir, context: 'plane' });
  });
  afterAll(() => child?.kill('SIGKILL'));

  it('a second gov plane init changes nothing', async () => {
    const { code, stdout } = await gov([...argv, '-o', 'json'], { env });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { created: false, context: 'plane' }]);
    const renamed = await govHere([...argv, '--name', 'other'], { env });
    expect([renamed.code, renamed.stderr]).toEqual([
      2,
      `error: expected --name plane, the context of ${dataDir}, got other; nothing was changed\n` +
        `  for a second name: gov context set other --data ${dataDir}\n`,
    ]);
    expect((await govHere([...argv, '--name', 'plane'], { env })).code).toBe(0);
  });

  it('gov plane init makes nothing for a name that a context may not have', async () => {
    const folder = emptyDirectory();
    const here = (...words: string[]) =>
      govHere(['plane', 'init', ...words], { env: { GOV_CONFIG_DIR: folder, HOME: root } });
    const names = ['../x y', '-x', '', 'x'.repeat(65)];
    for (const name of names) {
      const { code, stderr } = await here('--data', join(folder, 'p'), `--name=${name}`);
      expect([name, code, stderr]).toEqual([name, 2, expect.stringContaining('--name')]);
    }
    const unnamed = await here('--data', join(folder, 'my plane'));
    expect(unnamed).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/got "my plane"\n {2}.*--name NAME/),
    });
    expect([existsSync(join(folder, 'p')), existsSync(join(folder, 'my plane'))]).toEqual([false, false]);
    const longest = 'x'.repeat(64);
    const made = await here('--data', join(folder, 'my plane'), '--name', longest, '-o', 'json');
    expect([made.code, JSON.parse(made.stdout)]).toMatchObject([0, { name: longest, context: longest }]);
  });

  it.each([
    ['the plane', ['plane', 'init', '--data', '/dev/null/x', '--name', 'blocked']],
    ['the service', ['service', 'init', '--data', '/dev/null/x']],
    ['the witness', ['witness', 'init', '--data', '/dev/null/x']],
    ['the copy', ['plane', 'backup', '--out', '/dev/null/x']],
  ])('says why the system refuses the directory of %s', async (what, words) => {
    expect(await govHere(words, { env })).toMatchObject({
      code: 2,
      stderr: `error: cannot make ${what} at /dev/null/x: a file blocks the path\n`,
    });
  });

  /** The words of the Containerfile, for the plane of this test. */
  const healthCheck = (): string[] => {
    const [, words = '[]'] =
      /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(readFileSync(join(projectRoot, 'Containerfile'), 'utf8')) ?? [];
    const [program, ...rest] = JSON.parse(words) as string[];
    expect(program).toBe('gov');
    return rest.map((word, at) => (rest[at - 1] === '--data' ? dataDir : word));
  };

  it('gov plane status exits with 10 for a plane that does not serve yet', async () => {
    expect((await govHere(healthCheck(), { env })).code).toBe(10);
    const { code, stdout } = await govHere(['plane', 'status', '-o', 'json'], { env });
    expect([code, JSON.parse(stdout)]).toMatchObject([10, { state: 'not serving', pid: null, dataDir }]);
  });

  it('the tool serves a plane, and pushes, lists, proves and verifies events', async () => {
    await serve();
    const status = await govHere(['plane', 'status', '-o', 'json'], { env });
    expect([status.code, JSON.parse(status.stdout)]).toMatchObject([
      0,
      { state: 'ok', pid: child.pid, queueDepth: expect.any(Number) },
    ]);
    expect((await govHere(healthCheck(), { env })).code).toBe(0);
    const { baseUrl } = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8'));
    const apiKey = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
    const client = createClient({ baseUrl, apiKey, env: {} });
    await client.createEvents({ body: { events: [0, 1, 2].map((at) => event(at)) } });
    client.close();
    const listed = await govHere(['events', 'list', '--run', 'run-1', '-o', 'ndjson'], { env });
    expect(
      listed.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).action),
    ).toEqual(['step 0', 'step 1', 'step 2']);
    expect((await govHere(['events', 'count', '--run', 'run-1', '-o', 'json'], { env })).stdout).toContain(
      '"count": 3',
    );
    const proof = await govHere(['proofs', 'create', '--run', 'run-1', '--wait', '-o', 'id'], { env });
    expect(proof).toMatchObject({ code: 0, stdout: expect.stringMatching(/^prf_/) });
    const id = proof.stdout.trim();
    const file = join(root, 'run-1.govproof.json');
    expect(await govHere(['proofs', 'get', id, '--bundle', '--out', file], { env })).toMatchObject({
      code: 0,
    });
    expect(await govHere(['proofs', 'verify', id], { env })).toMatchObject({ code: 0 });
    expect(await govHere(['proofs', 'verify', file], { env })).toMatchObject({ code: 0 });
    expect(await govHere(['proofs', 'verify', 'prf_00000000000000000000000000'], { env })).toMatchObject({
      code: 5,
    });
    const tree = await govHere(['graphs', 'get', 'run-1', '--color', 'never'], { env, columns: 80 });
    expect(tree.stdout).toContain('tool.call  planner → search  step 0');
  });

  it('the tool finds a plane by its directory when there is no context', async () => {
    const named = await govHere(['plane', 'status', '--data', dataDir, '-o', 'json']);
    expect([named.code, JSON.parse(named.stdout)]).toMatchObject([0, { state: 'ok', dataDir }]);
    expect(await govHere(['plane', 'status', '--data', root])).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/expected a data plane at/),
    });
  });

  it('gov events tail streams what a plane records', async () => {
    const tail = spawn(process.execPath, [runner, 'events', 'tail', '--after', '0', '--count', '4'], {
      env: cleanEnv(env),
    });
    const { code, stdout } = await ended(tail);
    expect(code).toBe(0);
    const actions = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).action);
    expect(actions.slice(-2)).toEqual(['step 0', 'step 1']);
  });

  it('gov plane serve refuses a second server on the same directory with 6', async () => {
    expect(await gov(['plane', 'serve'], { env })).toMatchObject({ code: 6, stdout: '' });
  });

  it('a plane stops on SIGTERM with 0, and proofs still verify offline', async () => {
    child.kill('SIGTERM');
    expect((await stopped).code).toBe(0);
    const file = join(root, 'run-1.govproof.json');
    expect(await govHere(['proofs', 'verify', file, '--offline'], { env })).toMatchObject({ code: 0 });
  });

  it('gov plane serve --init makes a missing plane, serves it, and adds no context', async () => {
    const data = join(root, 'new-plane');
    const listen = ['--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
    await serve('--init', '--data', data, ...listen);
    const key = readFileSync(join(data, 'local.key'), 'utf8');
    child.kill('SIGTERM');
    expect((await stopped).code).toBe(0);
    await serve('--init', '--data', data, ...listen);
    expect(readFileSync(join(data, 'local.key'), 'utf8')).toBe(key);
    child.kill('SIGTERM');
    expect((await stopped).code).toBe(0);
    const { stdout } = await govHere(['context', 'list', '-o', 'json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ contexts: [{ name: 'plane' }] });
  });
});

describe.skipIf(!existsSync('/sys/kernel'))('a plane without a place for the configuration', () => {
  it('gov plane init makes the plane, says that no context was stored, and how to serve it', async () => {
    const data = join(emptyDirectory(), 'plane');
    const { code, stdout, stderr } = await govHere(['plane', 'init', '--data', data, '-o', 'table'], {
      env: { GOV_CONFIG_DIR: '/sys/gov' },
    });
    expect([code, stdout]).toEqual([0, expect.stringContaining('context  none')]);
    expect(stderr).toMatch(/^warning: no context was stored: cannot make \/sys\/gov: .*(write|read-only)/);
    expect(stderr).toContain(`next: gov plane serve --data ${data}\n`);
  });
});
