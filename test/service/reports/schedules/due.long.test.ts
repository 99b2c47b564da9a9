import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { formatTimestamp } from '../../../../src/core/time.ts';
import type { Services } from '../../../../src/service/port/services.ts';
import { queueReport } from '../../../../src/service/reports/queue.ts';
import { inputOf } from '../../../../src/service/reports/schedules/input.ts';
import { scheduleKind, type StoredSchedule } from '../../../../src/service/reports/schedules/stored.ts';
import { dataOf } from '../../../../src/service/reports/stored.ts';
import type { Answer } from '../../../support/answer.ts';
import { engines } from '../../../support/hosted.ts';
import { at, build, startReporting, work, type Reporting } from '../../support/reporting.ts';

const hour = 3_600_000;
const day = 24 * hour;

describe.each(engines)('schedules on %s', (engine) => {
  let on: Reporting;
  let services: Services;
  beforeAll(async () => {
    on = await startReporting({ engine });
    ({ services } = on.service);
  });
  afterAll(() => on.end());
  beforeEach(async () => {
    const { data } = (await on.tenant.call('GET', '/reporting/schedules')).body;
    for (const { scheduleId } of data) await on.tenant.call('DELETE', `/reporting/schedules/${scheduleId}`);
    await build(at(services, Date.now() + 400 * day));
  });

  async function create(members: object = {}): Promise<{ scheduleId: string; dueMs: number }> {
    const body = {
      name: 'Daily',
      reportTemplateId: 'executive-summary',
      window: 'previous_day',
      cron: '30 6 * * *',
      timezone: 'Europe/Berlin',
      formats: ['json'],
      ...members,
    };
    const created = await on.tenant.call('POST', '/reporting/schedules', { body });
    expect(created.status, created.text).toBe(201);
    const { scheduleId, nextRunAt } = created.body;
    return { scheduleId, dueMs: Date.parse(nextRunAt) };
  }
  const shown = async (scheduleId: string): Promise<Answer['body']> =>
    (await on.tenant.call('GET', `/reporting/schedules/${scheduleId}`)).body;
  const reportsOf = async (scheduleId: string): Promise<Answer['body'][]> =>
    (await on.tenant.call('GET', '/reporting/executions?limit=200')).body.data.filter(
      (each: Answer['body']) => each.scheduleId === scheduleId,
    );

  it('a schedule makes no report before it is due, and one with its period then', async () => {
    const { scheduleId, dueMs } = await create();
    expect(await work(at(services, dueMs - 1), 'schedules')).toMatchObject({ processed: 0 });
    const counts = await work(at(services, dueMs), 'schedules');
    expect(counts).toMatchObject({ processed: 1, succeeded: 1, skipped: 0 });
    const [report] = await reportsOf(scheduleId);
    expect(counts.createdIds).toEqual([report.executionId]);
    const { startTime, endTime } = report.parameters;
    const length = Date.parse(endTime) + 1 - Date.parse(startTime);
    expect([23, 24, 25]).toContain(length / hour);
    expect(Date.parse(endTime)).toBeLessThan(dueMs - 6 * hour);
    expect(report).toMatchObject({ status: 'queued', timezone: 'Europe/Berlin', formats: ['json'] });
    expect(await shown(scheduleId)).toMatchObject({
      lastRunAt: formatTimestamp(dueMs),
      lastExecutionId: report.executionId,
      errorSummary: null,
    });
    expect(Date.parse((await shown(scheduleId)).nextRunAt)).toBeGreaterThan(dueMs + 22 * hour);
    expect(await work(at(services, dueMs + hour), 'schedules')).toMatchObject({ processed: 0 });
  });

  it('several workers at once make each report exactly once', async () => {
    const made = [];
    for (let n = 0; n < 12; n++) made.push(await create({ name: `n${n}` }));
    const { dueMs } = made[0]!;
    const other = engine === 'postgres' ? (await on.service.again()).services : services;
    const counts = await Promise.all(
      [services, other, services, other].map((each) => work(at(each, dueMs), 'schedules')),
    );
    expect(counts.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(12);
    for (const { scheduleId } of made) expect(await reportsOf(scheduleId)).toHaveLength(1);
  });

  it('a process that ends between the report and the schedule leaves one report and no second', async () => {
    const { scheduleId, dueMs } = await create();
    const claim = { kind: scheduleKind, statuses: ['enabled'], nowMs: dueMs, leaseMs: 60_000 };
    const claimed = (await services.store.claimDocument(claim))!;
    const stored = dataOf<StoredSchedule>(claimed);
    const by = { id: scheduleId, type: 'schedule' };
    const dueAt = formatTimestamp(dueMs);
    await queueReport(services, on.projectId, inputOf(stored, dueMs, services.seal), {
      by,
      scheduleId,
      dueAt,
    });
    // the process ends here; the lease passes
    expect(await work(at(services, dueMs + 59_000), 'schedules')).toMatchObject({ processed: 0 });
    expect(await work(at(services, dueMs + 61_000), 'schedules')).toMatchObject({ processed: 1, skipped: 1 });
    expect(await reportsOf(scheduleId)).toHaveLength(1);
    const { nextRunAt, lastExecutionId } = await shown(scheduleId);
    expect(Date.parse(nextRunAt)).toBeGreaterThan(dueMs + 61_000);
    expect(lastExecutionId).toBe((await reportsOf(scheduleId))[0].executionId);
  });

  it('after a pause of days a schedule makes the newest report only', async () => {
    const { scheduleId, dueMs } = await create();
    const nowMs = dueMs + 5 * day + hour;
    expect(await work(at(services, nowMs), 'schedules')).toMatchObject({ processed: 1, succeeded: 1 });
    const { lastRunAt, nextRunAt } = await shown(scheduleId);
    expect(nowMs - Date.parse(lastRunAt)).toBeLessThanOrEqual(2 * hour);
    expect(Date.parse(nextRunAt)).toBeGreaterThan(nowMs);
    expect(await work(at(services, nowMs), 'schedules')).toMatchObject({ processed: 0 });
  });

  it('with backfill it makes up for each missed time of the last seven days', async () => {
    const { scheduleId, dueMs } = await create({ backfill: true, timezone: 'UTC' });
    const nowMs = dueMs + 3 * day;
    expect(await work(at(services, nowMs), 'schedules')).toMatchObject({ processed: 4, succeeded: 4 });
    const ends = (await reportsOf(scheduleId)).map(({ parameters }) => parameters.endTime);
    expect(new Set(ends).size).toBe(4);
    await build(at(services, Date.now() + 400 * day));
    const later = nowMs + 30 * day;
    expect(await work(at(services, later), 'schedules')).toMatchObject({ processed: 8, succeeded: 8 });
    expect(Date.parse((await shown(scheduleId)).nextRunAt)).toBe(later + day);
  });

  it('many missed times are made up for in steps, none twice', async () => {
    const { scheduleId, dueMs } = await create({ backfill: true, timezone: 'UTC', cron: '0 */6 * * *' });
    const nowMs = dueMs + 7 * day - hour;
    await work(at(services, nowMs), 'schedules');
    // as many as may wait
    expect(await reportsOf(scheduleId)).toHaveLength(limits.reportsOpen);
    await build(at(services, Date.now() + 400 * day));
    await work(at(services, nowMs + 61_000), 'schedules');
    expect(await reportsOf(scheduleId)).toHaveLength(28);
  });

  it('a project with too many open reports delays its schedules and loses none', async () => {
    const made = [];
    for (let n = 0; n < limits.reportsOpen + 10; n++) made.push(await create({ name: `n${n}` }));
    const { dueMs } = made[0]!;
    const first = await work(at(services, dueMs), 'schedules');
    expect(first.succeeded + first.skipped).toBe(limits.reportsOpen + 10);
    expect(first.skipped).toBeGreaterThanOrEqual(1);
    const waiting = (await on.tenant.call('GET', '/reporting/schedules?limit=200')).body.data.find(
      ({ errorSummary }: Answer['body']) => errorSummary !== null,
    );
    expect(waiting.errorSummary).toMatch(/^REPORT_LIMIT: /);
    await build(at(services, Date.now() + 400 * day));
    await work(at(services, dueMs + 61_000), 'schedules');
    for (const { scheduleId } of made) {
      expect(await reportsOf(scheduleId)).toHaveLength(1);
      expect((await shown(scheduleId)).errorSummary).toBe(null);
    }
  });

  it('a schedule that cannot make its report says why, and tries its next time', async () => {
    const { scheduleId, dueMs } = await create({
      deliveries: [{ channel: 'email', target: 'ada@example.org', format: 'json' }],
    });
    const { mail: _gone, ...outbound } = services.outbound;
    const without = { ...at(services, dueMs), outbound };
    expect(await work(without, 'schedules')).toMatchObject({ processed: 1, failed: 1 });
    const { errorSummary, nextRunAt } = await shown(scheduleId);
    expect(errorSummary).toMatch(/^VALIDATION_ERROR: .*smtp/);
    expect(Date.parse(nextRunAt)).toBeGreaterThan(dueMs);
    expect(await work(at(services, Date.parse(nextRunAt)), 'schedules')).toMatchObject({ succeeded: 1 });
  });

  it('a schedule that is disabled or deleted while it is due makes no report', async () => {
    const disabled = await create();
    const deleted = await create();
    const path = `/reporting/schedules/${disabled.scheduleId}`;
    await on.tenant.call('PUT', path, { body: { enabled: false } });
    expect((await shown(disabled.scheduleId)).nextRunAt).toBe(null);
    await on.tenant.call('DELETE', `/reporting/schedules/${deleted.scheduleId}`);
    expect(await work(at(services, disabled.dueMs), 'schedules')).toMatchObject({ processed: 0 });
    const { body } = await on.tenant.call('PUT', path, { body: { enabled: true } });
    expect(Date.parse(body.nextRunAt)).toBeGreaterThan(Date.now());
  });

  it('a deleted project makes no report and sends no mail', async () => {
    const bob = await on.service.signUp('bob');
    const { projectId } = (await bob.call('GET', '/auth/identity')).body;
    const deliveries = [{ channel: 'email', target: 'bob@example.org', format: 'json' }];
    const parameters = { startTime: '2026-02-01T00:00:00Z', endTime: '2026-02-02T00:00:00Z' };
    const asked = { reportTemplateId: 'executive-summary', formats: ['json'], deliveries };
    const waiting = await bob.call('POST', '/reporting/executions', { body: { ...asked, parameters } });
    expect(waiting.status, waiting.text).toBe(202);
    await build(services);
    const schedule = { ...asked, name: 'Daily', window: 'previous_day', cron: '30 6 * * *' };
    const made = await bob.call('POST', '/reporting/schedules', { body: schedule });
    expect(made.status, made.text).toBe(201);
    expect((await bob.call('DELETE', `/projects/${projectId}`)).status).toBe(200);
    const later = at(services, Date.parse(made.body.nextRunAt));
    expect(await work(later, 'schedules')).toMatchObject({ processed: 1, failed: 1, createdIds: [] });
    const mails = on.mailbox.mails.length;
    expect(await work(services, 'deliveries')).toMatchObject({ succeeded: 0, failed: 1 });
    expect(on.mailbox.mails).toHaveLength(mails);
  });

  it('a change of the name while a schedule is due keeps its report', async () => {
    const { scheduleId, dueMs } = await create();
    const later = at(services, dueMs + hour);
    await on.tenant.call('PUT', `/reporting/schedules/${scheduleId}`, { body: { name: 'Renamed' } });
    expect(await work(later, 'schedules')).toMatchObject({ succeeded: 1 });
    expect((await shown(scheduleId)).name).toBe('Renamed');
  });
});
