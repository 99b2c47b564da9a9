/** What happens to reports and share links after their time, on both engines. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { cleanupReports } from '../../../src/service/reports/removal.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { reportPeriod } from '../../support/rows.ts';
import { event } from '../../support/serving.ts';
import { reportEnd } from '../support/filled.ts';

const day = 86_400_000;
const bounds = { untilMs: Infinity, most: 100 };
const nothing = { processed: 0, succeeded: 0, failed: 0, skipped: 0 };

describe.each(engines)('the removal of reports on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    ({ projectId } = (await tenant.call('GET', '/auth/identity')).body);
    await tenant.call('POST', '/events', { body: event() });
  });
  afterAll(() => service.end());

  const after = (ms: number) => cleanupReports({ ...service.services, now: () => Date.now() + ms }, bounds);

  it('the removal deletes artifacts after 90 days and links 30 days after their end, once', async () => {
    const body = { reportTemplateId: 'executive-summary', formats: ['csv'], parameters: reportPeriod };
    const { executionId } = (await tenant.call('POST', '/reporting/executions', { body })).body;
    expect((await reportEnd(tenant.call, executionId)).status).toBe('completed');
    const path = `/reporting/executions/${executionId}`;
    const shared = { body: { format: 'csv', expiresInSeconds: 60 } };
    const { url } = (await tenant.call('POST', `${path}/shares`, shared)).body;
    expect(await after((limits.reportDays - 1) * day - 61_000)).toMatchObject({ processed: 1, succeeded: 1 });
    expect((await tenant.call('GET', url, { key: null })).status).toBe(404);
    expect((await tenant.call('GET', path)).body.status).toBe('completed');
    const both = await Promise.all([after(limits.reportDays * day), after(limits.reportDays * day)]);
    expect(both.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(1);
    expect(await after(limits.reportDays * day)).toEqual(nothing);
    const { status, body: gone } = await tenant.call('GET', path);
    expect([status, gone.code]).toEqual([410, 'GONE']);
    const { data } = (await tenant.call('GET', '/reporting/executions?status=expired')).body;
    expect(data[0]).toMatchObject({ executionId, status: 'expired', artifacts: [{ status: 'expired' }] });
    if (engine === 'postgres') return;
    expect(readdirSync(join(service.dataDir, 'exports', projectId))).toEqual([]);
  });
});
