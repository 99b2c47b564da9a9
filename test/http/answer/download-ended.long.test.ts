/** A download that runs ends with the key, the project or the export that it is of, also where it is read slowly. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GovError } from '../../../src/contract/problems.ts';
import { silentLog, type Log } from '../../../src/service/call/log.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { exportEnd } from '../../service/support/filled.ts';

const text = 'x'.repeat(9000);
/** Codes of what ended downloads. */
const told: string[] = [];
const log: Log = {
  ...silentLog,
  warn: (details, message) => {
    if (message !== 'a download was ended') return;
    told.push((details as { err: GovError }).err.code);
  },
};

describe.each(engines)('a running download on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let exportId: string;
  let sizeBytes: number;
  beforeAll(async () => {
    service = await startService({ engine, log });
    await fill();
  });
  afterAll(() => service.end());

  /** More than sockets and chunks hold. */
  async function fill(): Promise<void> {
    tenant = await service.signUp('ada');
    const events = Array.from({ length: 100 }, () => event({ metadata: { text } }));
    for (let at = 0; at < 16; at++) {
      expect((await tenant.call('POST', '/events/batch', { body: { events } })).status).toBe(201);
    }
    const { body } = await tenant.call('POST', '/exports', {
      body: { resource: 'audit_events', format: 'json' },
    });
    ({ exportId, sizeBytes } = await exportEnd(tenant.call, body.exportId));
  }

  /** Begun, and read no further until the other side ended it; then it has less than all bytes. */
  async function endedBy(key: string, end: () => Promise<unknown>): Promise<void> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const url = `${service.baseUrl}/exports/${exportId}/download`;
      const sent = httpRequest(url, { headers: { authorization: `Bearer ${key}` }, agent: false }, resolve);
      sent.on('error', reject);
      sent.end();
    });
    expect(response.statusCode).toBe(200);
    const before = told.length;
    await end();
    await expect.poll(() => told.length, { timeout: 20_000 }).toBe(before + 1);
    let bytes = 0;
    response.on('data', (chunk: Buffer) => (bytes += chunk.length));
    response.on('error', () => {});
    await new Promise<void>((resolve) => response.on('close', () => resolve()));
    expect(bytes).toBeLessThan(sizeBytes);
  }

  it('ends with its key', async () => {
    const { body } = await tenant.call('POST', '/api-keys', { body: { name: 'to be revoked' } });
    await endedBy(body.key, () => tenant.call('DELETE', `/api-keys/${body.record.keyId}`));
    expect(told.at(-1)).toBe('INVALID_CREDENTIAL');
  });

  it('ends with a scope that its key loses', async () => {
    const { body } = await tenant.call('POST', '/api-keys', { body: { name: 'narrowed' } });
    const narrower = { body: { scopes: ['events:read'] } };
    await endedBy(body.key, () => tenant.call('PUT', `/api-keys/${body.record.keyId}`, narrower));
    expect(told.at(-1)).toBe('INSUFFICIENT_SCOPE');
  });

  it('ends with its export', async () => {
    await endedBy(tenant.keys.production, () => tenant.call('DELETE', `/exports/${exportId}`));
    // whichever is noticed first: that it ended, or that its chunks are gone
    expect(told.at(-1)).toMatch(/^EXPORT_(?:EXPIRED|FAILED)$/);
  });
});
