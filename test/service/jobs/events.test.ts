/** What the log says of jobs that ended and of quotas that are used up: once each. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { typeId } from '../../../src/core/id.ts';
import { event } from '../../support/serving.ts';
import { endOf } from '../support/filled.ts';

let service: TestService;
let tenant: Tenant;
const quotas = { sandbox: { audit_event: 2, compliance_proof: 5, risk_decision: 0, replay_verification: 5 } };
beforeAll(async () => {
  service = await startService({ file: { quotas } });
  tenant = await service.signUp('ada');
});
afterAll(() => service.end());

const call: Tenant['call'] = (method, path, options) =>
  tenant.call(method, path, { environment: 'sandbox', ...options });
const events = async (eventType: string) => {
  const { body } = await call('GET', `/events?runId=gov.system&eventType=${eventType}&limit=200`);
  return body.events as { resource: { id: string }; metadata: object }[];
};
/** The event follows the answer. */
const eventsOnceThere = async (eventType: string) => {
  await expect.poll(async () => (await events(eventType)).length).toBeGreaterThan(0);
  return events(eventType);
};

/** A replay of a run without events, which an older release accepted: it fails for good. */
async function acceptedEarlier(runId: string): Promise<string> {
  const { store, now, randomBytes, wakeJobs } = service.services;
  const createdMs = now();
  const [jobId, resultId] = [
    typeId('job', createdMs, randomBytes(10)),
    typeId('rpl', createdMs, randomBytes(10)),
  ];
  const job = {
    jobId,
    type: 'replay',
    runId,
    request: JSON.stringify({ runId }),
    resultId,
    createdMs,
  } as const;
  await store.append({
    projectId: tenant.projectId,
    leaves: [],
    meter: { op: 'none', units: 0 },
    effects: [{ kind: 'enqueueJob', job }],
  });
  wakeJobs();
  return jobId;
}

describe('events of the service', () => {
  it('a proof and a replay that ran as jobs are each recorded as completed once', async () => {
    await call('POST', '/events', { body: event({ runId: 'r' }) });
    const { body: proof } = await call('POST', '/proofs', { body: { runId: 'r', async: true } });
    const { body: replay } = await call('POST', '/replay', { body: { runId: 'r' } });
    for (const { jobId } of [proof, replay]) expect((await endOf(call, jobId)).status).toBe('completed');
    const found = await events('job.completed');
    expect(found.map(({ resource }) => resource.id).toSorted()).toEqual(
      [proof.jobId, replay.jobId].toSorted(),
    );
    expect(found.map(({ metadata }) => metadata)).toEqual(
      expect.arrayContaining([
        { type: 'proof', runId: 'r' },
        { type: 'replay', runId: 'r' },
      ]),
    );
  });

  it('a job that failed for good is recorded as failed, again after a retry by hand', async () => {
    const jobId = await acceptedEarlier('missing');
    expect((await endOf(call, jobId)).status).toBe('failed');
    const found = await eventsOnceThere('job.failed');
    expect(found).toMatchObject([
      { resource: { id: jobId }, metadata: { type: 'replay', runId: 'missing' } },
    ]);
  });

  it('a quota that is used up is recorded once, however many requests it refuses', async () => {
    await call('POST', '/events', { body: event({ runId: 'r' }) });
    for (let at = 0; at < 3; at++)
      expect((await call('POST', '/events', { body: event({ runId: 'r' }) })).status).toBe(429);
    const found = await eventsOnceThere('quota.exceeded');
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ resource: { id: 'audit_event' }, metadata: { limit: 2, used: 2 } });
  });
});
