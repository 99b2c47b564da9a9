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

it('a call that may have run without a decision is not shown to be governed', async () => {
  const tenant = await service.signUp('eve');
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  const say = (runId: string, eventType: string, metadata: object) =>
    tenant.call('POST', '/events', {
      body: event({ runId, eventType, resource: { name: 'rm', type: 'tool' }, metadata }),
    });
  // a transcript that ends after the call, and one in which the client refused it
  await say('open', 'tool.call', { toolCallId: 'c1', timestampSource: 'source' });
  await say('refused', 'tool.call', { toolCallId: 'c1', timestampSource: 'source' });
  await say('refused', 'tool.result', { toolCallId: 'c1', timestampSource: 'source', outcome: 'refused' });
  // an error of a program whose telemetry has refusals as errors
  const telemetry = { importer: 'otlp', signal: 'log', record: 'claude_code.tool_result', outcome: 'error' };
  await say('error', 'tool.result', { toolCallId: 'c1', ...telemetry });
  await say('error', 'tool.call', { toolCallId: 'c1', timestampSource: 'source' });
  const said = async (runId: string) => {
    const made = await built(service.services, [projectId, 'run-evidence'], { runId });
    return made.contents.checks.find(({ name }) => name === 'No tool call ran without a decision');
  };
  expect(await said('open')).toMatchObject({
    status: 'not_shown',
    detail: expect.stringContaining('1 call has no decision, and may have run.'),
  });
  expect(await said('error')).toMatchObject({
    status: 'not_shown',
    detail: expect.stringContaining('1 call has no decision, and may have run.'),
  });
  expect(await said('refused')).toMatchObject({ status: 'pass' });
  const made = await built(service.services, [projectId, 'integrity-completeness']);
  expect(checksOf(made)['Nothing ran ungoverned']).toBe('not_shown');
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
