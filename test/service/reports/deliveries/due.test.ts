import { createHash, createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fileSender } from '../../../../src/host/outbound/folder.ts';
import type { Services } from '../../../../src/service/port/services.ts';
import { queueReport } from '../../../../src/service/reports/queue.ts';
import { attachmentOf, headerOf } from '../../../host/outbound/mailbox.ts';
import type { Receiver } from '../../../support/network/receiver.ts';
import type { Answer } from '../../../support/answer.ts';
import {
  at,
  build,
  receiverAt,
  startReporting,
  webhookSecret,
  work,
  type Reporting,
} from '../../support/reporting.ts';

let on: Reporting;
let services: Services;
let receiver: Receiver | undefined;
beforeAll(async () => {
  on = await startReporting({ mailbox: { unknown: ['nobody@example.org'] } });
  ({ services } = on.service);
});
afterAll(() => on.end());
afterEach(async () => {
  await receiver?.close();
  receiver = undefined;
  // ends what a test leaves: its report has expired by then
  await work(at(services, Date.now() + 91 * 86_400_000), 'deliveries');
});

const email = (target = 'ada@example.org', format = 'json') => ({ channel: 'email', target, format });
const webhook = (path = '/in') => ({
  channel: 'webhook',
  target: `https://127.0.0.1:${on.hookPort}${path}`,
  format: 'csv',
  secret: webhookSecret,
});

/** A completed report with these deliveries, which are due. */
async function reported(...deliveries: object[]): Promise<{ executionId: string; deliveryIds: string[] }> {
  const body = {
    reportTemplateId: 'executive-summary',
    formats: ['csv', 'json'],
    title: 'Summary of März',
    timezone: 'Europe/Zurich',
    parameters: { startTime: '2026-02-28T23:00:00Z', endTime: '2026-03-31T21:59:59.999Z' },
    deliveries,
  };
  const created = await on.tenant.call('POST', '/reporting/executions', { body });
  expect(created.status, created.text).toBe(202);
  const { executionId } = created.body;
  await build(services);
  const { data } = (await on.tenant.call('GET', `/reporting/deliveries?executionId=${executionId}`)).body;
  return { executionId, deliveryIds: data.map((each: Answer['body']) => each.deliveryId).toReversed() };
}

const shown = async (deliveryId: string | undefined): Promise<Answer['body']> =>
  (await on.tenant.call('GET', `/reporting/deliveries/${deliveryId}`)).body;

const eventsOf = async (deliveryId: string | undefined): Promise<string[]> => {
  const { events } = (await on.tenant.call('GET', '/events?runId=gov.system&limit=1000')).body;
  return events
    .filter(({ resource }: Answer['body']) => resource.id === deliveryId)
    .map(({ eventType }: Answer['body']) => eventType);
};

describe('a due delivery', () => {
  it('by e-mail arrives with the artifact, and the log says that the report left', async () => {
    const { executionId, deliveryIds } = await reported(email());
    expect(await shown(deliveryIds[0])).toMatchObject({
      status: 'pending',
      attempts: 0,
      target: 'a…@example.org',
    });
    expect(await work(services, 'deliveries')).toMatchObject({ processed: 1, succeeded: 1 });
    const mail = on.mailbox.mails.at(-1)!;
    expect(mail.to).toEqual(['ada@example.org']);
    expect(headerOf(mail, 'Message-ID')).toBe(`<${deliveryIds[0]}@gov.example>`);
    const attached = attachmentOf(mail, `executive-summary-${executionId}.json`)!;
    const { artifacts, signature } = (await on.tenant.call('GET', `/reporting/executions/${executionId}`))
      .body;
    const beside = attachmentOf(mail, `executive-summary-${executionId}.dsse.json`)!;
    expect(beside.toString()).toBe(JSON.stringify(signature));
    const { sha256 } = artifacts.find(({ format }: Answer['body']) => format === 'json');
    expect(`sha256:${createHash('sha256').update(attached).digest('hex')}`).toBe(sha256);
    // quoted-printable (RFC 2045) breaks long lines
    expect(mail.raw.replaceAll('=\r\n', '')).toContain(sha256.slice(7));
    expect(await shown(deliveryIds[0])).toMatchObject({
      status: 'delivered',
      attempts: 1,
      lastStatusCode: 250,
      nextAttemptAt: null,
      errorSummary: null,
    });
    expect(await eventsOf(deliveryIds[0])).toEqual(['report.delivered']);
  });

  it('by webhook is signed as Standard Webhooks defines, and contains the artifact', async () => {
    receiver = await receiverAt(on);
    const { executionId, deliveryIds } = await reported(webhook('/in?team=1'));
    expect(await work(services, 'deliveries')).toMatchObject({ succeeded: 1 });
    const [{ path, headers, body }] = receiver.requests as [Receiver['requests'][number]];
    expect(path).toBe('/in?team=1');
    expect(headers['webhook-id']).toBe(deliveryIds[0]);
    const key = Buffer.from(webhookSecret.slice(6), 'base64');
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', key).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    const { type, data } = JSON.parse(body);
    expect([type, data.executionId, data.format]).toEqual(['report.delivered', executionId, 'csv']);
    const content = Buffer.from(data.content, 'base64');
    expect(createHash('sha256').update(content).digest('hex')).toBe(data.sha256);
    expect(await shown(deliveryIds[0])).toMatchObject({
      status: 'delivered',
      target: `https://127.0.0.1:${on.hookPort}/…`,
    });
    const answers = await on.tenant.call('GET', `/reporting/executions/${executionId}`);
    expect(answers.text).not.toContain(webhookSecret.slice(6));
    expect(answers.text).not.toContain('team=1');
  });

  it.each([
    ['json', true],
    ['csv', false],
  ])('of a %s has the signature of the log beside it: %s', async (format, isSigned) => {
    receiver = await receiverAt(on);
    const { executionId } = await reported({ ...webhook(), format });
    expect(await work(services, 'deliveries')).toMatchObject({ succeeded: 1 });
    const { signature } = (await on.tenant.call('GET', `/reporting/executions/${executionId}`)).body;
    expect(signature.payloadType).toBe('application/vnd.in-toto+json');
    expect(JSON.parse(receiver.requests[0]!.body).data.signature).toEqual(isSigned ? signature : null);
  });

  it('of a JSON file writes its signature beside it, and a repetition after a crash changes neither', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-delivered-'));
    const withFiles = { ...services, outbound: { ...services.outbound, file: fileSender(folder) } };
    const { executionId } = await queueReport(
      withFiles,
      on.projectId,
      {
        reportTemplateId: 'executive-summary',
        formats: ['csv', 'json'],
        parameters: { startTime: '2026-03-01T00:00:00Z', endTime: '2026-03-31T00:00:00Z' },
        deliveries: [
          { channel: 'file', target: '{date}/{template}.{format}', format: 'json' },
          { channel: 'file', target: '{date}/{template}.{format}', format: 'csv' },
        ],
      },
      { by: { id: 'key_test', type: 'api_key' } },
    );
    await build(services);
    const names = ['executive-summary.csv', 'executive-summary.dsse.json', 'executive-summary.json'];
    // as a crash leaves it between the two files
    const { body } = await on.tenant.call('GET', `/reporting/executions/${executionId}`);
    mkdirSync(join(folder, '2026-03-31'));
    writeFileSync(join(folder, '2026-03-31', names[1]!), JSON.stringify(body.signature));
    expect(await work(withFiles, 'deliveries')).toMatchObject({ succeeded: 2 });
    expect(readdirSync(join(folder, '2026-03-31')).toSorted()).toEqual(names);
    const read = (name: string): Buffer => readFileSync(join(folder, '2026-03-31', name));
    const report = createHash('sha256').update(read(names[2]!)).digest('hex');
    expect(Buffer.from(JSON.parse(read(names[1]!).toString()).payload, 'base64').toString()).toContain(
      report,
    );
  });

  it('is stored with its address sealed, and one of an earlier version is sent too', async () => {
    receiver = await receiverAt(on);
    const { deliveryIds } = await reported(webhook('/sealed?team=1'), webhook('/old?team=2'));
    const { store, seal } = services;
    const stored = await Promise.all(
      deliveryIds.map(async (id) => (await store.document(on.projectId, 'delivery', id))!),
    );
    expect(stored.map(({ data }) => data.includes('team='))).toEqual([false, false]);
    const whole = (data: string): string => seal.open(JSON.parse(data).sealedTarget)!;
    // the deliveries of a report are made at one time, so their order is random
    const { projectId: _own, ...save } = stored.find(({ data }) => whole(data).endsWith('team=2'))!;
    const { sealedTarget: _sealed, ...data } = JSON.parse(save.data);
    const old = { ...save, data: JSON.stringify({ ...data, target: whole(save.data) }) };
    expect(old.data).toContain('team=2');
    expect(await store.saveDocuments(on.projectId, [{ save: old }])).toBe('saved');
    expect(await work(services, 'deliveries')).toMatchObject({ succeeded: 2 });
    expect(receiver.requests.map(({ path }) => path).toSorted()).toEqual(['/old?team=2', '/sealed?team=1']);
    expect(await shown(old.documentId)).toMatchObject({ target: `https://127.0.0.1:${on.hookPort}/…` });
  });

  it('is repeated by the table of the contract, with the same id, until it succeeds', async () => {
    const codes = [500, 503, 204];
    receiver = await receiverAt(on, (response) => void response.writeHead(codes.shift() ?? 204).end());
    const { deliveryIds } = await reported(webhook());
    const start = Date.now();
    expect(await work(at(services, start), 'deliveries')).toMatchObject({ processed: 1, skipped: 1 });
    const { status, nextAttemptAt, lastStatusCode, errorSummary } = await shown(deliveryIds[0]);
    expect([status, lastStatusCode, errorSummary]).toEqual(['pending', 500, 'the receiver answered 500']);
    const first = Date.parse(nextAttemptAt) - start;
    expect(first).toBeGreaterThanOrEqual(4000);
    expect(first).toBeLessThanOrEqual(6000);
    expect(await work(at(services, start + first - 1), 'deliveries')).toMatchObject({ processed: 0 });
    await work(at(services, start + first), 'deliveries');
    const second = Date.parse((await shown(deliveryIds[0])).nextAttemptAt) - start - first;
    expect(second).toBeGreaterThanOrEqual(240_000);
    expect(second).toBeLessThanOrEqual(360_000);
    expect(await work(at(services, start + first + second), 'deliveries')).toMatchObject({ succeeded: 1 });
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set(deliveryIds),
    );
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1);
    expect(await work(at(services, start + 1e9), 'deliveries')).toMatchObject({ processed: 0 });
  });

  it('waits as long as Retry-After says, and up to a fifth longer', async () => {
    receiver = await receiverAt(
      on,
      (response) => void response.writeHead(429, { 'retry-after': '7200' }).end(),
    );
    const { deliveryIds } = await reported(webhook());
    const start = Date.now();
    await work(at(services, start), 'deliveries');
    const nextMs = Date.parse((await shown(deliveryIds[0])).nextAttemptAt);
    expect(nextMs).toBeGreaterThanOrEqual(start + 7_200_000);
    expect(nextMs).toBeLessThanOrEqual(start + 1.2 * 7_200_000);
    await work(at(services, nextMs), 'deliveries');
    for (let nowMs = start; (await shown(deliveryIds[0])).status !== 'failed'; nowMs += 86_400_000)
      await work(at(services, nowMs), 'deliveries');
    expect(await shown(deliveryIds[0])).toMatchObject({
      attempts: 10,
      status: 'failed',
      nextAttemptAt: null,
    });
    expect(receiver.requests).toHaveLength(10);
    expect(await eventsOf(deliveryIds[0])).toEqual(['delivery.failed']);
  });

  it('a recipient that does not exist fails at once, and the log says so', async () => {
    const { deliveryIds } = await reported(email('nobody@example.org'));
    expect(await work(services, 'deliveries')).toMatchObject({ processed: 1, failed: 1 });
    expect(await shown(deliveryIds[0])).toMatchObject({ status: 'failed', attempts: 1, lastStatusCode: 550 });
    expect(await eventsOf(deliveryIds[0])).toEqual(['delivery.failed']);
  });

  it('a redirect and an address inside our networks are no success', async () => {
    receiver = await receiverAt(
      on,
      (response) => void response.writeHead(302, { location: 'https://a.example/' }).end(),
    );
    const { deliveryIds } = await reported(webhook(), { ...webhook(), target: 'https://10.0.0.1/in' });
    await work(services, 'deliveries');
    const deliveries = await Promise.all(deliveryIds.map(shown));
    const to = (host: string) => deliveries.find(({ target }) => target.includes(host));
    expect(to('127.0.0.1')).toMatchObject({ status: 'pending', lastStatusCode: 302 });
    expect(to('10.0.0.1')).toMatchObject({ status: 'failed', lastStatusCode: null });
    expect(receiver.requests).toHaveLength(1);
  });

  it('is sent again under the same id where the process ended between sending and storing', async () => {
    const { deliveryIds } = await reported(email());
    const before = on.mailbox.mails.length;
    const start = Date.now();
    // the store is gone after the mail was sent
    const dying = {
      ...at(services, start),
      store: new Proxy(services.store, {
        get: (store, name) => {
          if (name === 'append') return () => Promise.reject(new Error('the process ended'));
          const value = Reflect.get(store, name);
          return typeof value === 'function' ? value.bind(store) : value;
        },
      }),
    };
    expect(await work(dying, 'deliveries')).toMatchObject({ processed: 1, skipped: 1 });
    expect((await shown(deliveryIds[0])).status).toBe('processing');
    // while the lease runs, nobody else has it
    expect(await work(at(services, start + 60_000), 'deliveries')).toMatchObject({ processed: 0 });
    expect(await work(at(services, start + 180_001), 'deliveries')).toMatchObject({ succeeded: 1 });
    const ids = on.mailbox.mails.slice(before).map((mail) => headerOf(mail, 'Message-ID'));
    expect(ids).toEqual([`<${deliveryIds[0]}@gov.example>`, `<${deliveryIds[0]}@gov.example>`]);
    expect(await shown(deliveryIds[0])).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  it('is sent once where two workers look for it at once', async () => {
    const { deliveryIds } = await reported(email(), email('eve@example.org'), email('joan@example.org'));
    const before = on.mailbox.mails.length;
    const counts = await Promise.all([1, 2, 3].map(() => work(services, 'deliveries')));
    expect(counts.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(3);
    expect(on.mailbox.mails.slice(before)).toHaveLength(deliveryIds.length);
  });

  it('fails where the report has expired meanwhile', async () => {
    const { deliveryIds } = await reported(email());
    const before = on.mailbox.mails.length;
    expect(await work(at(services, Date.now() + 91 * 86_400_000), 'deliveries')).toMatchObject({ failed: 1 });
    expect(await shown(deliveryIds[0])).toMatchObject({
      status: 'failed',
      errorSummary: 'the artifact of the report has expired; create the report again',
    });
    expect(on.mailbox.mails).toHaveLength(before);
  });
});

describe('a failed delivery', () => {
  it('can be retried under the same id, and a delivered one cannot', async () => {
    receiver = await receiverAt(
      on,
      (response, _request, count) => void response.writeHead(count === 1 ? 410 : 204).end(),
    );
    const { deliveryIds } = await reported(webhook());
    const path = `/reporting/deliveries/${deliveryIds[0]}/retry`;
    expect((await on.tenant.call('POST', path)).status).toBe(409);
    await work(services, 'deliveries');
    expect(await shown(deliveryIds[0])).toMatchObject({ status: 'failed', lastStatusCode: 410, attempts: 1 });
    const retried = await on.tenant.call('POST', path);
    expect([retried.status, retried.body.status, retried.body.attempts]).toEqual([202, 'pending', 0]);
    await work(services, 'deliveries');
    expect(await shown(deliveryIds[0])).toMatchObject({ status: 'delivered' });
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([
      deliveryIds[0],
      deliveryIds[0],
    ]);
    const again = await on.tenant.call('POST', path);
    expect([again.status, again.body.detail]).toEqual([
      409,
      expect.stringContaining('one that is delivered'),
    ]);
    expect(await eventsOf(deliveryIds[0])).toEqual([
      'delivery.failed',
      'delivery.retried',
      'report.delivered',
    ]);
  });
});
