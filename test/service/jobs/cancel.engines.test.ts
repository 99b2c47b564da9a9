/** POST /jobs/{jobId}/cancel: what it ends, what it answers again, and what beside it happens at the same time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { endOf } from '../support/filled.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { reader: { scopes: ['jobs:read', 'jobs:retry'] } } });
  await plane.call('POST', '/events', { body: event() });
});
afterAll(() => plane.end());

const create = async (): Promise<string> =>
  (await plane.call('POST', '/proofs', { body: { runId: 'run-1', async: true } })).body.jobId;
const cancel = (jobId: string, options = {}) => plane.call('POST', `/jobs/${jobId}/cancel`, options);
const eventsOf = async (jobId: string): Promise<{ eventType: string; actor: { type: string } }[]> => {
  const { events } = (await plane.call('GET', '/events?runId=gov.system&limit=1000')).body;
  return events.filter(({ resource }: { resource?: { id: string } }) => resource?.id === jobId);
};

/** A job that no worker claims, because it is not due. */
async function waiting(): Promise<string> {
  const jobId = await create();
  await endOf(plane.call, jobId);
  await plane.sql(
    `UPDATE job SET status = 'pending', due_ms = 9000000000000, completed_ms = NULL, result = NULL WHERE job_id = '${jobId}'`,
  );
  return jobId;
}

describe('POST /jobs/{jobId}/cancel', () => {
  it('cancels a waiting job at once, says so again, and records it once with who did it', async () => {
    const jobId = await waiting();
    const units = await plane.units('compliance_proof');
    const first = await cancel(jobId);
    expect([first.status, first.body]).toEqual([
      200,
      {
        jobId,
        type: 'proof',
        runId: 'run-1',
        status: 'cancelled',
        createdAt: expect.any(String),
        completedAt: expect.any(String),
        errorSummary: null,
      },
    ]);
    const again = await cancel(jobId);
    expect([again.status, again.body]).toEqual([200, first.body]);
    const got = await plane.call('GET', `/jobs/${jobId}`);
    expect([got.body, got.headers['retry-after']]).toEqual([first.body, undefined]);
    const { data } = (await plane.call('GET', '/jobs?status=cancelled')).body;
    expect(data.map((job: { jobId: string }) => job.jobId)).toEqual([jobId]);
    const found = (await eventsOf(jobId)).filter(({ eventType }) => eventType === 'job.cancelled');
    expect(found).toMatchObject([
      { actor: { type: 'api_key' }, action: 'cancel', metadata: { type: 'proof', runId: 'run-1' } },
    ]);
    expect(await plane.units('compliance_proof')).toBe(units);
  });

  it('answers the same to a repeat with its Idempotency-Key, also after the job runs again', async () => {
    const jobId = await waiting();
    const headers = { 'idempotency-key': 'cancel-once' };
    const first = await cancel(jobId, { headers });
    expect((await plane.call('POST', `/jobs/${jobId}/retry`)).status).toBe(202);
    expect((await endOf(plane.call, jobId)).status).toBe('completed');
    const again = await cancel(jobId, { headers });
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await plane.call('GET', `/jobs/${jobId}`)).body.status).toBe('completed');
  });

  it('refuses to cancel what has ended, and says what to do', async () => {
    const jobId = await create();
    await endOf(plane.call, jobId);
    const completed = await cancel(jobId);
    expect([completed.status, completed.body.code]).toEqual([409, 'ALREADY_ENDED']);
    expect(completed.body.detail).toContain('is completed; its result stays');
    const failed = await create();
    await endOf(plane.call, failed);
    await plane.sql(`UPDATE job SET status = 'failed', result = NULL WHERE job_id = '${failed}'`);
    expect((await cancel(failed)).body.detail).toContain('is failed; there is nothing to stop');
    expect((await cancel('job_01jzzzzzzzzzzzzzzzzzzzzzzz')).status).toBe(404);
    const refused = await cancel(jobId, { key: plane.keys['reader'] });
    expect([refused.status, refused.body.requiredScope]).toEqual([403, 'jobs:cancel']);
  });

  it('lets a cancelled job be retried, without another unit', async () => {
    const jobId = await waiting();
    await cancel(jobId);
    const units = await plane.units('compliance_proof');
    const retried = await plane.call('POST', `/jobs/${jobId}/retry`);
    expect([retried.status, retried.body.status]).toEqual([202, 'pending']);
    expect((await endOf(plane.call, jobId)).status).toBe('completed');
    expect(await plane.units('compliance_proof')).toBe(units);
  });

  it('ends each of many running jobs exactly once, by completion or by one of two callers', async () => {
    const jobIds = await Promise.all(Array.from({ length: 24 }, create));
    const proofs = async (): Promise<number> =>
      Number((await plane.sql('SELECT count(*) AS n FROM proof'))[0].n);
    const answers = await Promise.all(
      [...jobIds, ...jobIds.toReversed()].map(async (jobId) => ({ jobId, ...(await cancel(jobId)) })),
    );
    const found = (await plane.call('GET', '/events?runId=gov.system&limit=1000')).body.events;
    let completed = 0;
    for (const jobId of jobIds) {
      const { status } = (await plane.call('GET', `/jobs/${jobId}`)).body;
      completed += status === 'completed' ? 1 : 0;
      const ends = found
        .filter(({ resource }: { resource?: { id: string } }) => resource?.id === jobId)
        .map(({ eventType }: { eventType: string }) => eventType);
      expect(ends).toEqual([`job.${status}`]);
      const statuses = answers.filter((answer) => answer.jobId === jobId).map((answer) => answer.status);
      expect(statuses).toEqual(status === 'cancelled' ? [200, 200] : [409, 409]);
    }
    expect(completed).toBeLessThan(jobIds.length);
    const made = await plane.sql(
      `SELECT count(*) AS n FROM job WHERE status = 'completed' AND type = 'proof'`,
    );
    expect(await proofs()).toBeGreaterThanOrEqual(Number(made[0].n));
  });
});
