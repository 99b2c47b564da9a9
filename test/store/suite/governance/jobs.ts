/** Jobs: claims, leases, failures, retries; all times are given. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { NewJob, Store } from '../../../../src/store/port/store.ts';
import { codeOf, genesis, projectOf, request, retryJob, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

const lease = 60_000;
const dayMs = 86_400_000;

const job = (id: string, more: Partial<NewJob> = {}): NewJob => ({
  jobId: `job_${id}`,
  type: 'proof',
  runId: 'r1',
  request: `{"n":"${id}"}`,
  createdMs: startMs,
  ...more,
});

async function enqueue(store: Store, ...jobs: NewJob[]): Promise<void> {
  await enqueueIn(store, 'a', ...jobs);
}

async function enqueueIn(store: Store, project: string, ...jobs: NewJob[]): Promise<void> {
  const effects = jobs.map((each) => ({ kind: 'enqueueJob' as const, job: each }));
  const meter = { op: 'compliance_proof', units: 1 } as const;
  await stored(store, request([], { projectId: `prj_${project}`, meter, effects }));
}

const complete = (store: Store, jobId: string, token: string) =>
  store.append(
    request([], {
      meter: { op: 'none', units: 0 },
      effects: [{ kind: 'completeJob', jobId, lease: token, result: '{"ok":1}', atMs: startMs + 5 }],
    }),
  );

describe('jobs', () => {
  it('jobs are claimed oldest first, each once', async () => {
    const { store, drop } = await open();
    await enqueue(
      store,
      job('late', { createdMs: startMs + 2 }),
      job('early'),
      job('middle', { createdMs: startMs + 1 }),
    );
    const claims = await Promise.all([1, 2, 3, 4].map(() => store.claimJob(startMs + 10, lease)));
    expect(claims.map((claim) => claim?.jobId)).toEqual(['job_early', 'job_middle', 'job_late', undefined]);
    expect(claims[0]).toMatchObject({ projectId: 'prj_a', attempt: 1, tries: 1, status: 'processing' });
    expect(new Set(claims.map((claim) => claim?.lease)).size).toBe(4);
    await drop();
  });

  it('jobs of projects are claimed in turn, the oldest of each first, whatever their number', async () => {
    const { store, drop } = await open();
    for (const project of ['b', 'c']) await store.createProject(projectOf(project), genesis(project));
    const many = Array.from({ length: 9 }, (_, at) => job(`a${at}`, { createdMs: startMs + at }));
    await enqueue(store, ...many);
    const claim = async (atMs: number) => (await store.claimJob(atMs, lease))?.jobId ?? null;
    const claims = async (count: number) => {
      const claimed: (string | null)[] = [];
      while (claimed.length < count) claimed.push(await claim(startMs + 100));
      return claimed;
    };
    expect(await claims(2)).toEqual(['job_a0', 'job_a1']);
    await enqueueIn(
      store,
      'c',
      job('c0', { createdMs: startMs + 50 }),
      job('c1', { createdMs: startMs + 51 }),
    );
    await enqueueIn(store, 'b', job('b0', { createdMs: startMs + 60 }));
    expect(await claims(5)).toEqual(['job_b0', 'job_c0', 'job_a2', 'job_c1', 'job_a3']);
    await enqueueIn(store, 'b', job('b1'), job('b2', { createdMs: startMs + 200 }));
    // a project whose jobs are not due yet is passed over
    expect(await claims(6)).toEqual(['job_b1', 'job_a4', 'job_a5', 'job_a6', 'job_a7', 'job_a8']);
    expect(await claims(1)).toEqual([null]);
    expect(await claim(startMs + 200)).toBe('job_b2');
    await drop();
  });

  it('a job is completed once, by the owner of the lease', async () => {
    const { store, reopen, drop } = await open();
    await enqueue(store, job('1'));
    const claim = await store.claimJob(startMs + 1, lease);
    expect(await codeOf(complete(store, 'job_1', 'another lease'))).toBe('CONFLICT');
    await complete(store, 'job_1', claim!.lease);
    expect(await codeOf(complete(store, 'job_1', claim!.lease))).toBe('CONFLICT');
    const again = await reopen();
    expect(await again.job('prj_a', 'job_1')).toEqual({
      ...job('1'),
      status: 'completed',
      attempt: 1,
      startedMs: startMs + 1,
      completedMs: startMs + 5,
      result: '{"ok":1}',
      resultId: null,
      summary: null,
      errorSummary: null,
    });
    expect(await again.claimJob(startMs + dayMs, lease)).toBeNull();
    await drop();
  });

  it('a job is found by the id of its result, and lists omit that result', async () => {
    const { store, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await enqueue(store, job('1', { type: 'replay', resultId: 'rpl_1' }), job('2'), job('3'));
    expect(await store.jobWithResult('prj_a', 'rpl_1')).toMatchObject({
      jobId: 'job_1',
      status: 'pending',
      resultId: 'rpl_1',
      summary: null,
    });
    const claim = await store.claimJob(startMs + 1, lease);
    expect(claim).toMatchObject({ jobId: 'job_1', resultId: 'rpl_1' });
    const effect = { kind: 'completeJob', jobId: 'job_1', lease: claim!.lease, result: '{}' } as const;
    const effects = [{ ...effect, summary: '{"steps":3}', atMs: startMs }];
    await stored(store, request([], { meter: { op: 'none', units: 0 }, effects }));
    const again = await reopen();
    const done = { jobId: 'job_1', status: 'completed', resultId: 'rpl_1', summary: '{"steps":3}' };
    expect(await again.jobWithResult('prj_a', 'rpl_1')).toMatchObject({ ...done, result: '{}' });
    expect(await again.jobs('prj_a', { type: 'replay' }, { limit: 9 })).toMatchObject([
      { ...done, result: null },
    ]);
    expect(await again.jobWithResult('prj_a', 'rpl_none')).toBeNull();
    expect(await again.jobWithResult('prj_b', 'rpl_1')).toBeNull();
    await drop();
  });

  it('a job goes to another worker when its lease ends, and the first worker loses it', async () => {
    const { store, drop } = await open();
    await enqueue(store, job('1'));
    const first = await store.claimJob(startMs, lease);
    expect(await store.claimJob(startMs + lease - 1, lease)).toBeNull();
    expect(await store.renewJob('prj_a', 'job_1', first!.lease, startMs + 2 * lease)).toBe(true);
    expect(await store.claimJob(startMs + lease, lease)).toBeNull();
    const second = await store.claimJob(startMs + 2 * lease, lease);
    expect(second).toMatchObject({ jobId: 'job_1', attempt: 2, tries: 2 });
    expect(await store.renewJob('prj_a', 'job_1', first!.lease, startMs + 9 * lease)).toBe(false);
    expect(await codeOf(complete(store, 'job_1', first!.lease))).toBe('CONFLICT');
    await store.failJob('prj_a', 'job_1', {
      lease: first!.lease,
      errorSummary: 'too late',
      atMs: startMs,
      retryAtMs: null,
    });
    expect((await store.job('prj_a', 'job_1'))?.status).toBe('processing');
    await complete(store, 'job_1', second!.lease);
    await drop();
  });

  it('a job whose worker is lost too often is claimed to be failed, and the next job can run', async () => {
    const { store, drop } = await open();
    await enqueue(store, job('poison'), job('next', { createdMs: startMs + 10 * lease }));
    for (let attempt = 1; attempt <= limits.jobAttempts; attempt += 1) {
      const claim = await store.claimJob(startMs + (attempt - 1) * lease, lease);
      expect(claim).toMatchObject({ jobId: 'job_poison', tries: attempt });
    }
    // one claim more, to fail it, is no attempt, also where that worker is lost
    for (const atMs of [3, 4]) {
      const lost = await store.claimJob(startMs + atMs * lease, lease);
      expect(lost).toMatchObject({ jobId: 'job_poison', tries: limits.jobAttempts + 1, attempt: 3 });
      expect(lost?.startedMs).toBe(startMs + 2 * lease);
    }
    expect((await store.claimJob(startMs + 10 * lease, lease))?.jobId).toBe('job_poison');
    expect((await store.claimJob(startMs + 10 * lease, lease))?.jobId).toBe('job_next');
    await drop();
  });

  it('a job fails with the append that records it, unless the lease was lost', async () => {
    const { store, drop } = await open();
    await enqueue(store, job('1'));
    const claim = await store.claimJob(startMs, lease);
    const fail = (token: string) =>
      store.append(
        request([], {
          meter: { op: 'none', units: 0 },
          effects: [
            {
              kind: 'failJob',
              jobId: 'job_1',
              lease: token,
              errorSummary: 'broken \u0000',
              atMs: startMs + 5,
            },
          ],
        }),
      );
    expect(await codeOf(fail('another'))).toBe('CONFLICT');
    await fail(claim!.lease);
    expect(await store.job('prj_a', 'job_1')).toMatchObject({
      status: 'failed',
      errorSummary: 'broken \u0000',
      completedMs: startMs + 5,
      request: '{"n":"1"}',
    });
    expect(await codeOf(fail(claim!.lease))).toBe('CONFLICT');
    expect(await store.claimJob(startMs + dayMs, lease)).toBeNull();
    await drop();
  });

  it('a failed job waits for its retry time, with an error summary of limited length', async () => {
    const { store, drop } = await open();
    await enqueue(store, job('1'));
    const claim = await store.claimJob(startMs, lease);
    const errorSummary = 'e'.repeat(limits.jobErrorChars + 1);
    const failure = { lease: claim!.lease, errorSummary, atMs: startMs + 1, retryAtMs: startMs + 2000 };
    await store.failJob('prj_a', 'job_1', failure);
    expect(await store.claimJob(startMs + 1999, lease)).toBeNull();
    const waiting = await store.job('prj_a', 'job_1');
    expect(waiting).toMatchObject({ status: 'pending', attempt: 2 });
    expect(waiting!.errorSummary).toHaveLength(limits.jobErrorChars);
    expect(await store.claimJob(startMs + 2000, lease)).toMatchObject({ attempt: 2, tries: 2 });
    await drop();
  });

  it('a job stopped by shutdowns is claimed again each time and does not use up its attempts', async () => {
    const { store, drop } = await open();
    await enqueue(store, job('1'));
    const stopped = { errorSummary: 'SHUTTING_DOWN', atMs: startMs, retryAtMs: startMs };
    for (let attempt = 1; attempt <= limits.jobAttempts + 2; attempt += 1) {
      const claim = await store.claimJob(startMs, lease);
      expect(claim).toMatchObject({ jobId: 'job_1', attempt, tries: 1 });
      await store.failJob('prj_a', 'job_1', { ...stopped, lease: claim!.lease, isExcused: true });
    }
    const last = await store.claimJob(startMs, lease);
    await complete(store, 'job_1', last!.lease);
    await drop();
  });

  it('only a failed job is retried by hand, under the same id and with new attempts', async () => {
    const { store, drop } = await open();
    await enqueue(store, job('1'));
    expect(await retryJob(store, 'job_none', startMs)).toBe('CONFLICT');
    expect(await retryJob(store, 'job_1', startMs)).toBe('CONFLICT');
    const claim = await store.claimJob(startMs, lease);
    const failure = { lease: claim!.lease, errorSummary: 'broken', atMs: startMs + 1, retryAtMs: null };
    await store.failJob('prj_a', 'job_1', failure);
    expect(await store.job('prj_a', 'job_1')).toMatchObject({ status: 'failed', errorSummary: 'broken' });
    const both = [retryJob(store, 'job_1', startMs + 10), retryJob(store, 'job_1', startMs + 10)];
    expect((await Promise.all(both)).toSorted()).toEqual(['CONFLICT', 'none']);
    const retried = await store.job('prj_a', 'job_1');
    expect(retried).toMatchObject({ jobId: 'job_1', status: 'pending', attempt: 2, errorSummary: null });
    expect(await store.claimJob(startMs + 10, lease)).toMatchObject({
      attempt: 2,
      tries: 1,
      request: '{"n":"1"}',
    });
    await drop();
  });

  it('a job loses its request after 30 days and then cannot be retried', async () => {
    const { store, drop } = await open();
    await enqueue(store, job('1'), job('2'));
    const claim = await store.claimJob(startMs, lease);
    const failure = { lease: claim!.lease, errorSummary: 'x', atMs: startMs, retryAtMs: null };
    await store.failJob('prj_a', claim!.jobId, failure);
    await store.sweep(startMs + limits.jobRequestDays * dayMs);
    expect((await store.job('prj_a', claim!.jobId))?.request).not.toBeNull();
    await store.sweep(startMs + limits.jobRequestDays * dayMs + 1);
    expect((await store.job('prj_a', claim!.jobId))?.request).toBeNull();
    expect(await retryJob(store, claim!.jobId, startMs)).toBe('CONFLICT');
    const [other] = await store.jobs('prj_a', { status: 'pending' }, { limit: 1 });
    expect(other?.request).not.toBeNull();
    await drop();
  });

  it('a large request stays while its job may run, never appears in a list, and then is removed', async () => {
    const { store, drop } = await open();
    const whole = { request: `"${'é'.repeat(limits.jobRequestBytes / 2 - 1)}"` };
    const large = { request: `"${'é'.repeat(limits.jobRequestBytes / 2)}"` };
    await enqueue(store, job('1', whole), job('2', large), job('3', { ...large, createdMs: startMs + 1 }));
    const requests = async () =>
      Object.fromEntries(
        (await store.jobs('prj_a', {}, { limit: 9 })).map(({ jobId, request }) => [jobId, request?.length]),
      );
    const shown = { job_1: whole.request.length, job_2: undefined, job_3: undefined };
    expect(await requests()).toEqual(shown);
    const claims = await Promise.all([1, 2, 3].map(() => store.claimJob(startMs + 9, lease)));
    expect(claims.map((claim) => claim?.request.length)).toEqual(
      [whole, large, large].map(({ request }) => request.length),
    );
    const failure = { errorSummary: 'x', atMs: startMs };
    const [first, second, third] = claims;
    await store.failJob('prj_a', 'job_2', { ...failure, lease: second!.lease, retryAtMs: startMs + 10 });
    expect((await store.claimJob(startMs + 11, lease))?.request).toBe(large.request);
    await store.failJob('prj_a', 'job_3', { ...failure, lease: third!.lease, retryAtMs: null });
    expect(await retryJob(store, 'job_3', startMs)).toBe('CONFLICT');
    await complete(store, 'job_1', first!.lease);
    expect(await requests()).toEqual(shown);
    await drop();
  });

  it('jobs are listed newest first, by type, status, run and creation time', async () => {
    const { store, drop } = await open();
    await enqueue(
      store,
      job('1'),
      job('2', { createdMs: startMs + 1, type: 'replay' }),
      job('3', { createdMs: startMs + 2, runId: 'r2' }),
    );
    const list = async (filter: Parameters<Store['jobs']>[1], after?: { ms: number; id: string }) =>
      (await store.jobs('prj_a', filter, { ...(after === undefined ? {} : { after }), limit: 2 })).map(
        ({ jobId }) => jobId,
      );
    expect(await list({})).toEqual(['job_3', 'job_2']);
    expect(await list({}, { ms: startMs + 1, id: 'job_2' })).toEqual(['job_1']);
    expect(await list({ type: 'replay' })).toEqual(['job_2']);
    expect(await list({ runId: 'r2' })).toEqual(['job_3']);
    expect(await list({ status: 'failed' })).toEqual([]);
    expect(await list({ startMs: startMs + 1, endMs: startMs + 1 })).toEqual(['job_2']);
    await drop();
  });
});
