/** What the operator does beside the service, on either engine. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  everyProject,
  operate,
  restoreProject,
  setCustomer,
  setQuotas,
  type OperatedProject,
} from '../../../src/host/service/operator.ts';
import { limits } from '../../../src/contract/limits.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { Services } from '../../../src/service/port/services.ts';
import {
  engines,
  startService,
  type EngineName,
  type ServiceProcess,
  type TestService,
} from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

const services: TestService[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.end();
});
async function start(engine: EngineName): Promise<TestService> {
  const service = await startService({ engine });
  services.push(service);
  return service;
}

/** On SQLite the service stops first; the answer serves afterwards. */
async function beside(
  service: TestService,
  work: (services: Services) => Promise<unknown>,
): Promise<ServiceProcess> {
  if (service.engine === 'sqlite') await service.close();
  await operate({ dataDir: service.dataDir, env: {}, log: silentLog }, work);
  return service.again();
}

async function listed(of: Services, filter: { organizationId?: string } = {}): Promise<OperatedProject[]> {
  const all: OperatedProject[] = [];
  for await (const page of everyProject(of, filter)) all.push(...page);
  return all;
}

const systemEvents = async (tenant: { call: TestService['call'] }, eventType: string, key: string) => {
  const { body } = await tenant.call('GET', `/events?runId=gov.system&eventType=${eventType}&limit=1000`, {
    key,
  });
  return body.events as { actor: unknown; resource: { id: string }; metadata: unknown }[];
};

describe.each(engines)('the operator on %s', (engine) => {
  it('the operator lists the projects of every organization, including deleted ones', async () => {
    const service = await start(engine);
    const ada = await service.signUp('ada');
    const bob = await service.signUp('bob');
    const made = await bob.call('POST', '/projects', { body: { name: 'gone', environment: 'production' } });
    await bob.call('DELETE', `/projects/${made.body.id}`);
    const seen: OperatedProject[][] = [];
    await beside(service, async (of) => {
      seen.push(await listed(of), await listed(of, { organizationId: ada.orgId }));
    });
    const [all = [], hers = []] = seen;
    expect(all.map(({ name }) => name).toSorted()).toEqual(
      ['Production', 'Production', 'Sandbox', 'Sandbox', 'gone'].toSorted(),
    );
    expect(all.find(({ name }) => name === 'gone')).toEqual({
      projectId: made.body.id,
      name: 'gone',
      environment: 'production',
      organizationId: bob.orgId,
      createdAt: made.body.createdAt,
      deletedAt: expect.stringMatching(/^20/),
      quotas: {},
    });
    expect(hers.map(({ organizationId }) => organizationId)).toEqual([ada.orgId, ada.orgId]);
  });

  it('the operator starts no index work, which the end of the command would cut off with an error', async () => {
    const service = await start(engine);
    const ada = await service.signUp('ada');
    const { body: identity } = await ada.call('GET', '/auth/identity');
    if (engine === 'sqlite') await service.close();
    const logged: string[] = [];
    const log = { ...silentLog, error: (_: object, text: string) => void logged.push(text) };
    const { projectId } = identity;
    await operate({ dataDir: service.dataDir, env: {}, log }, async ({ indexer, searchIndexer, store }) => {
      // a head of a log that is long enough to be indexed beside it
      const size = limits.indexLeaves;
      indexer.signed(projectId, {
        checkpoint: { origin: '', size, root: new Uint8Array(32) },
        note: '',
      } as never);
      searchIndexer.grown(projectId, size);
      await store.head(projectId, 'audit');
    });
    expect(logged).toEqual([]);
  });

  it('the operator restores a deleted project with its keys, and the log records it', async () => {
    const service = await start(engine);
    const ada = await service.signUp('ada');
    const { body: identity } = await ada.call('GET', '/auth/identity');
    const other = await ada.call('POST', '/projects', { body: { name: 'p', environment: 'production' } });
    const { id } = other.body;
    await ada.call('DELETE', `/projects/${id}`);
    expect((await ada.call('GET', `/projects/${id}`)).status).toBe(404);
    const results: unknown[] = [];
    const after = await beside(service, async (of) => {
      results.push(await restoreProject(of, id), await restoreProject(of, id));
      for (const unknown of ['prj_none', identity.organizationId]) {
        await expect(restoreProject(of, unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      }
    });
    expect(results).toMatchObject([
      { changed: true, project: { projectId: id, deletedAt: null } },
      { changed: false, project: { projectId: id, deletedAt: null } },
    ]);
    expect((await after.call('GET', `/projects/${id}`, { key: ada.keys.production })).status).toBe(200);
    expect(await systemEvents(after, 'project.restored', ada.keys.production)).toMatchObject([
      { actor: { id: 'operator', type: 'operator' }, resource: { id } },
    ]);
  });

  it('the operator cannot restore a project whose name is now taken', async () => {
    const service = await start(engine);
    const ada = await service.signUp('ada');
    const body = { name: 'p', environment: 'production' };
    const first = await ada.call('POST', '/projects', { body });
    await ada.call('DELETE', `/projects/${first.body.id}`);
    await ada.call('POST', '/projects', { body: { ...body, name: 'P' } });
    await beside(service, async (of) => {
      await expect(restoreProject(of, first.body.id)).rejects.toMatchObject({ code: 'NAME_TAKEN' });
    });
  });

  it('the operator sets quotas that apply within five seconds, and removes them', async () => {
    const service = await start(engine);
    const ada = await service.signUp('ada');
    const { body: identity } = await ada.call('GET', '/auth/identity');
    const results: unknown[] = [];
    const after = await beside(service, async (of) => {
      results.push(await setQuotas(of, identity.projectId, { audit_event: 1, risk_decision: null }));
      results.push(await setQuotas(of, identity.projectId, { audit_event: 1 }));
      results.push(await setQuotas(of, identity.projectId, { risk_decision: undefined }));
    });
    expect(results).toMatchObject([
      { changed: true, project: { quotas: { audit_event: 1, risk_decision: null } } },
      { changed: false },
      { changed: true, project: { quotas: { audit_event: 1 } } },
    ]);
    const key = ada.keys.production;
    expect((await after.call('POST', '/events', { key, body: event() })).status).toBe(201);
    expect((await after.call('POST', '/events', { key, body: event() })).body.code).toBe('QUOTA_EXCEEDED');
    const told = await systemEvents(after, 'quota.changed', key);
    expect(told.map(({ metadata }) => metadata)).toEqual([
      { from: {}, to: { audit_event: 1, risk_decision: null } },
      { from: { audit_event: 1, risk_decision: null }, to: { audit_event: 1 } },
    ]);
    const usage = await after.call('GET', '/metering/usage', { key });
    expect(usage.body.items).toContainEqual(
      expect.objectContaining({ type: 'audit_event', used: 1, limit: 1, remaining: 0 }),
    );
  });

  it('the operator sets the customer of an organization at the payment provider', async () => {
    const service = await start(engine);
    const ada = await service.signUp('ada');
    const results: unknown[] = [];
    const after = await beside(service, async (of) => {
      results.push(await setCustomer(of, ada.orgId, 'cus_1'), await setCustomer(of, ada.orgId, 'cus_1'));
      results.push(await setCustomer(of, ada.orgId, null));
      await expect(setCustomer(of, 'org_none', 'cus_1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
    expect(results).toEqual([
      { changed: true, organizationId: ada.orgId, name: 'ada', customerId: 'cus_1' },
      { changed: false, organizationId: ada.orgId, name: 'ada', customerId: 'cus_1' },
      { changed: true, organizationId: ada.orgId, name: 'ada', customerId: null },
    ]);
    const told = await systemEvents(after, 'billing.customer_changed', ada.keys.production);
    expect(told.map(({ metadata }) => metadata)).toEqual([
      { from: null, to: 'cus_1' },
      { from: 'cus_1', to: null },
    ]);
  });
});

describe('on SQLite', () => {
  it('the operator on SQLite waits until the service has stopped', async () => {
    const service = await start('sqlite');
    const options = { dataDir: service.dataDir, env: {}, log: silentLog };
    await expect(operate(options, async () => {})).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/process \d+ holds it; stop that process first$/),
    });
    expect((await service.call('GET', '/health/ready')).status).toBe(200);
    await service.close();
    await operate(options, async () => {});
  });
});
