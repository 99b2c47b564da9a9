/** Changes in the days before an incident: chosen by their own times, and proven where the log times them the same. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { governing } from '../../support/governed.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { holdClock, later } from './filled.ts';
import { built, rowsOf, tableOf } from './world.ts';

const dayMs = 86_400_000;

let service: TestService;
beforeAll(async () => {
  holdClock();
  service = await startService();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});

const say = async (tenant: Tenant, metadata = {}): Promise<void> => {
  const timestamp = new Date(Date.now()).toISOString();
  const body = event({ runId: 'r1', eventType: 'tool.result', timestamp, metadata });
  expect((await tenant.call('POST', '/events', { body })).status).toBe(201);
};

it.each([
  ['right after another entry', true, 'proven'],
  ['after days without an entry', false, 'not_shown'],
])('a change 2 days before a failure and %s is listed, and the table is %s', async (name, isBusy, status) => {
  const tenant = await service.signUp(isBusy ? 'busy' : 'quiet');
  await say(tenant);
  later(20 * dayMs);
  if (isBusy) await say(tenant);
  const { key } = (await tenant.call('POST', '/api-keys', { body: { name, scopes: ['*'] } })).body;
  if (!isBusy) later(10 * dayMs);
  const call: Tenant['call'] = (method, path, options) => tenant.call(method, path, options);
  await governing({ call, keys: { person: String(key) } } as never).policy('p', { 'tool.name': 'x' }, 'deny');
  later(2 * dayMs);
  await say(tenant, { outcome: 'error' });
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  const made = await built(service.services, [projectId, 'incident-bundle']);
  expect(rowsOf(made, 'changes-before', 'subject', 'change').map(({ subject }) => subject)).toContain('p');
  const { completeness, population } = tableOf(made, 'changes-before');
  expect([completeness.status, population]).toEqual([status, 2]);
  const files = [...made.attachments.keys()].filter((file) => file.startsWith('changes-before'));
  expect(files).toHaveLength(isBusy ? 2 : 0);
});
