import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { told } from '../support/tenants.ts';

describe.each(engines)('metering on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
  });
  afterAll(() => service.end());

  const usage = (query = '', environment: 'production' | 'sandbox' = 'sandbox') =>
    acme.call('GET', `/metering/usage${query}`, { environment });

  it('the usage shows this month with the quotas of the environment', async () => {
    const body = { events: [event(), event(), { bad: true }] };
    await acme.call('POST', '/events/batch', { body, environment: 'sandbox' });
    await acme.call('POST', '/proofs', { body: { runId: 'run-1' }, environment: 'sandbox' });
    const now = new Date();
    const resetAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
    const of = (type: string, used: number, limit: number | null) => ({
      type,
      used,
      limit,
      hybrid: 0,
      remaining: limit === null ? null : limit - used,
      resetAt,
    });
    expect((await usage()).body).toEqual({
      period: now.toISOString().slice(0, 7),
      items: [
        of('audit_event', 2, 100_000),
        of('compliance_proof', 1, 1_000),
        of('risk_decision', 0, 10_000),
        of('replay_verification', 0, 1_000),
      ],
    });
    const { items } = (await usage('', 'production')).body;
    expect(items.map(({ limit, remaining }: Record<string, unknown>) => [limit, remaining])).toEqual(
      Array.from({ length: 4 }, () => [null, null]),
    );
  });

  it.each([
    ['2020-02', '2020-03-01T00:00:00.000Z'],
    ['2000-01', '2000-02-01T00:00:00.000Z'],
    ['9998-12', '9999-01-01T00:00:00.000Z'],
  ])('the usage shows no units in %s', async (period, resetAt) => {
    const { body } = await usage(`?period=${period}`);
    expect(body.period).toBe(period);
    expect(body.items.every(({ used }: { used: number }) => used === 0)).toBe(true);
    expect(new Set(body.items.map((item: { resetAt: string }) => item.resetAt))).toEqual(new Set([resetAt]));
  });

  it.each(['2026-13', '2026-00', '2026-1', '26-01', '2026-01-01', '1999-12', '9999-01', ''])(
    'the usage rejects %j as a month',
    async (period) => {
      const { status, body } = await usage(`?period=${period}`);
      expect([status, body.errors[0].pointer]).toEqual([400, '/period']);
    },
  );

  const get = () => acme.call('GET', '/metering/thresholds');
  const put = (percents: unknown) => acme.call('PUT', '/metering/thresholds', { body: { percents } });

  it('thresholds of 50, 80, 90 and 100 % are announced until other thresholds are set', async () => {
    expect((await get()).body).toEqual({ percents: [50, 80, 90, 100] });
    expect((await put([75, 25])).body).toEqual({ percents: [75, 25] });
    expect((await get()).body).toEqual({ percents: [75, 25] });
    await put([75, 25]);
    const changes = (await told(acme.call, 'project.updated')).map(({ metadata }) => metadata['changes']);
    expect(changes).toEqual([{ thresholds: { from: [50, 80, 90, 100], to: [75, 25] } }]);
    const { projectId } = (await acme.call('GET', '/auth/identity')).body;
    const { body } = await acme.call('GET', `/projects/${projectId}`);
    expect(Object.keys(body.settings)).not.toContain('thresholds');
  });

  const first = (length: number) => Array.from({ length }, (_, n) => n + 1);
  it.each([
    ['none', [], 400],
    ['as many as there may be', first(limits.thresholds), 200],
    ['one more', first(limits.thresholds + 1), 400],
    ['0 %', [0], 400],
    ['1 %', [1], 200],
    ['100 %', [100], 200],
    ['101 %', [101], 400],
    ['one twice', [50, 50], 400],
    ['a part of one', [50.5], 400],
  ])('the service accepts or rejects thresholds: %s', async (_, percents, status) => {
    expect((await put(percents)).status).toBe(status);
  });

  it('reading thresholds needs projects:read, and setting them needs projects:write', async () => {
    const { body } = await acme.call('POST', '/api-keys', { body: { name: 'r', scopes: ['projects:read'] } });
    const { key } = body;
    expect((await acme.call('GET', '/metering/usage', { key })).status).toBe(200);
    const refused = await acme.call('PUT', '/metering/thresholds', { key, body: { percents: [50] } });
    expect([refused.status, refused.body.requiredScope]).toEqual([403, 'projects:write']);
  });
});
