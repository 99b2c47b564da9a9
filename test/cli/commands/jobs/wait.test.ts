import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, startServer } from '../../../client/server.ts';
import type { TestServer } from '../../../client/server.ts';
import { govHere } from '../../support/tool.ts';

const base = { type: 'proof', runId: 'run-1', createdAt: '2026-03-01T12:00:00.000Z' };
const proof = { proofId: 'prf_1', runId: 'run-1', schemaVersion: '1.0', layers: [] };

let server: TestServer;
let env: Record<string, string>;
let asked = 0;
beforeAll(async () => {
  server = await startServer((seen, response) => {
    const pending = { ...base, jobId: 'job_p', status: 'processing', completedAt: null };
    const done = { ...base, completedAt: '2026-03-01T12:00:05.000Z' };
    if (seen.method === 'POST')
      return json(response, 202, { jobId: seen.body.includes('"cancelled"') ? 'job_c' : 'job_s' });
    if (seen.url.includes('job_p')) return json(response, 200, pending, { 'retry-after': '0' });
    if (seen.url.includes('job_c'))
      return json(response, 200, { ...done, jobId: 'job_c', status: 'cancelled', errorSummary: null });
    if (seen.url.includes('job_f')) {
      const failed = { ...done, jobId: 'job_f', status: 'failed' };
      const isOld = seen.url.includes('job_f_old');
      return json(
        response,
        200,
        isOld ? { ...failed, jobId: 'job_f_old' } : { ...failed, errorSummary: 'disk full' },
      );
    }
    asked += 1;
    if (asked < 3) return json(response, 200, { ...pending, jobId: 'job_s' }, { 'retry-after': '0' });
    return json(response, 200, { ...done, jobId: 'job_s', status: 'completed', result: proof });
  });
  env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x' };
});
afterAll(() => server.close());

describe('gov jobs wait', () => {
  it('gov jobs wait polls until the job is completed, then prints it', async () => {
    asked = 0;
    const { code, stdout } = await govHere(['jobs', 'wait', 'job_s', '-o', 'json'], { env });
    expect(code).toBe(0);
    expect(asked).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      data: [{ jobId: 'job_s', status: 'completed', result: proof }],
    });
  });

  it('gov jobs wait exits with 8 at the deadline and names the command to continue', async () => {
    const { code, stderr } = await govHere(['jobs', 'wait', 'job_p', '--timeout', '300ms'], { env });
    expect(code).toBe(8);
    expect(stderr).toContain('job job_p is still processing');
    expect(stderr).toContain('try: gov jobs wait job_p');
  });

  it('gov jobs wait exits with 1 when a job failed, and gives the reason', async () => {
    const { code, stderr, stdout } = await govHere(['jobs', 'wait', 'job_f'], { env });
    expect([code, stdout.includes('failed')]).toEqual([1, true]);
    expect(stderr).toContain('job job_f failed: disk full');
    // a service of an older release does not say why
    const old = await govHere(['jobs', 'wait', 'job_f_old'], { env });
    expect([old.code, old.stderr]).toEqual([1, 'warning: job job_f_old failed\n']);
  });
});

describe('a job that somebody cancelled', () => {
  it('ends every command that waits for it, which says so and exits with 1', async () => {
    const waited = await govHere(['jobs', 'wait', 'job_c'], { env });
    expect([waited.code, waited.stdout.includes('cancelled')]).toEqual([1, true]);
    expect(waited.stderr).toBe('warning: job job_c was cancelled\n');
    const json = ['--wait', '-o', 'json'];
    for (const argv of [
      ['proofs', 'create', '--run', 'cancelled', ...json],
      ['replay', 'run', '--run', 'cancelled', ...json],
    ]) {
      const { code, stderr } = await govHere(argv, { env });
      expect(code).toBe(1);
      expect(JSON.parse(stderr).error).toMatchObject({
        code: 'JOB_CANCELLED',
        message: 'job job_c was cancelled',
        next: ['gov jobs retry job_c'],
      });
    }
  });
});

describe('gov proofs create', () => {
  it('gov proofs create returns the job, or waits and returns the proof', async () => {
    const job = await govHere(['proofs', 'create', '--run', 'run-1', '--async', '-o', 'id'], { env });
    expect(job).toMatchObject({ code: 0, stdout: 'job_s\n' });
    expect(JSON.parse(server.seen.at(-1)?.body ?? '')).toEqual({ runId: 'run-1', async: true });
    asked = 0;
    const argv = [
      'proofs',
      'create',
      '--run',
      'run-1',
      '--wait',
      '--layers',
      'event_integrity, x-own',
      '-o',
      'json',
    ];
    const { stdout } = await govHere(argv, { env });
    expect(JSON.parse(stdout)).toEqual(proof);
    const body = server.seen.findLast(({ method }) => method === 'POST')?.body ?? '';
    expect(JSON.parse(body)).toMatchObject({ composed: { layers: ['event_integrity', 'x-own'] } });
  });

  it('gov proofs create refuses --async with --wait', async () => {
    const { code } = await govHere(['proofs', 'create', '--run', 'r', '--async', '--wait'], { env });
    expect(code).toBe(2);
  });

  it('gov proofs create requests no proof when --out names an unusable place', async () => {
    const asked = server.seen.length;
    const create = ['proofs', 'create', '--run', 'r'];
    for (const [flags, reason] of [
      [['--out', 'b.json', '--async'], '--out: expected a proof to write, got --async'],
      [['--out', '-'], '--out: expected a file, got standard output'],
      [['--out', import.meta.filename], 'exists'],
    ] as const) {
      const { code, stderr } = await govHere([...create, ...flags], { env });
      expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
    }
    expect(server.seen.length).toBe(asked);
  });
});
