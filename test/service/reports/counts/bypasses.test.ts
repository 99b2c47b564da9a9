/** Results of drills of ways around hooks in the report of integrity. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startService, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { built, rowsOf } from '../templates/world.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end());

it('a control test lists the newest result of each way, and passes only if all are shown and shut', async () => {
  const tenant = await service.signUp('ada');
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  const tried = async (id: string, result: string) => {
    const metadata = { machine: 'build-7', version: '2.1.332', scope: 'user', id, result, reason: 'why' };
    const resource = { name: 'claude-code', type: 'agent_client' };
    const body = event({ runId: 'agent-drills', eventType: 'drill.bypass', resource, metadata });
    await tenant.call('POST', '/events', { body });
  };
  const said = async () => {
    const made = await built(service.services, [projectId, 'integrity-completeness']);
    const check = made.contents.checks.find(({ name }) => name === 'No tried way around hooks is open');
    const figure = made.contents.figures.find(({ label }) => label === 'Ways around hooks that are open');
    return { made, status: check?.status, detail: check?.detail, open: figure?.value };
  };
  expect(await said()).toMatchObject({
    status: 'not_shown',
    detail: 'The log has no result of gov agents drill --bypasses in the period.',
  });
  await tried('monitor', 'shut');
  await tried('path', 'open');
  await tried('path', 'not_shown');
  const first = await said();
  expect(first).toMatchObject({
    status: 'fail',
    open: 1,
    detail: expect.stringMatching(/^1 of 2 ways is open, on 1 machine\..*Of 1 way the newest attempt/),
  });
  expect(
    rowsOf(first.made, 'ways-around-hooks', 'client', 'version', 'machine', 'scope', 'way', 'result'),
  ).toEqual(
    [
      ['path', 'open'],
      ['monitor', 'shut'],
    ].map(([way, result]) => ({
      client: 'claude-code',
      version: '2.1.332',
      machine: 'build-7',
      scope: 'user',
      way,
      result,
    })),
  );
  await tried('path', 'shut');
  expect(await said()).toMatchObject({ status: 'pass', open: 0 });
  await tried('path', 'not_shown');
  expect(await said()).toMatchObject({ status: 'not_shown', open: 0 });
});
