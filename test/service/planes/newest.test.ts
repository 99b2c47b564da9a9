/** A data plane asks what is held of it: the newest report of an epoch, byte for byte, and the receipt. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { canonical, enrolledPlane, seconds, type Sender } from '../../support/telemetry-plane.ts';

describe.each(engines)('the newest report of a data plane on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  });
  afterAll(() => service.end());

  const started = (name: string): Promise<Sender> => enrolledPlane(tenant.call, { name, projectId });
  const none = { nextSequence: 1, report: null, cosignature: '' };

  it('the newest report is null when none is stored', async () => {
    const sender = await started('silent');
    expect((await sender.newest()).body).toEqual({ epoch: 0, ...none });
    expect((await sender.newest('?epoch=3')).body).toEqual({ epoch: 3, ...none });
  });

  it('the newest report is the one with the greatest sequence, as it came, with its receipt and the gaps', async () => {
    const sender = await started('talking');
    const first = sender.plane.work(2).report();
    const { cosignature } = (await sender.send(first)).body;
    const { status, body } = await sender.newest();
    expect([status, body]).toEqual([
      200,
      { epoch: 0, nextSequence: 2, report: canonical(first), cosignature },
    ]);
    sender.plane.work(1).report();
    const third = sender.plane.work(1).report();
    await sender.send(third);
    const held = { nextSequence: 2, report: canonical(third), cosignature: '' };
    expect((await sender.newest('?epoch=0')).body).toEqual({ epoch: 0, ...held });
    expect((await sender.newest('?epoch=1')).body).toEqual({ epoch: 1, ...none });
  });

  it('the newest report is that of the newest epoch when none is named, and of no other plane', async () => {
    const sender = await started('recovered');
    await sender.work(2);
    const later = await enrolledPlane(tenant.call, { name: 'late', projectId, epoch: 2 });
    const report = later.plane.work(1).report();
    await later.send(report);
    expect((await later.newest()).body).toMatchObject({ epoch: 2, report: canonical(report) });
    expect((await later.newest('?epoch=0')).body).toEqual({ epoch: 0, ...none });
    expect((await sender.newest('?epoch=2')).body).toEqual({ epoch: 2, ...none });
  });

  it('the newest report is returned to a plane that signs an empty body, now', async () => {
    const sender = await started('signing');
    const codes = async (...given: Parameters<Sender['newest']>): Promise<unknown[]> => {
      const { status, body } = await sender.newest(...given);
      return [status, body.code];
    };
    const stranger = await started('stranger');
    expect(await codes('', { secret: stranger.credentials.signingSecret })).toEqual([
      401,
      'INVALID_SIGNATURE',
    ]);
    expect(await codes('', { headers: { 'x-telemetry-signature': '' } })).toEqual([401, 'INVALID_SIGNATURE']);
    expect(await codes('', { timestamp: seconds(Date.now() - 600_000) })).toEqual([
      401,
      'TIMESTAMP_OUT_OF_RANGE',
    ]);
    expect(await codes('?epoch=x')).toEqual([400, 'VALIDATION_ERROR']);
    expect(await codes('?epoch=-1')).toEqual([400, 'VALIDATION_ERROR']);
  });
});
