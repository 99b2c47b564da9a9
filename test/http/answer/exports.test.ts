/** Downloads over real sockets: what a client may ask for of an artifact, and what it is told. */
import { request as httpRequest } from 'node:http';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, type CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { exportEnd } from '../../service/support/filled.ts';
import { removeExports } from '../../../src/service/exports/sweep.ts';

const text = 'x'.repeat(4000);

describe.each(engines)('a download on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let exportId: string;
  let whole: Buffer;
  let etag: string;

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    // more than one chunk
    for (let at = 0; at < 4; at++) {
      const events = Array.from({ length: 100 }, (_, n) => event({ metadata: { text, n } }));
      await tenant.call('POST', '/events/batch', { body: { events } });
    }
    exportId = await made({ resource: 'audit_events', format: 'json' });
    const answer = await download();
    whole = answer.bytes;
    etag = String(answer.headers['etag']);
  });
  afterAll(() => service.end());

  async function made(body: Record<string, unknown>): Promise<string> {
    const { body: created } = await tenant.call('POST', '/exports', { body });
    expect((await exportEnd(tenant.call, created.exportId)).status).toBe('completed');
    return created.exportId;
  }
  const download = (headers: CallOptions['headers'] = {}): Promise<Answer> =>
    tenant.call('GET', `/exports/${exportId}/download`, { headers: headers ?? {} });

  it('a download is an attachment that no browser opens, with the digest of the whole', async () => {
    const { status, headers, bytes } = await download();
    const digest = createHash('sha256').update(bytes).digest();
    expect(bytes.length).toBeGreaterThan(1024 * 1024);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      'content-disposition': `attachment; filename="audit_events-${exportId}.json"`,
      'repr-digest': `sha-256=:${digest.toString('base64')}:`,
      etag: `"${digest.toString('hex')}"`,
      'accept-ranges': 'bytes',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect(headers['content-range']).toBeUndefined();
  });

  it('a download of CSV is text, whatever the client accepts', async () => {
    const id = await made({ resource: 'audit_events', format: 'csv' });
    for (const accept of ['text/csv', 'application/json', '*/*']) {
      const answer = await tenant.call('GET', `/exports/${id}/download`, { headers: { accept } });
      expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
      expect(answer.headers['content-disposition']).toBe(`attachment; filename="audit_events-${id}.csv"`);
    }
  });

  const MiB = 1024 * 1024;
  it.each([
    ['bytes=0-0', (size: number) => [0, 1, size]],
    ['bytes=5-9', () => [5, 10]],
    ['bytes=5-', (size: number) => [5, size]],
    ['bytes=-7', (size: number) => [size - 7, size]],
    ['bytes=-999999999', () => [0, Infinity]],
    [`bytes=${MiB - 3}-${MiB + 2}`, () => [MiB - 3, MiB + 3]],
    [`bytes=${MiB}-999999999999`, () => [MiB, Infinity]],
    ['BYTES=1-2', () => [1, 3]],
  ])('a download of %s is that part', async (range, bounds) => {
    const [from = 0, to = 0] = bounds(whole.length);
    const end = Math.min(to, whole.length);
    const { status, headers, bytes } = await download({ range });
    expect(status).toBe(206);
    expect(headers['content-range']).toBe(`bytes ${from}-${end - 1}/${whole.length}`);
    expect(bytes.equals(whole.subarray(from, end))).toBe(true);
    // of the whole, so that a client can check what it puts together
    expect(headers['repr-digest']).toContain(createHash('sha256').update(whole).digest('base64'));
  });

  it.each(['bytes=5-4', 'bytes=0-1,3-4', 'items=0-1', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=0x0-1'])(
    'a download of %s is the whole',
    async (range) => {
      const { status, bytes } = await download({ range });
      expect([status, bytes.length]).toEqual([200, whole.length]);
    },
  );

  it('a download with a range after its end is rejected with its size', async () => {
    for (const range of [
      `bytes=${whole.length}-`,
      'bytes=-0',
      `bytes=${whole.length + 5}-${whole.length + 9}`,
    ]) {
      const { status, headers, body } = await download({ range });
      expect([status, body.code, body.size, headers['content-range']]).toEqual([
        416,
        'RANGE_NOT_SATISFIABLE',
        whole.length,
        `bytes */${whole.length}`,
      ]);
    }
    expect((await download({ range: `bytes=${whole.length - 1}-` })).bytes.length).toBe(1);
  });

  it('a download continues only with the same artifact: If-Range, If-Match, If-None-Match', async () => {
    const range = 'bytes=1-2';
    expect((await download({ range, 'if-range': etag })).status).toBe(206);
    for (const other of ['"other"', `W/${etag}`, 'Wed, 21 Oct 2026 07:28:00 GMT']) {
      expect((await download({ range, 'if-range': other })).status).toBe(200);
    }
    for (const match of [etag, '*', `"a", ${etag}`])
      expect((await download({ 'if-match': match })).status).toBe(200);
    for (const match of ['"a"', `W/${etag}`]) {
      const { status, body } = await download({ 'if-match': match });
      expect([status, body.code]).toEqual([412, 'PRECONDITION_FAILED']);
    }
    for (const none of [etag, '*', `"a", W/${etag}`]) {
      const { status, headers, text: body } = await download({ 'if-none-match': none, range: 'bytes=0-0' });
      expect([status, headers['etag'], headers['content-length'], body]).toEqual([304, etag, undefined, '']);
    }
    expect((await download({ 'if-none-match': '"a"' })).status).toBe(200);
  });

  it('a download answers HEAD', async () => {
    const {
      status,
      headers,
      text: body,
    } = await tenant.call('HEAD', `/exports/${exportId}/download`, {
      headers: { range: 'bytes=0-0' },
    });
    expect([status, headers['content-length'], headers['etag'], body]).toEqual([
      200,
      String(whole.length),
      etag,
      '',
    ]);
  });

  it('a download that is cut ten times and continued is the same', async () => {
    const parts: Buffer[] = [];
    let got = 0;
    for (let at = 0; got < whole.length; at++) {
      const url = new URL(`${service.baseUrl}/exports/${exportId}/download`);
      const headers = {
        authorization: `Bearer ${tenant.keys.production}`,
        range: `bytes=${got}-`,
        'if-range': etag,
      };
      const part = await new Promise<Buffer>((resolve, reject) => {
        const sent = httpRequest(url, { headers, agent: false }, (response) => {
          const chunks: Buffer[] = [];
          let bytes = 0;
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
            bytes += chunk.length;
            if (at < 10 && bytes > 100_000) response.destroy();
          });
          response.on('close', () => resolve(Buffer.concat(chunks)));
          response.on('error', () => {});
        });
        sent.on('error', reject);
        sent.end();
      });
      parts.push(part);
      got += part.length;
    }
    expect(parts.length).toBeGreaterThan(10);
    expect(Buffer.concat(parts).equals(whole)).toBe(true);
  });

  it('a download of another tenant, or without a key, is not found', async () => {
    const stranger = await service.signUp('eve');
    for (const path of [`/exports/${exportId}`, `/exports/${exportId}/download`]) {
      const { status, body } = await stranger.call('GET', path);
      expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
    }
    expect((await stranger.call('GET', '/exports')).body.data).toEqual([]);
    expect((await tenant.call('GET', '/exports/exp_1/download')).status).toBe(404);
  });

  it('a download of an unfinished or expired export is rejected with the reason, and parts are deleted', async () => {
    const { store, now } = service.services;
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    const row = async (id: string, job: 'export' | 'proof', done: Record<string, unknown> | null) => {
      const exported = {
        exportId: `exp_${id.padStart(26, '0')}`,
        projectId,
        jobId: `job_${id.padStart(26, '0')}`,
        resource: 'jobs',
        format: 'csv',
        filters: '{}',
        includeProof: false,
        treeSize: 1,
        createdMs: now() + 3_600_000_000,
      } as const;
      const queued = {
        jobId: exported.jobId,
        type: job,
        runId: '',
        request: '{}',
        createdMs: exported.createdMs,
      };
      const effects = [
        { kind: 'createExport', most: service.services.exports.most, exported },
        { kind: 'enqueueJob', job: queued },
        ...(done === null
          ? []
          : [
              {
                kind: 'finishExport',
                most: service.services.exports.most,
                exportId: exported.exportId,
                done,
              },
            ]),
      ] as never;
      await store.append({ projectId, leaves: [], meter: { op: 'none', units: 0 }, effects });
      return exported;
    };
    const refusal = async (id: string): Promise<unknown[]> => {
      const { status, body, headers } = await tenant.call('GET', `/exports/${id}/download`);
      expect(body.errors[0]).toMatchObject({ in: 'path', pointer: '/exportId', code: body.code });
      return [status, body.code, headers['retry-after']];
    };
    const pending = await row('1', 'export', null);
    expect(await refusal(pending.exportId)).toEqual([409, 'EXPORT_NOT_READY', '1']);
    const done = {
      artifact: 'a',
      rowCount: 0,
      sizeBytes: 0,
      digest: Buffer.alloc(32),
      manifest: '{"treeSize":1,"rootHash":"","firstSequence":null,"lastSequence":null}',
      completedMs: 1,
      expiresMs: now() - 1,
    };
    const expired = await row('2', 'export', done);
    expect(await refusal(expired.exportId)).toEqual([409, 'EXPORT_EXPIRED', undefined]);
    expect((await tenant.call('GET', `/exports/${expired.exportId}`)).body.status).toBe('expired');
    expect(await removeExports(service.services)).toBeGreaterThan(0);
    expect(await removeExports(service.services)).toBe(0);
    expect((await download()).status).toBe(200);
  });

  it('more exports in a minute than the limit are rejected', async () => {
    const strict = await startService({ engine, file: { rates: {} } });
    const hasty = await strict.signUp('hasty');
    const body = { resource: 'jobs', format: 'csv' };
    for (let at = 0; at < limits.rateExportsPerMinute; at++) {
      expect((await hasty.call('POST', '/exports', { body })).status).toBe(202);
    }
    const { status, body: problem } = await hasty.call('POST', '/exports', { body });
    expect([status, problem.code]).toEqual([429, 'RATE_LIMITED']);
    await strict.end();
  });

  it('a download of a missing artifact is a problem that says what to do, without partial content', async () => {
    const id = await made({ resource: 'jobs', format: 'csv' });
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    await service.services.exports.artifacts.remove({ projectId, exportId: id });
    const { status, body } = await tenant.call('GET', `/exports/${id}/download`);
    expect([status, body.code, body.retryable]).toEqual([409, 'EXPORT_FAILED', false]);
    expect(body.errors[0]).toMatchObject({ in: 'path', pointer: '/exportId', code: 'EXPORT_FAILED' });
    expect(body.detail).toContain('create the export again');
  });

  it.runIf(engine === 'sqlite')(
    'a download leaves files that only the service can read, and no parts',
    () => {
      const folder = join(service.dataDir, 'exports');
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      expect(existsSync(folder) && files.some((name) => name.includes(exportId))).toBe(true);
      expect(files.filter((name) => name.endsWith('.part'))).toEqual([]);
    },
  );
});
