/** The evidence of a run about which no policy decided: a proof holds, and that is no obedience. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startService, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { built, checksOf, figuresOf } from './world.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end());

it('a run without a policy decision is not shown to have obeyed policies', async () => {
  const tenant = await service.signUp('ada');
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  await tenant.call('POST', '/events', { body: event({ runId: 'free' }) });
  expect((await tenant.call('POST', '/proofs', { body: { runId: 'free' } })).status).toBe(201);
  const made = await built(service.services, [projectId, 'run-evidence'], {
    startMs: Date.now() - 60_000,
    endMs: Date.now() + 60_000,
    runId: 'free',
  });
  expect(checksOf(made)['The run obeyed the policies in force']).toBe('not_shown');
  expect(figuresOf(made)).toMatchObject({ compliance: 'no decision', decisions: 0 });
});
