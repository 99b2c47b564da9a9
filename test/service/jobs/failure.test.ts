/** What a job says of an attempt that failed, and whether it is repeated. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

let service: TestService;
let ada: Tenant;
beforeAll(async () => {
  service = await startService();
  ada = await service.signUp('ada');
  await ada.call('POST', '/events', { body: event() });
});
afterAll(() => service.end());

/** The job of a proof whose first task ends with this error. */
async function failedOnce(error: GovError) {
  vi.spyOn(service.services.work, 'run').mockRejectedValueOnce(error);
  const { body } = await ada.call('POST', '/proofs', { body: { runId: 'run-1', async: true } });
  const read = async () => (await ada.call('GET', `/jobs/${body.jobId}`)).body;
  await expect.poll(async () => (await read()).status, { timeout: 10_000 }).toMatch(/completed|failed/);
  const { data } = (await ada.call('GET', '/jobs?limit=1')).body;
  expect(data[0].jobId).toBe(body.jobId);
  return read();
}

describe('a job whose attempt failed', () => {
  it('fails at once in the words of the error, also where that is a conflict', async () => {
    const job = await failedOnce(new GovError('CONFLICT', 'expected one state, got another'));
    expect([job.status, job.errorSummary]).toEqual(['failed', 'CONFLICT: expected one state, got another']);
  });

  it('is repeated after a transient error, whatever its code', async () => {
    const transient = new GovError('CONFLICT', 'expected one state, got another', { transient: true });
    const job = await failedOnce(transient);
    expect([job.status, job.errorSummary]).toEqual(['completed', null]);
  });
});
