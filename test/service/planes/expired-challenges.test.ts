/**
 * Challenges that nobody answers (contract J4): noted once over all processes when their time is over, told in the log of
 * the project, shown with the data plane, and answered for no more, by whichever clock.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Challenge } from '../../../src/contract/telemetry.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { expireChallenges, startExpiringChallenges } from '../../../src/service/planes/expired-challenges.ts';
import type { Services } from '../../../src/service/port/services.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { enrolledPlane, type Sender } from '../../support/telemetry-plane.ts';
import { toldOf, until } from '../support/tenants.ts';

const hourMs = 3_600_000;

describe.each(engines)('a challenge that nobody answers, of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  let planes = 0;
  /** Of each process: two on PostgreSQL. */
  let processes: Services[];
  beforeAll(async () => {
    service = await startService({ engine });
    processes = [service.services];
    if (engine === 'postgres') processes.push((await service.again()).services);
    tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  });
  afterAll(() => service.end());

  const challenged = async (): Promise<{ sender: Sender; challenge: Challenge }> => {
    const sender = await enrolledPlane(tenant.call, { name: `ward-${(planes += 1)}`, projectId });
    const { body } = await sender.work(3);
    return { sender, challenge: body.attestation.challenge };
  };
  const shown = async ({ plane }: Sender) =>
    (await tenant.call('GET', `/telemetry/planes/${plane.home.dataPlaneId}`)).body;
  const eventsOf = ({ plane }: Sender) =>
    toldOf(tenant.call, 'telemetry.challenge_expired', plane.home.dataPlaneId);
  const at = async <Value>(ms: number, work: () => Promise<Value>): Promise<Value> => {
    const { now } = service.services;
    for (const each of processes) Object.assign(each, { now: () => ms });
    try {
      return await work();
    } finally {
      for (const each of processes) Object.assign(each, { now });
    }
  };
  const over = limits.attestationHours * hourMs + 60_000;

  it('an expired challenge is recorded once, by whichever process, and not before its time is over', async () => {
    const { sender, challenge } = await challenged();
    const expiresMs = Date.parse(challenge.expiresAt);
    expect(await at(expiresMs - 1, () => expireChallenges(service.services))).toBe(0);
    expect(await shown(sender)).toMatchObject({
      challengesExpired: 0,
      lastReport: { attestation: 'pending' },
    });
    const noted = await at(expiresMs, () =>
      Promise.all([...processes, ...processes].map((each) => expireChallenges(each))),
    );
    // none where the timer of a process, which looks once a minute, came first
    expect(noted.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(1);
    const events = await eventsOf(sender);
    expect(events.map(({ metadata }) => metadata)).toEqual([
      { challengeId: challenge.challengeId, reportId: challenge.reportId, expiresAt: challenge.expiresAt },
    ]);
    expect(await shown(sender)).toMatchObject({
      challengesExpired: 1,
      lastReport: { attestation: 'expired' },
    });
    expect(await at(expiresMs + over, () => expireChallenges(service.services))).toBe(0);
    // by a clock that is behind, too
    const late = await sender.attest(challenge);
    expect([late.status, late.body.code, late.body.reason]).toEqual([
      422,
      'CHALLENGE_EXPIRED',
      'challenge_expired',
    ]);
    expect((await sender.work()).status).toBe(202);
  });

  it('a timer records an expired challenge, and no answered one', async () => {
    const [silent, honest] = [await challenged(), await challenged()];
    expect((await honest.sender.attest(honest.challenge)).status).toBe(200);
    await at(Date.now() + over, async () => {
      const stop = startExpiringChallenges(service.services);
      await until(
        () => eventsOf(silent.sender),
        ({ length }) => length === 1,
      );
      stop();
    });
    expect(await eventsOf(honest.sender)).toEqual([]);
    expect(await shown(honest.sender)).toMatchObject({
      challengesExpired: 0,
      lastReport: { attestation: 'verified' },
    });
  });

  it('all expired challenges are recorded, however many are read at a time', async () => {
    const made = [await challenged(), await challenged(), await challenged()];
    await at(Date.now() + over, () => expireChallenges(service.services, 2));
    for (const { sender } of made) expect((await shown(sender)).challengesExpired).toBe(1);
  });

  it('recording expired challenges leaves an intact store', async () => {
    const { problems, ok } = await fsck({ dataDir: service.dataDir, env: {}, deep: true });
    expect([problems, ok]).toEqual([[], true]);
  });
});
