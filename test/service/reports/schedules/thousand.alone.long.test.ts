/** A thousand schedules of fifty projects are due at once, and two processes call the scheduler's operation. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { typeId } from '../../../../src/core/id.ts';
import { formatTimestamp } from '../../../../src/core/time.ts';
import { reportKind } from '../../../../src/service/reports/stored.ts';
import { scheduleKind, type StoredSchedule } from '../../../../src/service/reports/schedules/stored.ts';
import { engines, type ServiceProcess } from '../../../support/hosted.ts';
import { cronSecret, startReporting } from '../../support/reporting.ts';

const projects = 50;
const each = 20;
const mostSeconds = 10;

/** A process of its own that calls until nothing is due. */
const caller = `
const [url, secret] = process.argv.slice(1);
let [succeeded, calls] = [0, 0];
for (;;) {
  const answer = await fetch(url, { method: 'POST', headers: { 'x-cron-secret': secret } });
  const summary = await answer.json();
  if (answer.status !== 200) throw new Error(JSON.stringify(summary));
  succeeded += summary.succeeded;
  calls += 1;
  if (summary.processed === 0) break;
}
console.log(JSON.stringify({ succeeded, calls }));
`;

async function callUntilDone({ baseUrl }: ServiceProcess): Promise<{ succeeded: number; calls: number }> {
  const words = ['--input-type=module', '-e', caller, `${baseUrl}/cron/reporting/schedules`, cronSecret];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout);
}

describe.each(engines)('a thousand schedules that are due at once on %s', (engine) => {
  it(`are done within ${mostSeconds} s by two processes, each exactly once`, async () => {
    const on = await startReporting({ engine });
    try {
      const { service } = on;
      const { store, randomBytes } = service.services;
      const dueMs = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
      const stored: StoredSchedule = {
        name: 'Daily',
        reportTemplateId: 'executive-summary',
        window: 'previous_day',
        cron: '* * * * *',
        timezone: 'Europe/Zurich',
        formats: ['json'],
        title: null,
        locale: 'en',
        runId: null,
        deliveries: [],
        backfill: false,
        nextRunMs: dueMs,
        lastRunMs: null,
        lastExecutionId: null,
        errorSummary: null,
        updatedMs: dueMs,
      };
      // yearly, so that no second time comes while the test runs
      const yearly = {
        ...stored,
        cron: `${new Date(dueMs).getUTCMinutes()} ${new Date(dueMs).getUTCHours()} ${new Date(dueMs).getUTCDate()} ${new Date(dueMs).getUTCMonth() + 1} *`,
        timezone: 'UTC',
      };
      const owners: string[] = [];
      for (let n = 0; n < projects; n++) {
        const tenant = await service.signUp(`tenant-${n}`);
        owners.push((await tenant.call('GET', '/auth/identity')).body.projectId);
      }
      const scheduleIds: string[] = [];
      for (const projectId of owners) {
        const changes = Array.from({ length: each }, () => {
          const documentId = typeId('sch', dueMs, randomBytes(10));
          scheduleIds.push(documentId);
          const document = { kind: scheduleKind, documentId, key: null, parentId: null, status: 'enabled' };
          return { save: { ...document, createdMs: dueMs, dueMs, version: 0, data: JSON.stringify(yearly) } };
        });
        expect(await store.saveDocuments(projectId, changes)).toBe('saved');
      }
      const other = engine === 'postgres' ? await service.again() : service;
      const started = performance.now();
      const done = await Promise.all([callUntilDone(service), callUntilDone(other)]);
      const seconds = (performance.now() - started) / 1000;
      console.log(`${engine}: ${scheduleIds.length} schedules in ${seconds.toFixed(2)} s`, done);
      expect(done[0].succeeded + done[1].succeeded).toBe(projects * each);
      for (const scheduleId of scheduleIds) {
        const report = await store.documentByKey(reportKind, `${scheduleId}/${formatTimestamp(dueMs)}`);
        expect(report?.parentId).toBe(scheduleId);
      }
      let reports = 0;
      for (const projectId of owners)
        reports += (await store.documents(projectId, { kind: reportKind }, { limit: 100 })).length;
      expect(reports).toBe(projects * each);
      expect(seconds).toBeLessThan(mostSeconds);
    } finally {
      await on.end();
    }
  }, 180_000);
});
