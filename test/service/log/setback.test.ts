import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => plane.end());

describe('a clock that is set back', () => {
  it('gives no proof a time before the events that it covers', async () => {
    const { body: made } = await plane.call('POST', '/events', { body: event({ runId: 'back' }) });
    const { serverTimestamp } = (await plane.call('GET', `/events/${made.eventId}`)).body;
    const past = Date.now() - 3_600_000;
    vi.spyOn(Date, 'now').mockImplementation(() => past);
    const { body: proof } = await plane.call('POST', '/proofs', { body: { runId: 'back' } });
    expect(proof.createdAt >= serverTimestamp).toBe(true);
    expect(proof.commitment.timestamp).toBe(proof.createdAt);
    const verdict = await plane.call('POST', '/proofs/verify', { body: proof });
    expect(verdict.body.verified).toBe(true);
  });

  it('gives no job a negative duration', async () => {
    await plane.call('POST', '/events', { body: event({ runId: 'job' }) });
    const { body } = await plane.call('POST', '/proofs', { body: { runId: 'job', async: true } });
    const past = Date.now() - 3_600_000;
    vi.spyOn(Date, 'now').mockImplementation(() => past);
    const job = async () => (await plane.call('GET', `/jobs/${body.jobId}`)).body;
    await expect.poll(async () => (await job()).status).toBe('completed');
    const [listed] = (await plane.call('GET', '/jobs')).body.data;
    expect(listed.durationMs).toBeGreaterThanOrEqual(0);
  });
});
