import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { Services } from '../../../../src/service/port/services.ts';
import { scheduleKind } from '../../../../src/service/reports/schedules/stored.ts';
import type { Answer } from '../../../support/answer.ts';
import {
  receiverAt,
  at,
  build,
  startReporting,
  webhookSecret,
  work,
  type Reporting,
} from '../../support/reporting.ts';

const input = {
  name: 'Weekly',
  reportTemplateId: 'executive-summary',
  window: 'previous_week',
  cron: '0 6 * * MON',
  timezone: 'Europe/Zurich',
};

let on: Reporting;
let services: Services;
beforeAll(async () => {
  on = await startReporting();
  ({ services } = on.service);
});
afterAll(() => on.end());

const post = (members: object = {}, headers = {}): Promise<Answer> =>
  on.tenant.call('POST', '/reporting/schedules', { body: { ...input, ...members }, headers });

describe('a schedule', () => {
  it('has defaults, and is due at the next time of its expression in its zone', async () => {
    const { status, body, headers } = await post();
    expect(status).toBe(201);
    expect(headers.location).toBe(`/api/v1/reporting/schedules/${body.scheduleId}`);
    expect(body).toMatchObject({
      ...input,
      formats: ['pdf'],
      title: null,
      locale: 'en',
      runId: null,
      deliveries: [],
      enabled: true,
      backfill: false,
      lastRunAt: null,
      lastExecutionId: null,
      errorSummary: null,
    });
    const local = new Date(body.nextRunAt).toLocaleString('en-GB', {
      timeZone: 'Europe/Zurich',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    });
    expect(local).toBe('Mon 06:00');
    expect((await on.tenant.call('GET', `/reporting/schedules/${body.scheduleId}`)).body).toEqual(body);
    const { data } = (await on.tenant.call('GET', '/reporting/schedules')).body;
    expect(data).toContainEqual(body);
  });

  it('shows masked targets and no secret, also in the log and in the store', async () => {
    const target = `https://127.0.0.1:${on.hookPort}/in/secret-path`;
    const deliveries = [
      { channel: 'webhook', target, format: 'pdf', secret: webhookSecret },
      { channel: 'email', target: 'ada@example.org', format: 'pdf' },
    ];
    const created = await post({ deliveries });
    expect(created.body.deliveries).toEqual([
      { channel: 'webhook', target: `https://127.0.0.1:${on.hookPort}/…`, format: 'pdf', disabledAt: null },
      { channel: 'email', target: 'a…@example.org', format: 'pdf', disabledAt: null },
    ]);
    const events = await on.tenant.call('GET', '/events?runId=gov.system&limit=1000');
    expect(events.text).toContain('report_schedule.created');
    const document = await services.store.document(on.projectId, scheduleKind, created.body.scheduleId);
    for (const text of [created.text, events.text, document?.data ?? '']) {
      expect(text).not.toContain(webhookSecret);
      expect(text).not.toContain('secret-path');
    }
  });

  it.each([
    [{ cron: '0 0 30 2 *' }, '/cron', 'whose day never exists'],
    [{ cron: '* * * * * *' }, '/cron', 'five fields'],
    [{ timezone: 'Mars/Base' }, '/timezone', 'IANA'],
    [{ locale: 'x y' }, '/locale', 'BCP 47'],
    [{ window: 'previous_year' }, '/window', ''],
    [{ formats: [] }, '/formats', ''],
    [{ name: '' }, '/name', ''],
    [
      { deliveries: [{ channel: 'email', target: 'a@b.example', format: 'csv' }] },
      '/deliveries/0/format',
      'pdf',
    ],
    [
      { deliveries: [{ channel: 'email', target: 'a@b.example\r\nBcc: c@d.example', format: 'pdf' }] },
      '/deliveries/0/target',
      '',
    ],
    [
      { deliveries: [{ channel: 'file', target: 'a.pdf', format: 'pdf' }] },
      '/deliveries/0/channel',
      'deliveryDir of a plane',
    ],
    [
      { deliveries: [{ channel: 'webhook', target: 'https://a.example/', format: 'pdf' }] },
      '/deliveries/0/secret',
      'whsec_',
    ],
  ])('is refused with the member at fault: %j', async (members, pointer, part) => {
    const { status, body } = await post(members);
    expect([status, body.errors[0].pointer]).toEqual([400, pointer]);
    expect(body.errors[0].detail).toContain(part);
  });

  it('for an unknown template is refused with 404', async () => {
    expect((await post({ reportTemplateId: 'nobodys' })).status).toBe(404);
  });

  it('with the idempotency key of an earlier request is that schedule', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await post({ name: 'Once' }, headers);
    const second = await post({ name: 'Once' }, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotent-replayed']).toBe('true');
    const { data } = (await on.tenant.call('GET', '/reporting/schedules?limit=200')).body;
    expect(data.filter(({ name }: Answer['body']) => name === 'Once')).toHaveLength(1);
  });

  it('keeps what a change does not name, and takes back what an answer said', async () => {
    const deliveries = [{ channel: 'email', target: 'ada@example.org', format: 'pdf' }];
    const { body: created } = await post({ deliveries });
    const path = `/reporting/schedules/${created.scheduleId}`;
    const { nextRunAt, createdAt, scheduleId } = created;
    const renamed = await on.tenant.call('PUT', path, {
      body: { name: 'Renamed', scheduleId, nextRunAt, createdAt },
    });
    expect(renamed.body).toEqual({ ...created, name: 'Renamed', updatedAt: renamed.body.updatedAt });
    const moved = await on.tenant.call('PUT', path, {
      body: { cron: '0 6 1 * *', window: 'previous_month' },
    });
    expect(moved.body.nextRunAt).not.toBe(nextRunAt);
    expect(moved.body.deliveries).toHaveLength(1);
    const emptied = await on.tenant.call('PUT', path, { body: { deliveries: [], title: 'Mine' } });
    expect([emptied.body.deliveries, emptied.body.title]).toEqual([[], 'Mine']);
    expect((await on.tenant.call('PUT', path, { body: { title: null } })).body.title).toBe(null);
    expect((await on.tenant.call('PUT', path, { body: { cron: '0 0 30 2 *' } })).status).toBe(400);
    expect((await on.tenant.call('PUT', path, { body: { nextRunAt: '2030-01-01T00:00:00Z' } })).status).toBe(
      400,
    );
  });

  it('can be disabled, enabled and deleted', async () => {
    const { body } = await post({ enabled: false });
    const path = `/reporting/schedules/${body.scheduleId}`;
    expect([body.enabled, body.nextRunAt]).toEqual([false, null]);
    expect((await on.tenant.call('PUT', path, { body: { enabled: true } })).body.nextRunAt).not.toBe(null);
    expect((await on.tenant.call('DELETE', path)).status).toBe(204);
    expect((await on.tenant.call('GET', path)).status).toBe(404);
    expect((await on.tenant.call('DELETE', path)).status).toBe(404);
  });

  it('whose receiver answers 410 Gone no longer delivers to it', async () => {
    const receiver = await receiverAt(on, (response) => void response.writeHead(410).end());
    const target = `https://127.0.0.1:${on.hookPort}/gone`;
    const deliveries = [{ channel: 'webhook', target, format: 'json', secret: webhookSecret }];
    const { body } = await post({ deliveries, formats: ['json'], cron: '0 6 * * *', window: 'previous_day' });
    const dueMs = Date.parse(body.nextRunAt);
    const later = 40 * 86_400_000;
    await work(at(services, dueMs), 'schedules');
    await build(at(services, dueMs));
    // schedules of other tests may be due by then too
    await work(at(services, dueMs), 'deliveries');
    const sent = () => receiver.requests.filter(({ path }) => path === '/gone');
    expect(sent()).toHaveLength(1);
    const path = `/reporting/schedules/${body.scheduleId}`;
    const [gone] = (await on.tenant.call('GET', path)).body.deliveries;
    expect(gone.disabledAt).not.toBe(null);
    await work(at(services, dueMs + later), 'schedules');
    await build(at(services, dueMs + later));
    await work(at(services, dueMs + later), 'deliveries');
    expect(sent()).toHaveLength(1);
    await receiver.close();
    const again = await on.tenant.call('PUT', path, { body: { deliveries } });
    expect(again.body.deliveries[0].disabledAt).toBe(null);
  });

  it('beyond the limit of the project is refused, and one more fits after a deletion', async () => {
    const count = async (): Promise<number> =>
      (await on.tenant.call('GET', '/reporting/schedules?limit=200')).body.data.length;
    for (let n = await count(); n < limits.schedulesKept; n++) expect((await post()).status).toBe(201);
    const { status, body } = await post();
    expect([status, body.detail]).toEqual([
      409,
      expect.stringContaining(`fewer than ${limits.schedulesKept}`),
    ]);
    const [{ scheduleId }] = (await on.tenant.call('GET', '/reporting/schedules')).body.data;
    await on.tenant.call('DELETE', `/reporting/schedules/${scheduleId}`);
    expect((await post()).status).toBe(201);
  });
});
