import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, startServer } from '../../client/server.ts';
import type { TestServer } from '../../client/server.ts';
import { gov, govHere } from '../support/tool.ts';
import { threadMs } from '../../thread-ms.ts';

const jobs = [
  { jobId: 'job_1', type: 'proof', runId: 'run-1', status: 'completed', request: { layers: ['a', 'b'] } },
  { jobId: 'job_2', type: 'replay', runId: '::error::\u001b[31mx\nsecond line', status: 'failed' },
];
let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer(({ url, method }, response) => {
    if (method === 'POST') return json(response, 202, { ...jobs[0], attempt: 2 });
    const empty = url.includes('runId=none');
    if (url.includes('/jobs?') || url.endsWith('/jobs'))
      return json(response, 200, { data: empty ? [] : jobs, nextCursor: null });
    return json(response, 200, jobs[0]);
  });
  env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x' };
});
afterAll(() => server.close());

const read = async (words: readonly string[]) => {
  const { code, stdout, stderr } = await govHere(words, { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};
const refused = async (words: readonly string[]) => {
  const { code, stdout, stderr } = await govHere(words, { env });
  expect(code).toBe(2);
  const { message, hint } = JSON.parse(stderr).error;
  return { stdout, message, hint };
};

describe('--json', () => {
  it('--json prints what -o json prints', async () => {
    for (const words of [['jobs', 'list'], ['jobs', 'get', 'job_1'], ['version']])
      expect(await read([...words, '--json'])).toBe(await read([...words, '-o', 'json']));
  });

  it('--json=FIELDS keeps these members of a resource and of each resource of a list, in this order', async () => {
    expect(JSON.parse(await read(['jobs', 'get', 'job_1', '--json=status,jobId']))).toEqual({
      status: 'completed',
      jobId: 'job_1',
    });
    expect(JSON.parse(await read(['jobs', 'list', '--json=jobId,request']))).toEqual({
      data: [
        { jobId: 'job_1', request: { layers: ['a', 'b'] } },
        { jobId: 'job_2', request: null },
      ],
      nextCursor: null,
    });
    expect(await read(['jobs', 'list', '-o', 'ndjson', '--json=jobId'])).toBe(
      '{"jobId":"job_1"}\n{"jobId":"job_2"}\n',
    );
  });

  it('--json names the fields that there are when a field is unknown', async () => {
    expect(await refused(['jobs', 'list', '--json=jobId,name'])).toEqual({
      stdout: '',
      message: '--json: expected fields of the result, got "name"',
      hint: 'fields: jobId, type, runId, status, request',
    });
    expect((await refused(['jobs', 'get', 'job_1', '--json=name'])).hint).toContain('fields: jobId, type');
    expect((await refused(['jobs', 'list', '--json=jobId,,name'])).message).toContain('between commas');
  });

  it('--json=FIELDS prints an empty list as an empty list', async () => {
    expect(JSON.parse(await read(['jobs', 'list', '--run', 'none', '--json=any']))).toEqual({
      data: [],
      nextCursor: null,
    });
  });

  it('--json and --jq refuse a format that is not JSON', async () => {
    expect((await refused(['jobs', 'list', '--json', '-o', 'csv'])).message).toBe(
      '--output: expected json or ndjson with --json, got "csv"',
    );
    expect((await refused(['jobs', 'list', '--jq', '.', '-o', 'yaml'])).message).toContain('with --jq');
  });
});

describe('--jq', () => {
  it('--jq prints texts without quotes and other values as JSON, one result per line', async () => {
    expect(await read(['jobs', 'list', '--jq', '.data[] | .jobId, .request'])).toBe(
      'job_1\n{"layers":["a","b"]}\njob_2\nnull\n',
    );
    expect(await read(['jobs', 'list', '--jq', '[.data[] | select(.status == "failed")] | length'])).toBe(
      '1\n',
    );
    expect(await read(['jobs', 'list', '--jq', 'empty'])).toBe('');
    expect(await read(['jobs', 'list', '-o', 'ndjson', '--jq', '.type'])).toBe('proof\nreplay\n');
    expect(await read(['jobs', 'list', '--json=jobId', '--jq', '.data[0]'])).toBe('{"jobId":"job_1"}\n');
  });

  it('--jq prints text of others without control characters and without commands to a CI runner', async () => {
    expect(await read(['jobs', 'list', '--jq', '.data[1].runId'])).toBe(
      '\\u003a:error::\\u001b[31mx\nsecond line\n',
    );
  });

  it('--jq refuses an expression that does not compile before the command does anything', async () => {
    const before = server.seen.length;
    expect((await refused(['jobs', 'retry', 'job_1', '--jq', '.['])).message).toMatch(
      /^--jq: syntax error, unexpected end of file/,
    );
    expect((await refused(['jobs', 'retry', 'job_1', '--jq', 'nosuch'])).message).toContain('nosuch/0');
    expect(server.seen.length).toBe(before);
  });

  it('--jq says what jq says when the expression fails, and prints nothing', async () => {
    expect(await refused(['jobs', 'list', '--jq', '.data[0].jobId, .data.x'])).toEqual({
      stdout: '',
      message: '--jq: Cannot index array with string "x"',
      hint: 'see https://jqlang.org/manual',
    });
  });

  it('a command that changes data prints its whole result when --jq or --json fails on it', async () => {
    for (const flag of [['--jq', '.jobId.x'], ['--json=none']]) {
      const { stdout } = await refused(['jobs', 'retry', 'job_1', ...flag]);
      expect(JSON.parse(stdout)).toMatchObject({ jobId: 'job_1', attempt: 2 });
    }
  });

  it('the built program finds jq', async () => {
    const { stdout, code } = await gov(['version', '--jq', '.version'], { env });
    expect({ stdout, code }).toEqual({ stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), code: 0 });
  });

  it('the time of --jq grows with its input: 3 MB take less than 10 seconds', async () => {
    const { filtered } = await import('../../../src/cli/terminal/jq.ts');
    const data = Array.from({ length: 20_000 }, (_, at) => ({ id: `evt_${at}`, text: 'abc'.repeat(40) }));
    const before = threadMs();
    expect((await filtered(data, 'map(.id | length) | add')).map(String)).toEqual(['168890']);
    expect(threadMs() - before).toBeLessThan(10_000);
  });
});
