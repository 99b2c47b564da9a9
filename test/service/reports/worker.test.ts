/**
 * Reports whose workers crash, stand still, run into a full disk or meet another worker, on both engines. The workers of
 * the test live in the future, so that those of the service leave its reports alone.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import type { ExecutionInput } from '../../../src/contract/reports.ts';
import { deliveryKind } from '../../../src/service/reports/deliveries/document.ts';
import type { Services } from '../../../src/service/port/services.ts';
import { queueReport } from '../../../src/service/reports/queue.ts';
import { dataOf, reportKind, type StoredReport } from '../../../src/service/reports/stored.ts';
import { processReports } from '../../../src/service/reports/worker.ts';
import type { StoredDocument } from '../../../src/store/port/store.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { reportPeriod } from '../../support/rows.ts';
import { event } from '../../support/serving.ts';

const input: ExecutionInput = {
  reportTemplateId: 'executive-summary',
  formats: ['csv', 'json'],
  parameters: reportPeriod,
};
const origin = { by: { id: 'key_test', type: 'api_key' } };
const bounds = { untilMs: Infinity, most: 100 };
const hour = 3_600_000;

describe.each(engines)('the worker of reports on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  /** Of the clock of the test's workers. */
  let aheadMs = hour;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    ({ projectId } = (await tenant.call('GET', '/auth/identity')).body);
    await tenant.call('POST', '/events', { body: event() });
  });
  afterAll(() => service.end());

  /** The services of one worker; members of `more` replace its own. */
  const worker = (more: Partial<Services> = {}): Services => ({
    ...service.services,
    now: () => Date.now() + aheadMs,
    wakeReports: () => {},
    outbound: {
      post: () => Promise.reject(new Error('unused')),
      file: () => Promise.reject(new Error('unused')),
    },
    ...more,
  });
  const later = (ms: number): void => void (aheadMs += ms);
  const queue = async (members: Partial<ExecutionInput> = {}): Promise<string> =>
    (await queueReport(worker(), projectId, { ...input, ...members }, origin)).executionId;
  const found = async (executionId: string): Promise<StoredDocument & { stored: StoredReport }> => {
    const document = await service.services.store.document(projectId, reportKind, executionId);
    if (document === null) throw new Error('no such report');
    return { ...document, stored: dataOf<StoredReport>(document) };
  };
  /** Names of files of the report; on PostgreSQL they are rows, which the artifact tests look at. */
  const filesOf = ({ stored }: { stored: StoredReport }): string[] => {
    if (engine === 'postgres') return [];
    const ids = [...stored.artifacts, stored.preview].map(({ artifactId }) => artifactId);
    const names = readdirSync(join(service.dataDir, 'exports', projectId), { encoding: 'utf8' });
    return names.filter((name) => ids.some((id) => name.startsWith(id)));
  };
  const withArtifacts = (
    change: (inner: Services['exports']['artifacts']) => Services['exports']['artifacts'],
  ) => {
    const { exports } = service.services;
    return worker({ exports: { ...exports, artifacts: change(exports.artifacts) } });
  };
  const eventsOf = async (executionId: string): Promise<string[]> => {
    const { events } = (await tenant.call('GET', '/events?runId=gov.system&limit=1000')).body;
    return events.flatMap((each: { resource: { id: string } | null; eventType: string }) =>
      each.resource?.id === executionId ? [each.eventType] : [],
    );
  };

  it('a report that is complete has its artifacts, its event, and deliveries that are due', async () => {
    const deliveries = [{ channel: 'file', target: 'a.csv', format: 'csv' } as const];
    const executionId = await queue({ deliveries });
    const waiting = () =>
      service.services.store.documents(
        projectId,
        { kind: deliveryKind, parentId: executionId },
        { limit: 10 },
      );
    expect((await waiting()).map(({ status, dueMs }) => [status, dueMs])).toEqual([['pending', null]]);
    expect(await processReports(worker(), bounds)).toEqual({
      processed: 1,
      succeeded: 1,
      failed: 0,
      skipped: 0,
    });
    const { status, stored } = await found(executionId);
    expect([status, stored.attempts, stored.errorSummary]).toEqual(['completed', 1, null]);
    const [delivery] = await waiting();
    expect([delivery?.status, delivery?.dueMs]).toEqual(['pending', stored.completedMs]);
    expect(await eventsOf(executionId)).toEqual(['report.created', 'report.completed']);
  });

  it('a usage statement rests on a signed checkpoint of the metering log, however new the log is', async () => {
    await tenant.call('POST', '/events', { body: event() });
    const executionId = await queue({ reportTemplateId: 'usage-statement', formats: ['json'] });
    await processReports(worker(), bounds);
    const { body } = await tenant.call('GET', `/reporting/executions/${executionId}/download?format=json`);
    expect(body.checks).toContainEqual(
      expect.objectContaining({ name: 'A signed checkpoint covers the metering log', status: 'pass' }),
    );
  });

  it('a report whose worker ended between the artifacts and the result is built again, and leaves no other files', async () => {
    const executionId = await queue();
    let isDead = false;
    const dead = (): Promise<never> => Promise.reject(new Error('the process ended'));
    const { store, exports } = service.services;
    const dying = worker({
      exports: {
        ...exports,
        artifacts: {
          ...exports.artifacts,
          create: async (of) => {
            const writer = await exports.artifacts.create(of);
            const finish = async (): Promise<string> => {
              const name = await writer.finish();
              isDead = of.exportId === (await found(executionId)).stored.preview.artifactId;
              return name;
            };
            return { write: (bytes) => writer.write(bytes), finish, abort: async () => {} };
          },
        },
      },
      store: new Proxy(store, {
        get: (target, name) => (isDead ? dead : Reflect.get(target, name)),
      }),
    });
    expect(await processReports(dying, { ...bounds, most: 1 })).toMatchObject({ succeeded: 0 });
    expect((await found(executionId)).status).toBe('processing');
    expect(await processReports(worker(), bounds)).toMatchObject({ processed: 0 });
    later(61_000);
    expect(await processReports(worker(), bounds)).toMatchObject({ succeeded: 1 });
    const after = await found(executionId);
    expect([after.status, after.stored.attempts]).toEqual(['completed', 2]);
    if (engine === 'sqlite') expect(filesOf(after).length).toBe(3);
    expect(await eventsOf(executionId)).toEqual(['report.created', 'report.completed']);
  });

  it('a report that finds a full disk is tried three times, then fails with the reason and without files', async () => {
    const deliveries = [{ channel: 'file', target: 'a.csv', format: 'csv' } as const];
    const executionId = await queue({ deliveries });
    const full = withArtifacts((inner) => ({
      ...inner,
      create: async (of) => {
        const writer = await inner.create(of);
        const second = (await found(executionId)).stored.artifacts[1]?.artifactId;
        const write = (bytes: Uint8Array): Promise<void> =>
          of.exportId === second
            ? Promise.reject(new GovError('STORAGE_FULL', 'the disk has no room for the artifact'))
            : writer.write(bytes);
        return { write, finish: () => writer.finish(), abort: () => writer.abort() };
      },
    }));
    for (let attempt = 1; attempt <= 3; attempt++) {
      const counts = await processReports(full, bounds);
      expect(counts).toMatchObject(attempt < 3 ? { skipped: 1 } : { failed: 1 });
      expect(filesOf(await found(executionId))).toEqual([]);
      later(20_000);
    }
    const { status, stored } = await found(executionId);
    expect([status, stored.attempts, stored.errorSummary]).toEqual([
      'failed',
      3,
      'STORAGE_FULL: the disk has no room for the artifact',
    ]);
    const shown = (await tenant.call('GET', `/reporting/executions/${executionId}`)).body;
    expect(shown.artifacts.map(({ status: each }: { status: string }) => each)).toEqual(['failed', 'failed']);
    expect(shown.deliveries[0]).toMatchObject({ status: 'cancelled', errorSummary: 'the report failed' });
    expect(await eventsOf(executionId)).toEqual(['report.created', 'report.failed']);
  });

  it('a worker that stood still for longer than its lease stores nothing over the report of another worker', async () => {
    const executionId = await queue();
    let others: unknown;
    const slow = withArtifacts((inner) => ({
      ...inner,
      create: async (of) => {
        const writer = await inner.create(of);
        const finish = async (): Promise<string> => {
          if (others === undefined) {
            later(61_000);
            others = await processReports(worker(), bounds);
          }
          return writer.finish();
        };
        return { write: (bytes) => writer.write(bytes), finish, abort: () => writer.abort() };
      },
    }));
    expect(await processReports(slow, { ...bounds, most: 1 })).toMatchObject({ succeeded: 0, processed: 1 });
    expect(others).toMatchObject({ succeeded: 1 });
    const after = await found(executionId);
    expect(after.status).toBe('completed');
    for (const { format, made } of after.stored.artifacts) {
      const path = `/reporting/executions/${executionId}/download?format=${format}`;
      expect((await tenant.call('GET', path)).bytes.length).toBe(made?.sizeBytes);
    }
    expect(await eventsOf(executionId)).toEqual([
      'report.created',
      'report.completed',
      'report.downloaded',
      'report.downloaded',
    ]);
  });

  it('a report whose worker ends each time fails after three attempts and says so', async () => {
    const executionId = await queue();
    const { stored, projectId: _own, ...document } = await found(executionId);
    const data = JSON.stringify({ ...stored, attempts: 3 });
    await service.services.store.saveDocuments(projectId, [
      { save: { ...document, status: 'processing', data } },
    ]);
    expect(await processReports(worker(), bounds)).toMatchObject({ failed: 1 });
    expect((await found(executionId)).stored.errorSummary).toBe(
      'UNAVAILABLE: the process ended during each of 3 attempts; ask for a shorter period',
    );
  });

  it('workers that look at once build each report once, one of a project at a time', async () => {
    const executionIds = [await queue(), await queue(), await queue(), await queue()];
    let [running, most] = [0, 0];
    const counting = withArtifacts((inner) => ({
      ...inner,
      create: async (of) => {
        const { documentId, stored } = await found(
          (await Promise.all(executionIds.map(found))).find(({ stored }) =>
            stored.artifacts.some(({ artifactId }) => artifactId === of.exportId),
          )?.documentId ?? executionIds[0]!,
        );
        if (documentId !== '' && stored.artifacts[0]?.artifactId === of.exportId) running += 1;
        most = Math.max(most, running);
        const writer = await inner.create(of);
        const isLast = stored.artifacts.at(-1)?.artifactId === of.exportId;
        const finish = async (): Promise<string> => {
          if (isLast) running -= 1;
          return writer.finish();
        };
        return { write: (bytes) => writer.write(bytes), finish, abort: () => writer.abort() };
      },
    }));
    const all = await Promise.all([counting, counting, counting].map((each) => processReports(each, bounds)));
    let left = executionIds.length - all.reduce((sum, { succeeded }) => sum + succeeded, 0);
    while (left > 0) left -= (await processReports(counting, bounds)).succeeded;
    expect(most).toBe(1);
    for (const executionId of executionIds) {
      expect((await found(executionId)).status).toBe('completed');
      expect(await eventsOf(executionId)).toEqual(['report.created', 'report.completed']);
    }
  });

  it('a schedule and its due time make one report, however many processes ask', async () => {
    const scheduled = {
      ...origin,
      scheduleId: 'sch_01jzzzzzzzzzzzzzzzzzzzzzzz',
      dueAt: '2026-03-01T00:00:00Z',
    };
    const made = await Promise.all(
      Array.from({ length: 6 }, () => queueReport(worker(), projectId, input, scheduled)),
    );
    expect(new Set(made.map(({ executionId }) => executionId)).size).toBe(1);
    expect(made.filter(({ isNew }) => isNew).length).toBe(1);
    const next = { ...scheduled, dueAt: '2026-03-02T00:00:00Z' };
    expect((await queueReport(worker(), projectId, input, next)).isNew).toBe(true);
    expect(await processReports(worker(), bounds)).toMatchObject({ succeeded: 2 });
  });

  it('a project may have 20 waiting reports and no more', async () => {
    const before = aheadMs;
    later(24 * hour); // the workers of the test leave them, too
    const ids: string[] = [];
    for (let at = 0; at < 20; at++) ids.push(await queue());
    await expect(queue()).rejects.toMatchObject({ code: 'REPORT_LIMIT' });
    aheadMs = before;
    for (const executionId of ids) {
      const { kind, documentId, version } = await found(executionId);
      await service.services.store.saveDocuments(projectId, [{ remove: { kind, documentId, version } }]);
    }
  });
});
