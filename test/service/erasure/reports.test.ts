/** Erasures while reports start, are built and complete. The workers of the test live in the future, as in `worker.test.ts`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionInput } from '../../../src/contract/reports.ts';
import { digestOf, disclosureTexts } from '../../../src/core/events/disclosure.ts';
import { eventIndex } from '../../../src/core/id.ts';
import type { Services } from '../../../src/service/port/services.ts';
import { erase } from '../../../src/service/erasure/erase.ts';
import { queueReport } from '../../../src/service/reports/queue.ts';
import { processReports } from '../../../src/service/reports/worker.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { endOf } from '../support/filled.ts';

const canary = 'CNRYreport';
const hour = 3_600_000;

describe.each(engines)('reports and erasures at the same time, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  let projectId: string;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
    ({ projectId } = (await acme.call('GET', '/auth/identity')).body);
  });
  afterAll(() => service.end());

  type Store = Services['store'];
  const worker = (store: Partial<Store> = {}, more: Partial<Services> = {}): Services => ({
    ...service.services,
    now: () => Date.now() + hour,
    wakeReports: () => {},
    store: new Proxy(service.services.store, {
      get: (target, name) => Reflect.get(store, name) ?? Reflect.get(target, name),
    }),
    ...more,
  });
  const record = async (runId: string): Promise<string> =>
    (await acme.call('POST', '/events', { body: event({ runId, action: canary }) })).body.eventId;
  const time = (hours: number): string => new Date(Date.now() + hours * hour).toISOString();
  const queue = async (runId: string, reportTemplateId = 'run-evidence'): Promise<string> => {
    const input: ExecutionInput = {
      reportTemplateId,
      formats: ['json'],
      parameters: { startTime: time(-1), endTime: time(1), runId },
    };
    const origin = { by: { id: 'key_test', type: 'api_key' } };
    return (await queueReport(worker(), projectId, input, origin)).executionId;
  };
  const build = (services = worker()) => processReports(services, { untilMs: Infinity, most: 1 });
  const erased = async (services: Services, eventId: string): Promise<void> => {
    const project = await service.services.store.project(projectId);
    const index = eventIndex(eventId);
    const leaf = index === null ? null : await service.services.store.leaf(projectId, index);
    if (project === null || leaf === null) throw new Error('expected the event');
    const digests = (disclosureTexts(leaf.disclosures ?? '[]') ?? []).map(digestOf);
    const targets = [{ index: leaf.index, digests }];
    await erase(services, { project, asking: 'operator', targets, reasonCode: 'test' });
  };
  const once = (work: () => Promise<unknown>): (() => Promise<void>) => {
    let isDone = false;
    return async () => {
      if (isDone) return;
      isDone = true;
      await work();
    };
  };
  const download = (executionId: string) =>
    acme.call('GET', `/reporting/executions/${executionId}/download?format=json`);
  const shows = async (executionId: string): Promise<boolean> =>
    (await download(executionId)).text.includes(canary);

  it('a report that is made after an erasure looked and before its commit expires with it', async () => {
    const eventId = await record('starts');
    let executionId = '';
    const first = once(async () => {
      executionId = await queue('starts');
      expect(await build()).toMatchObject({ succeeded: 1 });
      expect(await shows(executionId)).toBe(true);
    });
    const { append } = service.services.store;
    const store: Partial<Store> = {
      append: async (request) => {
        if (request.effects?.some(({ kind }) => kind === 'eraseFields') === true) await first();
        return append.call(service.services.store, request);
      },
    };
    await erased(worker(store), eventId);
    expect((await acme.call('GET', `/reporting/executions/${executionId}`)).status).toBe(410);
    expect(await shows(executionId)).toBe(false);
  });

  it('a report that completes while an erasure looks expires with it', async () => {
    const eventId = await record('completes');
    const executionId = await queue('completes');
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const { exports, store: real } = service.services;
    const artifacts: Services['exports']['artifacts'] = {
      ...exports.artifacts,
      freeBytes: () => exports.artifacts.freeBytes(),
      read: (...of) => exports.artifacts.read(...of),
      remove: (of) => exports.artifacts.remove(of),
      create: async (of) => {
        const writer = await exports.artifacts.create(of);
        reached.resolve();
        await gate.promise;
        return writer;
      },
    };
    const building = build(worker({}, { exports: { ...exports, artifacts } }));
    await reached.promise;
    const complete = once(async () => {
      gate.resolve();
      expect(await building).toMatchObject({ succeeded: 1 });
    });
    const store: Partial<Store> = {
      documents: async (project, filter, page) => {
        const found = await real.documents(project, filter, page);
        if (filter.kind === 'report') await complete();
        return found;
      },
    };
    await erased(worker(store), eventId);
    expect((await acme.call('GET', `/reporting/executions/${executionId}`)).status).toBe(410);
    expect(await shows(executionId)).toBe(false);
  });

  it('a report that is being built starts again, and shows nothing of the value', async () => {
    const eventId = await record('built');
    const executionId = await queue('built');
    const { exports } = service.services;
    const first = once(() => erased(worker(), eventId));
    const artifacts: Services['exports']['artifacts'] = {
      ...exports.artifacts,
      freeBytes: () => exports.artifacts.freeBytes(),
      create: async (of) => {
        await first();
        return exports.artifacts.create(of);
      },
    };
    expect(await build(worker({}, { exports: { ...exports, artifacts } }))).toMatchObject({ skipped: 1 });
    expect(await build()).toMatchObject({ succeeded: 1 });
    const { status, text } = await download(executionId);
    expect([status, text.includes(canary)]).toEqual([200, false]);
  });

  it('a report of replays expires with a value of the run that they compared', async () => {
    const eventId = await record('model');
    await acme.call('POST', '/events', { body: event({ runId: 'repeated', action: 'other' }) });
    const { jobId } = (
      await acme.call('POST', '/replay', { body: { runId: 'repeated', compareRunId: 'model' } })
    ).body;
    await endOf(acme.call, jobId);
    const executionId = await queue('repeated', 'replay-drift');
    await build();
    expect(await shows(executionId)).toBe(true);
    await erased(worker(), eventId);
    expect(await shows(executionId)).toBe(false);
  });
});
