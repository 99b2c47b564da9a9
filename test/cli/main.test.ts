import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, problem, startServer } from '../client/server.ts';
import type { TestServer } from '../client/server.ts';
import { emptyDirectory, gov, govHere, shell } from './support/tool.ts';

let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer((seen, response) => {
    const status = Number(/evt_([0-9]{3})/.exec(seen.url)?.[1]);
    if (seen.url.includes('none')) problem(response, 'NOT_FOUND', 404);
    else if (status)
      problem(response, `STATUS_${status}`, status, { detail: 'no \u001b[31mluck', retryable: false });
    else if (seen.url.includes('/jobs/')) json(response, 202, { jobId: 'job_1', status: 'pending' });
    else json(response, 503, { status: 'unavailable', time: '2026-03-01T12:00:00.000Z' });
  });
  env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x', GOV_RETRIES: '0' };
});
afterAll(() => server.close());

describe('the process', () => {
  it.each([
    [[], 0],
    [['--version'], 0],
    [['events', 'lst'], 2],
    [['events', 'list', '--run', 'r', '-o', 'sarif'], 2],
    [['events', 'get', 'evt_400'], 2],
    [['health'], 3],
    [['events', 'get', 'evt_401'], 4],
    [['events', 'get', 'evt_403'], 4],
    [['events', 'get', 'evt_404'], 5],
    [['events', 'get', 'evt_409'], 6],
    [['events', 'get', 'evt_429'], 7],
    [['events', 'get', 'evt_500'], 1],
    [['events', 'get', 'evt_503'], 1],
    [['health', '--base-url', 'http://127.0.0.1:1/'], 10],
  ])('gov with %j exits with code %i', async (argv, code) => {
    expect((await gov(argv, { env })).code).toBe(code);
  });

  it('gov in a directory that was removed says what to do, without a stack trace', async () => {
    const line = 'mkdir gone && cd gone && rmdir ../gone && gov runs list';
    const { code, stderr } = await shell(line, { cwd: emptyDirectory(), env });
    expect([code, stderr]).toEqual([
      2,
      'error: expected a working directory, got one that was removed or that this user may not read\n' +
        '  cd to another directory, then run the command again\n',
    ]);
  });

  it('gov reports what failed, why, and the request id, without control characters', async () => {
    const { stdout, stderr } = await gov(['events', 'get', 'evt_404'], { env });
    expect(stdout).toBe('');
    expect(stderr).toBe('error: A title: no \\u001b[31mluck\n  (request id req-12345678)\n');
  });

  it.each([
    ['events get evt_none', 'gov events list'],
    ['policy snapshot none', 'gov runs list'],
    ['graphs get none', 'gov runs list'],
    ['report schedules get sch_none', 'gov report schedules list'],
    ['webhooks redeliver dlv_none', 'gov webhooks deliveries'],
    ['approvals show apr_none', 'gov approvals list'],
  ])('gov %s names the command that lists what was not found', async (line, listing) => {
    const { stderr } = await govHere(line.split(' '), { env });
    expect(stderr).toContain(`see what there is: ${listing}\n`);
  });

  it('gov reports an error as one JSON object on standard error for JSON formats', async () => {
    for (const format of ['json', 'ndjson']) {
      const { stdout, stderr } = await gov(['events', 'get', 'evt_403', '-o', format], { env });
      expect(stdout).toBe('');
      expect(JSON.parse(stderr)).toEqual({
        error: {
          code: 'STATUS_403',
          message: 'A title: no \u001b[31mluck',
          status: 403,
          requestId: 'req-12345678',
          retryable: false,
          docs: 'https://example.test/problems/status_403',
          next: [],
        },
      });
    }
  });

  it('gov reports usage errors as JSON too, before it knows the command', async () => {
    const { stderr, code } = await govHere(['evnts', '-o', 'json']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'USAGE', hint: 'did you mean events?' } });
    expect((await govHere(['events', 'list', '-ojson'])).stderr).toMatch(/^\{"error"/);
  });

  it('gov prints a success response with a negative status', async () => {
    const { stdout } = await govHere(['health', '-o', 'json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ status: 'unavailable' });
  });

  it('gov prints retries only with --debug, and never the key', async () => {
    const argv = ['events', 'get', 'evt_503', '--retries', '1'];
    expect((await govHere(argv, { env })).stderr).not.toContain('attempt');
    const { stderr } = await govHere([...argv, '--debug=http'], { env });
    expect(stderr).toContain(`> GET ${server.baseUrl}/events/evt_503 (0 bytes)`);
    expect(stderr).toContain('request id none');
    expect(stderr).not.toContain('gov_live_x');
  });

  it('gov sends the given idempotency key', async () => {
    await govHere(['jobs', 'retry', 'job_1', '--idempotency-key', 'mine-1'], { env });
    expect(server.seen.at(-1)?.headers['idempotency-key']).toBe('mine-1');
  });
});

describe('its own words', () => {
  it('gov commands lists commands, and describes all of them as one JSON value', async () => {
    expect((await govHere(['commands'])).stdout).toContain('events list\tList the events of a run');
    expect(JSON.parse((await govHere(['commands', '-o', 'json'])).stdout)).toMatchObject({ name: 'gov' });
  });

  it('gov prints the same version for every version flag', async () => {
    const { stdout } = await gov(['--version']);
    expect(stdout).toMatch(/^gov [0-9]+\.[0-9]+\.[0-9]+ \(build \S+\)\n$/);
    for (const argv of [['-V'], ['version'], ['-V', '-q']]) expect((await gov(argv)).stdout).toBe(stdout);
    const { version, build } = JSON.parse((await gov(['version', '-o', 'json'])).stdout);
    expect(stdout).toBe(`gov ${version} (build ${build})\n`);
  });

  it.each([
    [['help'], 'Usage: gov NOUN VERB'],
    [['help', 'events'], 'events list'],
    [['help', 'event', 'list'], 'Usage: gov events list'],
    [['help', 'exit-codes'], 'the check failed'],
    [['help', 'exit', 'codes'], 'the check failed'],
    [['help', 'environment'], 'GOV_API_KEY_FILE'],
    [['help', 'formatting'], 'ndjson'],
  ])('gov answers %j', async (argv, expected) => {
    expect(await govHere(argv)).toMatchObject({ code: 0, stdout: expect.stringContaining(expected) });
  });

  it('gov help exits with 2 for an unknown topic', async () => {
    expect(await govHere(['help', 'nothing'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('help pages', () => {
  const pages = {
    tool: ['--help'],
    events: ['events', '--help'],
    'events-list': ['events', 'list', '--help'],
  };
  const more = {
    'proofs-verify': ['proofs', 'verify', '--help'],
    'graphs-get': ['graphs', 'get', '--help'],
    auth: ['auth', '--help'],
    'auth-login': ['auth', 'login', '--help'],
    'auth-signup': ['auth', 'signup', '--help'],
    'keys-create': ['keys', 'create', '--help'],
    'keys-list': ['keys', 'list', '--help'],
    'projects-update': ['projects', 'update', '--help'],
    'usage-show': ['usage', 'show', '--help'],
    'billing-portal': ['billing', 'portal', '--help'],
    'context-set': ['context', 'set', '--help'],
    'exit-codes': ['help', 'exit-codes'],
    environment: ['help', 'environment'],
    formatting: ['help', 'formatting'],
    ci: ['help', 'ci'],
    scripting: ['help', 'scripting'],
  };
  it.each(Object.entries({ ...pages, ...more }))(
    'the help page of %s equals the stored page',
    async (name, argv) => {
      const { stdout } = await govHere([...argv, '--color', 'never'], { columns: 100 });
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
      await expect(stdout).toMatchFileSnapshot(`../golden/help/${name}.txt`);
    },
  );
});
