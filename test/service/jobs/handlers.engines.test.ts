import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
  await plane.call('POST', '/events', { body: event() });
});
afterAll(() => plane.end());

const enqueue = async (body: Record<string, unknown> = {}) =>
  plane.call('POST', '/proofs', { body: { runId: 'run-1', async: true, ...body } });

/** Polls as a client does, at once. */
async function finished(
  jobId: string,
  on = plane,
): Promise<{ status: string; errorSummary: string | null; result?: { proofId: string } }> {
  for (;;) {
    const { body, headers } = await on.call('GET', `/jobs/${jobId}`);
    if (body.status === 'completed' || body.status === 'failed') return body;
    expect(headers['retry-after']).toBe('1');
  }
}

describe('an asynchronous proof', () => {
  it('an asynchronous proof is accepted with a job, whose result is the proof', async () => {
    const { status, body, headers } = await enqueue({
      composed: { layers: ['log_inclusion'] },
      schemaVersion: 'v1',
    });
    expect([status, headers['location'], headers['retry-after']]).toEqual([
      202,
      `/api/v1/jobs/${body.jobId}`,
      '1',
    ]);
    const job = await finished(body.jobId);
    expect(job).toMatchObject({
      jobId: body.jobId,
      type: 'proof',
      status: 'completed',
      runId: 'run-1',
      errorSummary: null,
    });
    const proof = (await plane.call('GET', `/proofs/${job.result?.proofId}`)).body;
    expect(job.result).toEqual(proof);
    expect(proof.schemaVersion).toBe('v1');
  });

  it('an asynchronous proof is metered once, when it is accepted', async () => {
    const units = (): Promise<number> => plane.units('compliance_proof');
    const before = await units();
    const { body } = await enqueue();
    expect(await units()).toBe(before + 1);
    await finished(body.jobId);
    expect(await units()).toBe(before + 1);
  });

  it('an asynchronous proof is accepted only with a valid request', async () => {
    expect((await enqueue({ composed: { layers: ['nope'] } })).status).toBe(400);
    expect((await enqueue({ schemaVersion: '9' })).status).toBe(400);
  });
});

describe('GET /jobs', () => {
  it('GET /jobs lists jobs newest first with the members of the list view, and filters', async () => {
    const { body } = await enqueue();
    await finished(body.jobId);
    const { data } = (await plane.call('GET', '/jobs')).body;
    expect(data[0]).toMatchObject({
      jobId: body.jobId,
      errorSummary: null,
      request: { runId: 'run-1', async: true },
    });
    expect(data[0].durationMs).toBeGreaterThanOrEqual(0);
    expect(data[0].result).toBeUndefined();
    const counted = async (query: string): Promise<number> =>
      (await plane.call('GET', `/jobs?${query}`)).body.data.length;
    expect(await counted('type=proof&status=completed&runId=run-1')).toBe(data.length);
    expect(await counted('type=replay')).toBe(0);
    expect(await counted('status=failed')).toBe(0);
    expect(await counted('runId=other')).toBe(0);
    expect(await counted('startTime=2100-01-01T00:00:00Z')).toBe(0);
    expect(await counted('endTime=2100-01-01T00:00:00Z')).toBe(data.length);
    const page = (await plane.call('GET', '/jobs?limit=1')).body;
    expect((await plane.call('GET', `/jobs?limit=1&cursor=${page.nextCursor}`)).body.data[0].jobId).not.toBe(
      body.jobId,
    );
    expect((await plane.call('GET', '/jobs?type=export')).status).toBe(400);
  });
});

describe('a job that fails', () => {
  it('a job with a permanent error fails at once, can be retried under its id, and keeps its history', async () => {
    const own = await startPlane();
    await own.call('POST', '/events', { body: event() });
    const { body } = await own.call('POST', '/proofs', { body: { runId: 'run-1', async: true } });
    await finished(body.jobId, own);
    expect((await own.call('POST', `/jobs/${body.jobId}/retry`)).body.code).toBe('JOB_NOT_RETRYABLE');

    // a run that lost its events below SQL: nothing else makes an accepted proof fail for good
    const fail = `UPDATE job SET status = 'failed', result = NULL, error_summary = 'RUN_HAS_NO_EVENTS: none', attempt = 1`;
    await own.sql(fail);
    const { data } = (await own.call('GET', '/jobs?status=failed')).body;
    expect(data[0].errorSummary).toBe('RUN_HAS_NO_EVENTS: none');
    expect((await finished(body.jobId, own)).errorSummary).toBe('RUN_HAS_NO_EVENTS: none');
    const retried = await own.call('POST', `/jobs/${body.jobId}/retry`);
    expect([retried.status, retried.body.jobId, retried.body.status]).toEqual([202, body.jobId, 'pending']);
    expect(await finished(body.jobId, own)).toMatchObject({ status: 'completed', errorSummary: null });

    // the reason of an attempt that failed before another one completed the job
    await own.sql(`UPDATE job SET error_summary = 'INTERNAL: Internal error'`);
    expect((await finished(body.jobId, own)).errorSummary).toBeNull();
    expect((await own.call('GET', '/jobs')).body.data[0].errorSummary).toBeNull();

    await own.sql(fail);
    await own.sql('UPDATE job SET request = NULL');
    expect((await own.call('POST', `/jobs/${body.jobId}/retry`)).body.code).toBe('JOB_PAYLOAD_UNAVAILABLE');
    await own.end();
  });

  it('a job whose worker was lost in each attempt fails with its event, once, and again after a retry by hand', async () => {
    const failures = async (jobId: string): Promise<object[]> => {
      const { events } = (await plane.call('GET', '/events?runId=gov.system&eventType=job.failed')).body;
      return events.filter(({ resource }: { resource: { id: string } }) => resource.id === jobId);
    };
    const { body } = await enqueue();
    await finished(body.jobId);
    for (const times of [1, 2]) {
      // as after the third process that ended with it
      await plane.sql(
        `UPDATE job SET status = 'processing', attempt = attempts_before + ${limits.jobAttempts}, lease = 'lost', due_ms = 1,
           completed_ms = NULL, result = NULL WHERE job_id = '${body.jobId}'`,
      );
      await finished((await enqueue()).body.jobId); // wakes the worker
      const { status, errorSummary } = await finished(body.jobId);
      expect([status, errorSummary]).toEqual(['failed', `the worker was lost ${limits.jobAttempts} times`]);
      expect(await failures(body.jobId)).toHaveLength(times);
      await finished((await enqueue()).body.jobId);
      expect(await failures(body.jobId)).toHaveLength(times);
      await plane.call('POST', `/jobs/${body.jobId}/retry`);
      expect((await finished(body.jobId)).status).toBe('completed');
    }
  });

  it('an unknown job is 404', async () => {
    for (const method of ['GET', 'POST']) {
      const path = `/jobs/job_01jzzzzzzzzzzzzzzzzzzzzzzz${method === 'POST' ? '/retry' : ''}`;
      expect((await plane.call(method, path)).status).toBe(404);
    }
  });
});
