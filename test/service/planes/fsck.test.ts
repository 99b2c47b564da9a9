/** After everything that data planes do at a service, well and badly, its store is whole, and says so. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fsck } from '../../../src/host/data/fsck.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { enroll, ReportingPlane, Sender } from '../../support/telemetry-plane.ts';

describe.each(engines)('data planes of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  });
  afterAll(() => service.end());

  /** Registered, and enrolled twice, as where the first answer was lost. */
  const newPlane = async (name: string): Promise<Sender> => {
    const { dataPlane, enrolmentToken } = (await tenant.call('POST', '/telemetry/planes', { body: { name } }))
      .body;
    const home = { dataPlaneId: dataPlane.dataPlaneId, projectId, environment: 'production' } as const;
    const plane = new ReportingPlane({ name }, home);
    await enroll(tenant.call, plane, enrolmentToken);
    return new Sender(plane, (await enroll(tenant.call, plane, enrolmentToken)).body, tenant.call);
  };

  it('leave a store that is whole', async () => {
    const sender = await newPlane('honest');
    const first = await sender.work(5);
    expect((await sender.attest(first.body.attestation.challenge)).status).toBe(200);
    const [second, third, fourth] = Array.from({ length: 3 }, () => sender.plane.work(3).report());
    for (const report of [fourth, second, third, third]) expect((await sender.send(report)).status).toBe(202);
    const rotated = await sender.post('/telemetry/credentials/rotate', {});
    sender.credentials = rotated.body;
    expect((await sender.work(2)).status).toBe(202);

    const cheat = await newPlane('cheat');
    const asked = (await cheat.work(5)).body.attestation.challenge;
    const wrong = { ...cheat.plane.answer(asked), samples: [] };
    expect((await cheat.attest(asked, wrong)).status).toBe(422);
    const fork = new ReportingPlane({ name: 'cheat' }, cheat.plane.home).append({
      op: 'none',
      units: 0,
      leaves: 1,
    });
    for (let at = 0; at < 2; at++) fork.work(2).report();
    expect((await cheat.send(fork.work(2).report())).body.cosignature).toBe('');
    expect((await cheat.work(3)).status).toBe(202);
    expect((await cheat.send({ ...cheat.plane.work(1).report(), unmetered: 99 })).status).toBe(400);
    const path = `/telemetry/planes/${cheat.plane.home.dataPlaneId}`;
    const { data } = (await tenant.call('GET', `${path}/reports`)).body;
    expect(data.map((each: { linked: string; attestation: string }) => each.linked)).toContain('broken');
    expect((await tenant.call('DELETE', path)).status).toBe(204);

    const report = await fsck({ dataDir: service.dataDir, env: {}, deep: true });
    expect(report.problems).toEqual([]);
    expect(report.ok).toBe(true);
  });

  it('have receipts that are the service’s: those of another installation are told', async () => {
    const store = join(service.dataDir, 'keys', 'store.key');
    const own = readFileSync(store, 'utf8');
    // what another installation would have cosigned
    writeFileSync(store, `${'ab'.repeat(32)}\n`);
    const { problems } = await fsck({ dataDir: service.dataDir, env: {}, deep: true });
    writeFileSync(store, own);
    const told = problems.filter(({ kind }) => kind === 'receipt_mismatch');
    expect(told.length).toBeGreaterThan(3);
    expect(told[0]).toMatchObject({
      position: expect.stringMatching(/\/report\/0\/1$/),
      got: expect.stringContaining('expected a signature of'),
    });
    expect((await fsck({ dataDir: service.dataDir, env: {} })).problems).toEqual([]);
  });
});
