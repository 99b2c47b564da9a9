/** Reports at a plane and at a hosted service on both engines: create, wait, download, list, expire. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { reportPeriod } from '../../support/rows.ts';
import { event, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { startWorld, worlds } from '../../support/worlds.ts';
import { reportEnd } from '../support/filled.ts';

const day = 86_400_000;
const input = {
  reportTemplateId: 'integrity-completeness',
  formats: ['json', 'csv'],
  parameters: reportPeriod,
};

describe.each(worlds)('a report on %s', (world) => {
  let at: TestPlane;
  beforeAll(async () => {
    at = await startWorld(world);
    for (const runId of ['one', 'two']) await at.call('POST', '/events', { body: event({ runId }) });
  });
  afterAll(() => at.end());

  const create = async (members: Record<string, unknown> = {}): Promise<Answer['body']> => {
    const created = await at.call('POST', '/reporting/executions', { body: { ...input, ...members } });
    expect(created.status, created.text).toBe(202);
    return created.body;
  };
  const complete = async (members: Record<string, unknown> = {}): Promise<Answer['body']> => {
    const { executionId } = await create(members);
    const ended = await reportEnd(at.call, executionId);
    expect(ended.errorSummary).toBe(null);
    expect(ended.status).toBe('completed');
    return ended;
  };
  const download = (executionId: string, format: string): Promise<Answer> =>
    at.call('GET', `/reporting/executions/${executionId}/download?format=${format}`);

  it('a report is queued, then completed with one artifact of each format', async () => {
    const created = await create();
    expect(created).toMatchObject({ status: 'queued', formats: ['csv', 'json'], summary: null });
    expect(created.artifacts.map((each: Answer['body']) => [each.format, each.status])).toEqual([
      ['csv', 'pending'],
      ['json', 'pending'],
    ]);
    const ended = await reportEnd(at.call, created.executionId);
    expect(ended).toMatchObject({ status: 'completed', errorSummary: null, title: created.title });
    expect(Date.parse(ended.expiresAt) - Date.parse(ended.completedAt)).toBe(limits.reportDays * day);
    for (const artifact of ended.artifacts) {
      const { bytes, headers } = await download(created.executionId, artifact.format);
      const digest = createHash('sha256').update(bytes).digest();
      expect([artifact.sizeBytes, artifact.sha256]).toEqual([
        bytes.length,
        `sha256:${digest.toString('hex')}`,
      ]);
      expect(headers).toMatchObject({
        'repr-digest': `sha-256=:${digest.toString('base64')}:`,
        etag: `"${digest.toString('hex')}"`,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-disposition': `attachment; filename="${input.reportTemplateId}-${created.executionId}.${artifact.format}"`,
      });
    }
  });

  it('the artifacts of a report have one data hash and one signed checkpoint', async () => {
    const { executionId, summary } = await complete();
    const json = (await download(executionId, 'json')).bytes;
    const csv = (await download(executionId, 'csv')).text;
    expect(summary.dataHash).toBe(`sha256:${createHash('sha256').update(json).digest('hex')}`);
    const { log } = JSON.parse(json.toString());
    expect(log).toMatchObject(summary.log);
    expect(log.checkpoint.split('\n')[1]).toBe(String(summary.log.treeSize));
    for (const line of csv.trim().split('\r\n').slice(1)) {
      expect(line).toContain(summary.dataHash);
      expect(line).toContain(`${log.treeSize} ${log.rootHash}`);
    }
  });

  it('a report shows its first rows where they are asked for', async () => {
    const { executionId } = await complete();
    const path = `/reporting/executions/${executionId}`;
    const { data } = (await at.call('GET', `${path}?includeData=true`)).body;
    const json = JSON.parse((await download(executionId, 'json')).text);
    expect(data.columns).toEqual(json.tables[0].columns);
    expect(data.rows).toEqual(json.tables[0].rows.slice(0, 1000));
    expect((await at.call('GET', `${path}?includeData=false`)).body.data).toBeUndefined();
  });

  it('a part of an artifact can be downloaded alone', async () => {
    const { executionId } = await complete();
    const whole = await download(executionId, 'json');
    const path = `/reporting/executions/${executionId}/download?format=json`;
    const part = await at.call('GET', path, { headers: { range: 'bytes=5-14' } });
    expect([part.status, part.text]).toEqual([206, whole.text.slice(5, 15)]);
    const same = await at.call('GET', path, { headers: { 'if-none-match': String(whole.headers['etag']) } });
    expect(same.status).toBe(304);
  });

  it('a format that the report does not have, and a report that is not there, are not found', async () => {
    const { executionId } = await complete();
    const { status, body } = await download(executionId, 'pdf');
    expect([status, body.detail]).toEqual([404, 'the report has no pdf: expected one of csv, json']);
    const none = await download('rex_01jzzzzzzzzzzzzzzzzzzzzzzz', 'csv');
    expect([none.status, none.body.code]).toEqual([404, 'NOT_FOUND']);
    expect((await at.call('GET', `/reporting/executions/${executionId}/download`)).status).toBe(400);
  });

  it('a list of reports is newest first, and filters by status and template', async () => {
    const { executionId } = await complete({ reportTemplateId: 'policy-changes', formats: ['csv'] });
    const list = async (query: string): Promise<string[]> =>
      (await at.call('GET', `/reporting/executions?${query}`)).body.data.map(
        (each: Answer['body']) => each.executionId,
      );
    expect((await list(''))[0]).toBe(executionId);
    expect(await list('reportTemplateId=policy-changes')).toEqual([executionId]);
    expect(await list('status=failed')).toEqual([]);
    expect((await list('status=completed')).length).toBeGreaterThan(1);
    const first = (await at.call('GET', '/reporting/executions?status=completed&limit=1')).body;
    const second = await list(`status=completed&limit=1&cursor=${first.nextCursor}`);
    expect(second).not.toContain(first.data[0].executionId);
  });

  it.each([
    ['/parameters/endTime', { parameters: { ...reportPeriod, endTime: '2027-01-03T00:00:01Z' } }],
    ['/endTime', { parameters: { ...reportPeriod, endTime: '2025-12-31T00:00:00Z' } }],
    ['/timezone', { timezone: 'Mars/Olympus' }],
    ['/timezone', { timezone: '+01:00' }],
    ['/locale', { locale: 'no_locale' }],
    ['/title', { title: 'x'.repeat(201) }],
    ['/title', { title: 'two\nlines' }],
    ['/formats', { formats: [] }],
    ['/formats', { formats: ['csv', 'csv'] }],
    ['/formats/0', { formats: ['docx'] }],
    ['/parameters/runId', { reportTemplateId: 'run-evidence' }],
    ['/parameters/runId', { parameters: { ...reportPeriod, runId: 'missing' } }],
    ['/parameters/projectIds/0', { parameters: { ...reportPeriod, projectIds: [`prj_${'0'.repeat(26)}`] } }],
    [
      '/deliveries',
      {
        deliveries: Array.from({ length: 11 }, () => ({
          channel: 'email',
          target: 'a@b.example',
          format: 'csv',
        })),
      },
    ],
    ['/deliveries/0/format', { deliveries: [{ channel: 'email', target: 'a@b.example', format: 'pdf' }] }],
  ])('a report is refused for %s of %j', async (pointer, members) => {
    const { status, body } = await at.call('POST', '/reporting/executions', {
      body: { ...input, ...members },
    });
    expect([status, body.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('a report of exactly 366 days with a title of 200 characters is accepted', async () => {
    const parameters = { startTime: '2026-01-01T00:00:00Z', endTime: '2027-01-02T00:00:00Z' };
    const ended = await complete({
      parameters,
      title: 'x'.repeat(200),
      locale: 'de-CH',
      timezone: 'Europe/Zurich',
    });
    expect(ended).toMatchObject({ parameters, locale: 'de-CH', timezone: 'Europe/Zurich' });
  });

  it.each(['run-evidence', 'decisions-exceptions', 'replay-drift', 'incident-bundle'])(
    'a report %s of an unknown run is not found',
    async (reportTemplateId) => {
      const body = { ...input, reportTemplateId, parameters: { ...reportPeriod, runId: 'missing' } };
      const answer = await at.call('POST', '/reporting/executions', { body });
      expect(answer.status).toBe(404);
      expect(answer.body.detail).toContain('of which the log has no event');
    },
  );

  it('a report of an unknown template is not found', async () => {
    const body = { ...input, reportTemplateId: 'tpl_01jzzzzzzzzzzzzzzzzzzzzzzz' };
    expect((await at.call('POST', '/reporting/executions', { body })).status).toBe(404);
  });

  it('a repeat with the same idempotency key makes no second report', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await at.call('POST', '/reporting/executions', { body: input, headers });
    const again = await at.call('POST', '/reporting/executions', { body: input, headers });
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    await reportEnd(at.call, first.body.executionId);
  });

  it('the log records who asked for a report, what came out, and who downloaded it', async () => {
    const { executionId, summary, artifacts } = await complete();
    await download(executionId, 'csv');
    await download(executionId, 'csv');
    const { events } = (await at.call('GET', '/events?runId=gov.system&order=desc&limit=20')).body;
    const own = events.filter((each: Answer['body']) => each.resource?.id === executionId).toReversed();
    expect(own.map((each: Answer['body']) => each.eventType)).toEqual([
      'report.created',
      'report.completed',
      'report.downloaded',
    ]);
    expect(own[1].metadata).toMatchObject({
      dataHash: summary.dataHash,
      treeSize: summary.log.treeSize,
      artifacts: Object.fromEntries(
        artifacts.map((each: Answer['body']) => [each.format, each.sha256.replace('sha256:', '')]),
      ),
    });
  });

  it('a report whose artifacts have expired is gone, and stays listed', async () => {
    const { executionId } = await complete();
    const now = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + limits.reportDays * day);
    try {
      const { status, body } = await at.call('GET', `/reporting/executions/${executionId}`);
      expect([status, body.code]).toEqual([410, 'GONE']);
      expect((await download(executionId, 'csv')).status).toBe(404);
      const share = { body: { format: 'csv' } };
      expect((await at.call('POST', `/reporting/executions/${executionId}/shares`, share)).status).toBe(410);
      const { data } = (await at.call('GET', '/reporting/executions?status=expired&limit=1')).body;
      expect(data[0].status).toBe('expired');
    } finally {
      vi.restoreAllMocks();
    }
  });
});
