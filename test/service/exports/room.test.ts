/** What a project may keep of exports, at a service and at a plane; and exports that end before their time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { exportEnd } from '../support/filled.ts';

type Call = Tenant['call'];
const bounds = { exportsOpen: 2, exportsKept: 3, exportMebibytes: 1 } as const;

const ask = (call: Call, body: object = {}): Promise<Answer> =>
  call('POST', '/exports', { body: { resource: 'audit_events', format: 'json', ...body } });

async function made(call: Call, body: object = {}): Promise<Answer['body']> {
  const answer = await ask(call, body);
  expect(answer.status).toBe(202);
  return exportEnd(call, answer.body.exportId);
}

const told = async (call: Call, eventType: string): Promise<Answer['body'][]> =>
  (await call('GET', `/events?runId=gov.system&eventType=${eventType}`)).body.events;

describe.each(engines)('exports that a project keeps, on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine, file: bounds });
  });
  afterAll(() => service.end());

  it('a project keeps at most the configured number of exports, however many requests come at once, also from two processes', async () => {
    const ada = await service.signUp('ada');
    const again = engine === 'postgres' ? await service.again() : service;
    const others = Array.from({ length: 4 }, () =>
      again.call('POST', '/exports', {
        body: { resource: 'audit_events', format: 'json' },
        key: ada.keys.production,
      }),
    );
    const answers = await Promise.all([...others, ...Array.from({ length: 4 }, () => ask(ada.call))]);
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted.length).toBeGreaterThan(0);
    expect(accepted.length).toBeLessThanOrEqual(bounds.exportsKept);
    for (const { status, body, headers } of answers.filter((each) => each.status !== 202)) {
      expect([status, ['RATE_LIMITED', 'EXPORT_LIMIT'].includes(body.code)]).toEqual([429, true]);
      if (body.code === 'RATE_LIMITED') expect(headers['retry-after']).toBe('5');
    }
    for (const { body } of accepted) await exportEnd(ada.call, body.exportId);
    for (let kept = accepted.length; kept < bounds.exportsKept; kept++) await made(ada.call);
    const { status, body } = await ask(ada.call);
    expect([status, body.code, body.detail]).toEqual([
      429,
      'EXPORT_LIMIT',
      'expected at most 3 exports that a project keeps, got one more; delete unneeded exports, wait until ' +
        'some expire, export less, or ask the operator to raise the limit',
    ]);
    // nobody else's
    const bob = await service.signUp('bob');
    expect((await made(bob.call)).status).toBe('completed');
  });

  it('a deleted export makes room, is recorded once, and keeps its row', async () => {
    const { call } = await service.signUp('eve');
    const [one, two] = [await made(call), await made(call)];
    await made(call);
    const keyed = (): Promise<Answer> =>
      call('POST', '/exports', {
        body: { resource: 'audit_events', format: 'json' },
        headers: { 'idempotency-key': 'the-same' },
      });
    expect((await keyed()).body.code).toBe('EXPORT_LIMIT');
    expect((await call('DELETE', `/exports/${one.exportId}`)).status).toBe(204);
    expect((await call('DELETE', `/exports/${one.exportId}`)).status).toBe(204);
    expect(await call('GET', `/exports/${one.exportId}`)).toMatchObject({
      body: { ...one, status: 'expired', expiresAt: expect.any(String) },
    });
    expect((await call('GET', `/exports/${one.exportId}/download`)).body.code).toBe('EXPORT_EXPIRED');
    expect((await call('GET', `/exports/${two.exportId}/download`)).status).toBe(200);
    const events = await told(call, 'export.deleted');
    expect(events.map(({ resource, metadata }) => [resource.id, metadata])).toEqual([
      [one.exportId, { resource: 'audit_events', format: 'json' }],
    ]);
    // what had no room was not executed
    const { status, body } = await keyed();
    expect(status).toBe(202);
    expect((await exportEnd(call, body.exportId)).status).toBe('completed');
    expect((await call('DELETE', '/exports/exp_00000000000000000000000000')).status).toBe(404);
  });

  it('a project keeps a limited number of bytes: an export beyond it fails at once and says what to do', async () => {
    const { call } = await service.signUp('kim');
    const events = Array.from({ length: 150 }, () => event({ metadata: { text: 'x'.repeat(4000) } }));
    await call('POST', '/events/batch', { body: { events } });
    const first = await made(call);
    expect(first.status).toBe('completed');
    expect(first.sizeBytes).toBeGreaterThan(500_000);
    const second = await made(call);
    expect([second.status, second.errorSummary]).toEqual([
      'failed',
      'EXPORT_LIMIT: expected at most 1048576 bytes of exports in the project, got more with this one; export ' +
        'less, or delete exports that are not needed, then create it again',
    ]);
    await call('DELETE', `/exports/${first.exportId}`);
    const both = await Promise.all([ask(call), ask(call)]);
    const ends = await Promise.all(both.map(({ body }) => exportEnd(call, body.exportId)));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['completed', 'failed']);
    expect(ends.find(({ status }) => status === 'failed').errorSummary).toMatch(/^EXPORT_LIMIT: /);
  });

  it('refuses to delete an export before it is complete', async () => {
    const { call } = await service.signUp('zoe');
    const answers = await Promise.all([ask(call), ask(call)]);
    for (const { body } of answers) {
      const { status, body: refused } = await call('DELETE', `/exports/${body.exportId}`);
      // whichever came first
      if (status !== 204) expect([status, refused.code]).toEqual([409, 'EXPORT_NOT_READY']);
    }
  });
});

describe('exports that a plane keeps', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane({ env: { GOV_EXPORTS_KEPT: '1' } });
  });
  afterAll(() => plane.end());

  it('a plane keeps as many exports as its environment says', async () => {
    const call: Call = (method, path, options) => plane.call(method, path, options);
    const { exportId } = await made(call);
    expect((await ask(call)).body).toMatchObject({ code: 'EXPORT_LIMIT', status: 429 });
    expect((await call('DELETE', `/exports/${exportId}`)).status).toBe(204);
    expect((await made(call)).status).toBe('completed');
  });
});
