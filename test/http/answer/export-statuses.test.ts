/** Every answer that the operations of exports may give, with its text, on both engines. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { exports } from '../../../src/contract/exports.ts';
import { defaultRates } from '../../../src/host/service/config.ts';
import { removeExports } from '../../../src/service/exports/sweep.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, type CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { exportEnd } from '../../service/support/filled.ts';

const off = Object.fromEntries(Object.keys(defaultRates).map((name) => [name, 0]));
const nobodys = 'exp_01jq3v5k8hf7wb3c9x2m4n6p8r';

describe.each(engines)('exports on %s answer', (engine) => {
  const realNow = Date.now;
  let aheadMs = 0;
  let service: TestService;
  let tenant: Tenant;
  /** Of a key without any of the scopes. */
  let bare: string;
  const body = { resource: 'audit_events', format: 'json' };

  beforeAll(async () => {
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
    service = await startService({ engine, file: { rates: { ...off, exportsPerMinute: 20 } } });
    tenant = await service.signUp('ada');
    await tenant.call('POST', '/events', { body: event() });
    const created = await tenant.call('POST', '/api-keys', { body: { name: 'bare', scopes: ['jobs:read'] } });
    bare = created.body.key;
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await service.end();
  });

  const create = (): Promise<Answer> => tenant.call('POST', '/exports', { body });
  const made = async (): Promise<Answer['body']> => exportEnd(tenant.call, (await create()).body.exportId);
  const refusal = async (method: string, path: string, options?: CallOptions): Promise<unknown[]> => {
    const { status, body: problem } = await tenant.call(method, path, options);
    return [status, problem.code, problem.detail];
  };

  it('valid requests to exports get 202, 200 and 206', async () => {
    const created = await create();
    expect([created.status, created.body]).toEqual([
      202,
      {
        exportId: expect.stringMatching(/^exp_/),
        ...body,
        status: 'pending',
        createdAt: expect.stringMatching(/Z$/),
      },
    ]);
    const { exportId } = await exportEnd(tenant.call, created.body.exportId);
    expect(
      (await tenant.call('GET', '/exports?resource=audit_events&status=completed')).body.data[0].exportId,
    ).toBe(exportId);
    expect((await tenant.call('GET', `/exports/${exportId}/download`)).status).toBe(200);
    const headers = { range: 'bytes=0-0' };
    expect((await tenant.call('GET', `/exports/${exportId}/download`, { headers })).status).toBe(206);
  });

  it('a caller without access to exports gets 401 or 403 before anything else', async () => {
    for (const [method, path, scope] of [
      ['POST', '/exports', 'exports:write'],
      ['GET', '/exports', 'exports:read'],
      ['GET', `/exports/${nobodys}`, 'exports:read'],
      ['GET', `/exports/${nobodys}/download`, 'exports:read'],
      ['DELETE', `/exports/${nobodys}`, 'exports:write'],
      ['POST', `/exports/${nobodys}/cancel`, 'exports:write'],
    ] as const) {
      const sent = path === '/exports' && method === 'POST' ? { body } : {};
      const unknown = await tenant.call(method, path, { ...sent, key: null });
      expect([unknown.status, unknown.body.code]).toEqual([401, 'UNAUTHENTICATED']);
      const denied = await tenant.call(method, path, { ...sent, key: bare });
      expect([denied.status, denied.body.code, denied.body.requiredScope]).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
        scope,
      ]);
    }
  });

  it('a missing export gets 404, whoever else may have one', async () => {
    const { exportId } = await made();
    const stranger = await service.signUp('eve');
    for (const [method, path] of [
      ['GET', `/exports/${nobodys}`],
      ['GET', `/exports/${nobodys}/download`],
      ['DELETE', `/exports/${nobodys}`],
      ['POST', `/exports/${nobodys}/cancel`],
    ] as const) {
      expect((await refusal(method, path)).slice(0, 2)).toEqual([404, 'NOT_FOUND']);
      const foreign = await stranger.call(method, path.replace(nobodys, exportId));
      expect([foreign.status, foreign.body.code]).toEqual([404, 'NOT_FOUND']);
    }
    expect((await tenant.call('GET', `/exports/${exportId}/download`)).status).toBe(200);
    expect((await tenant.call('DELETE', `/exports/${exportId}`)).status).toBe(204);
    expect((await tenant.call('GET', `/exports/${exportId}/download`)).body.code).toBe('EXPORT_EXPIRED');
  });

  it('an invalid request, cursor or filter for exports gets 400', async () => {
    for (const [method, path, sent, pointer] of [
      ['POST', '/exports', {}, '/resource'],
      ['POST', '/exports', { ...body, format: 'pdf' }, '/format'],
      ['POST', '/exports', { ...body, more: 1 }, '/more'],
      ['POST', '/exports', { ...body, filters: { runId: '' } }, '/filters/runId'],
      ['POST', '/exports', { ...body, filters: { startTime: 'today' } }, '/filters/startTime'],
    ] as const) {
      const { status, body: problem } = await tenant.call(method, path, { body: sent });
      const code = pointer === '/more' ? 'UNKNOWN_FIELD' : 'VALIDATION_ERROR';
      expect([status, problem.code, problem.errors[0].pointer]).toEqual([400, code, pointer]);
    }
    for (const path of ['/exports?cursor=x', '/exports?limit=0', '/exports?status=done', '/exports?x=1']) {
      expect((await tenant.call('GET', path)).status, path).toBe(400);
    }
  });

  it('an export during its build gets 409 EXPORT_NOT_READY with the time to ask again', async () => {
    const { work } = service.services.exports;
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const held: typeof work.run = async (...task) => {
      await released;
      return work.run(...task);
    };
    Object.assign(service.services.exports, { work: { run: held, close: () => work.close() } });
    const { exportId } = (await create()).body;
    const shown = await tenant.call('GET', `/exports/${exportId}`);
    expect(['pending', 'processing']).toContain(shown.body.status);
    expect(shown.headers['retry-after']).toBe('1');
    await vi.waitFor(async () => {
      const { status, body: problem, headers } = await tenant.call('GET', `/exports/${exportId}/download`);
      expect([status, problem.code, problem.detail, headers['retry-after'], problem.retryable]).toEqual([
        409,
        'EXPORT_NOT_READY',
        `export ${exportId} is processing; wait until it is completed, or cancel it`,
        '1',
        true,
      ]);
    }, 20_000);
    expect((await tenant.call('DELETE', `/exports/${exportId}`)).body.code).toBe('EXPORT_NOT_READY');
    const cancelled = (await create()).body.exportId;
    const { status, body: shownThen } = await tenant.call('POST', `/exports/${cancelled}/cancel`);
    expect([status, shownThen.status]).toEqual([200, 'cancelled']);
    Object.assign(service.services.exports, { work });
    release();
    expect((await exportEnd(tenant.call, exportId)).status).toBe('completed');
    const ended = await refusal('POST', `/exports/${exportId}/cancel`);
    expect(ended.slice(0, 2)).toEqual([409, 'ALREADY_ENDED']);
    const text = `export ${cancelled} was cancelled; create it again`;
    expect(await refusal('GET', `/exports/${cancelled}/download`)).toEqual([409, 'EXPORT_FAILED', text]);
  });

  it('a failed export gets 409 EXPORT_FAILED permanently, with the reason', async () => {
    const { work } = service.services.exports;
    const run = () => Promise.reject(new GovError('VALIDATION_ERROR', 'expected less, got more'));
    Object.assign(service.services.exports, { work: { run, close: () => work.close() } });
    const failed = await made();
    Object.assign(service.services.exports, { work });
    const reason = 'VALIDATION_ERROR: expected less, got more';
    expect(failed).toMatchObject({
      status: 'failed',
      errorSummary: reason,
      sizeBytes: null,
      expiresAt: null,
    });
    const {
      status,
      body: problem,
      headers,
    } = await tenant.call('GET', `/exports/${failed.exportId}/download`);
    expect([status, problem.code, problem.detail, problem.retryable, headers['retry-after']]).toEqual([
      409,
      'EXPORT_FAILED',
      `export ${failed.exportId} failed: ${reason}`,
      false,
      undefined,
    ]);
    await removeExports(service.services);
    const { events } = (await tenant.call('GET', '/events?runId=gov.system&eventType=export.failed')).body;
    expect(events.map(({ resource, metadata }: Answer['body']) => [resource.id, metadata])).toEqual([
      [failed.exportId, { errorSummary: reason }],
    ]);
  });

  it('a download gets 412 or 416 for false conditions and ranges, and 304 for true ones', async () => {
    const { exportId, sizeBytes, sha256 } = await made();
    const path = `/exports/${exportId}/download`;
    const etag = `"${sha256.replace('sha256:', '')}"`;
    expect(await refusal('GET', path, { headers: { 'if-match': '"x"' } })).toEqual([
      412,
      'PRECONDITION_FAILED',
      expect.stringContaining(etag),
    ]);
    expect(await refusal('GET', path, { headers: { range: `bytes=${sizeBytes}-` } })).toEqual([
      416,
      'RANGE_NOT_SATISFIABLE',
      `expected a range within ${sizeBytes} bytes`,
    ]);
    expect((await tenant.call('GET', path, { headers: { 'if-none-match': etag } })).status).toBe(304);
  });

  it('exports get 429 beyond the rate, and 409 EXPORT_EXPIRED after their end', async () => {
    const { exportId, expiresAt, completedAt } = await made();
    expect(Date.parse(expiresAt) - Date.parse(completedAt)).toBe(limits.exportHours * 3_600_000);
    const path = `/exports/${exportId}/download`;
    aheadMs += limits.exportHours * 3_600_000 - 60_000;
    expect((await tenant.call('GET', path)).status).toBe(200);
    let answer = await create();
    for (let at = 0; at < 20 && answer.status === 202; at++) answer = await create();
    expect([answer.status, answer.body.code]).toEqual([429, 'RATE_LIMITED']);
    aheadMs += 60_000;
    const text = `export ${exportId} has expired; create it again`;
    expect(await refusal('GET', path)).toEqual([409, 'EXPORT_EXPIRED', text]);
    expect((await tenant.call('GET', `/exports/${exportId}`)).body).toMatchObject({
      status: 'expired',
      expiresAt,
    });
    const expired = (await tenant.call('GET', '/exports?status=expired&limit=100')).body.data;
    expect(expired.map((each: Answer['body']) => each.exportId)).toContain(exportId);
    await removeExports(service.services);
    expect(await refusal('GET', path)).toEqual([409, 'EXPORT_EXPIRED', text]);
    const folder = join(service.dataDir, 'exports');
    const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
    expect(files.filter((name) => name.includes(exportId))).toEqual([]);
  });

  it('exports return every documented status except 500 at least once', () => {
    const others = new Set([500]); // of faults, which nobody can ask for
    for (const [id, { success, statuses }] of Object.entries(exports)) {
      for (const status of [...Object.keys(success).map(Number), ...statuses]) {
        if (!others.has(status)) expect([...service.seen]).toContain(`${id} ${status}`);
      }
    }
  });
});
