/** What the evidence of a run says of obedience: a proof holds, and that alone is none. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startService, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { governing } from '../../support/governed.ts';
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

it('a figure about policies says no more than its check, of a run that outgrew its proof, too', async () => {
  const tenant = await service.signUp('bob');
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  const gov = governing(tenant);
  await gov.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
  const { evaluationId } = await gov.tool('grew', 'pay');
  await gov.ran('grew', { evaluationId, toolCallId: 'c1' });
  const said = async () => {
    const of = { startMs: Date.now() - 60_000, endMs: Date.now() + 60_000, runId: 'grew' };
    const made = await built(service.services, [projectId, 'run-evidence'], of);
    return [checksOf(made)['The run obeyed the policies in force'], figuresOf(made)['compliance']];
  };
  expect((await tenant.call('POST', '/proofs', { body: { runId: 'grew' } })).status).toBe(201);
  expect(await said()).toEqual(['pass', 'yes']);
  await tenant.call('POST', '/events', { body: event({ runId: 'grew', eventType: 'agent.step' }) });
  expect(await said()).toEqual(['not_shown', 'not shown']);
});
