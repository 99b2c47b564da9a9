import { afterEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/service/call/log.ts';
import type { Services } from '../../../src/service/port/services.ts';
import type { OutboundAnswer } from '../../../src/service/hosting/outbound.ts';
import { Scheduler } from '../../../src/service/reports/scheduler.ts';
import { scheduleKind, type StoredSchedule } from '../../../src/service/reports/schedules/stored.ts';
import { dataOf } from '../../../src/service/reports/stored.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { cronSecret } from '../support/reporting.ts';

let service: TestService | undefined;
afterEach(async () => {
  await service?.end();
  service = undefined;
});

async function start(
  scheduler: 'timer' | 'cron',
): Promise<{ on: TestService; tenant: Tenant; projectId: string }> {
  service = await startService({ env: { GOV_SCHEDULER: scheduler, GOV_CRON_SECRET: cronSecret } });
  const tenant = await service.signUp('ada');
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  return { on: service, tenant, projectId };
}

/** A schedule that is due now. */
async function dueSchedule(services: Services, tenant: Tenant, projectId: string): Promise<string> {
  const body = {
    name: 'Due',
    reportTemplateId: 'executive-summary',
    window: 'previous_day',
    cron: '0 6 1 1 *',
    formats: ['json'],
  };
  const { scheduleId } = (await tenant.call('POST', '/reporting/schedules', { body })).body;
  const found = await services.store.document(projectId, scheduleKind, scheduleId);
  if (found === null) throw new Error('expected a schedule');
  const dueMs = Date.now() - 1000;
  const data = JSON.stringify({ ...dataOf<StoredSchedule>(found), nextRunMs: dueMs });
  const { projectId: _own, ...document } = { ...found, dueMs, data };
  expect(await services.store.saveDocuments(projectId, [{ save: document }])).toBe('saved');
  return scheduleId;
}

const statusesOf = async (tenant: Tenant): Promise<string[]> =>
  (await tenant.call('GET', '/reporting/executions')).body.data.map(
    ({ status }: { status: string }) => status,
  );

describe('scheduled work', () => {
  it('with the timer a due schedule becomes a completed report without any call', async () => {
    const { on, tenant, projectId } = await start('timer');
    await dueSchedule(on.services, tenant, projectId);
    on.services.wakeScheduler();
    await expect.poll(() => statusesOf(tenant)).toEqual(['completed']);
  });

  it('without the timer nothing happens until a scheduler calls', async () => {
    const { on, tenant, projectId } = await start('cron');
    const scheduleId = await dueSchedule(on.services, tenant, projectId);
    on.services.wakeScheduler();
    on.services.wakeReports();
    const cron = async (work: string) =>
      (await on.call('POST', `/cron/reporting/${work}`, { headers: { 'x-cron-secret': cronSecret } })).body;
    expect(await statusesOf(tenant)).toEqual([]);
    const [created] = (await cron('schedules')).createdIds;
    expect(await statusesOf(tenant)).toEqual(['queued']);
    expect(await cron('executions')).toMatchObject({ processed: 1, succeeded: 1 });
    expect(await statusesOf(tenant)).toEqual(['completed']);
    expect((await tenant.call('GET', `/reporting/executions/${created}`)).body.scheduleId).toBe(scheduleId);
    const { nextDueAt } = await cron('cleanup');
    expect(Date.parse(nextDueAt)).toBeGreaterThan(Date.now() + 80 * 86_400_000);
  });

  it('calls at once while the timer runs make one report', async () => {
    const { on, tenant, projectId } = await start('timer');
    await dueSchedule(on.services, tenant, projectId);
    on.services.wakeScheduler();
    await Promise.all(Array.from({ length: 4 }, () => on.services.runScheduled('schedules')));
    // the timer may have the schedule and still work on it
    await vi.waitFor(async () => expect(await statusesOf(tenant)).toHaveLength(1), 10_000);
    await on.services.runScheduled('schedules');
    await on.services.runScheduled('executions');
    expect(await statusesOf(tenant)).toHaveLength(1);
  });

  it('a receiver that answers late delays no schedule', async () => {
    const { on, tenant, projectId } = await start('cron');
    const body = {
      reportTemplateId: 'executive-summary',
      formats: ['json'],
      parameters: { startTime: '2026-01-01T00:00:00.000Z', endTime: '2026-01-01T23:59:59.999Z' },
      deliveries: [
        {
          channel: 'webhook',
          target: 'https://hooks.example/',
          format: 'json',
          secret: `whsec_${Buffer.alloc(24).toString('base64')}`,
        },
      ],
    };
    await tenant.call('POST', '/reporting/executions', { body });
    await on.services.runScheduled('executions');
    const late = Promise.withResolvers<OutboundAnswer>();
    const post = vi.fn(() => late.promise);
    const scheduler = new Scheduler({ ...on.services, outbound: { post } }, { hasTimer: true });
    scheduler.start();
    await vi.waitFor(() => expect(post).toHaveBeenCalled(), 10_000);
    await dueSchedule(on.services, tenant, projectId);
    scheduler.wake();
    await vi.waitFor(async () => expect(await statusesOf(tenant)).toHaveLength(2), 10_000);
    const answer = { ok: true, statusCode: 204, retryAfterMs: null, durationMs: 1 };
    late.resolve({ ...answer, failed: null, isFinal: false });
    await scheduler.stop();
  });

  it('work that fails is logged once, and the timer goes on', async () => {
    const { on } = await start('cron');
    const lines: string[] = [];
    const claim = vi.fn(() => Promise.reject(new Error('the disk is gone')));
    const store = new Proxy(on.services.store, {
      get: (target, name) => {
        if (name === 'claimDocument') return claim;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const log = { ...silentLog, error: (_: unknown, message: string) => void lines.push(message) };
    const scheduler = new Scheduler({ ...on.services, store, log }, { hasTimer: true });
    scheduler.start();
    for (let n = 0; n < 3; n++) {
      const before = claim.mock.calls.length;
      scheduler.wake();
      await vi.waitFor(() => expect(claim.mock.calls.length).toBeGreaterThan(before), 20_000);
    }
    await expect.poll(() => lines.length).toBeGreaterThan(0);
    await scheduler.stop();
    expect(lines).toEqual(['scheduled work of reports failed']);
  });
});
