/** Stored bytes of one tenant changed below a service: its operator is told where, and no tenant of another one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventIndex } from '../../../src/core/id.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

describe.each(engines)('a leaf of a tenant that was altered, on %s', (engine) => {
  let service: TestService;
  let ada: Tenant;
  let bob: Tenant;
  const warnings: string[] = [];
  beforeAll(async () => {
    const log = { ...silentLog, warn: (_fields: object, message: string) => warnings.push(message) };
    service = await startService({ engine, log });
    ada = await service.signUp('ada');
    bob = await service.signUp('bob');
  });
  afterAll(() => service.end());

  const below = (projectId: string): Below =>
    service.database === null
      ? sqliteBelow(service.dataDir, projectId)
      : postgresBelow(service.database.superuser, projectId);

  /** Records an event of a tenant and alters its body; where it stands. */
  async function altered(tenant: Tenant): Promise<{ projectId: string; eventId: string; index: number }> {
    const { data } = (await tenant.call('GET', '/projects')).body;
    const { id } = data.find(({ environment }: { environment: string }) => environment === 'production');
    const { eventId } = (await tenant.call('POST', '/events', { body: event({ runId: 'altered' }) })).body;
    const index = eventIndex(eventId);
    if (index === null) throw new Error(`expected an event id with its index, got ${eventId}`);
    const { sql, leafAt } = below(id);
    await sql(
      `UPDATE body SET disclosures = replace(disclosures, 'execute', 'exfiltr') WHERE ${leafAt(index)}`,
    );
    return { projectId: id, eventId, index };
  }

  const told = (projectId: string): string[] =>
    warnings.filter((text) => text.startsWith('integrity_violation:') && text.includes(projectId));

  it('is told to its readers, and to nobody else but the operator, once for each project', async () => {
    for (const tenant of [ada, bob]) {
      const { projectId, eventId, index } = await altered(tenant);
      for (let times = 0; times < 2; times += 1) {
        const { status, body } = await tenant.call('GET', `/events/${eventId}`);
        expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
        expect(body.detail).toContain(`leaf ${index} of the audit log`);
      }
      expect(told(projectId)).toEqual([expect.stringContaining(`leaf ${index} of the audit log`)]);
    }
  });

  it('makes health degraded for everybody, in words that name no tenant and no leaf', async () => {
    const reason =
      "integrity_violation: a stored record is not what was logged; the operator's log says where";
    for (const tenant of [ada, bob]) {
      const { status, body } = await tenant.call('GET', '/health');
      expect([status, body.status, body.reasons]).toEqual([200, 'degraded', [reason]]);
      expect((await tenant.call('GET', '/health/ready')).status).toBe(200);
    }
    expect((await service.call('GET', '/health')).body.reasons).toBeUndefined();
  });

  it('is met by a worker thread too, whose finding names the project', async () => {
    const cyd = await service.signUp('cyd');
    const { projectId, index } = await altered(cyd);
    const { status, body } = await cyd.call('POST', '/proofs', { body: { runId: 'altered' } });
    expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(told(projectId)).toEqual([expect.stringContaining(`leaf ${index} of the audit log`)]);
  });
});
