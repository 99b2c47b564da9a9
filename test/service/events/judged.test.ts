/** What changes in a project holds for events at once, also at a process that has not heard of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../../src/contract/events.ts';
import { eventIndex } from '../../../src/core/id.ts';
import type { ServiceProcess, Tenant, TestService } from '../../support/hosted.ts';
import { engines, startService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

const secret = 'canary-3b91e7';
const withSecret = event({ metadata: { ssn: secret } });

describe.skipIf(!engines.includes('postgres'))('an event at another process', () => {
  let service: TestService;
  let other: ServiceProcess;
  beforeAll(async () => {
    service = await startService({ engine: 'postgres' });
    other = await service.again();
  });
  afterAll(() => service.end());

  let count = 0;
  /** Both processes know the key, and what holds in the project. */
  async function familiar(): Promise<{
    readonly of: Tenant;
    readonly id: string;
    readonly post: (
      path: string,
      body: unknown,
      headers?: Record<string, string>,
    ) => ReturnType<Tenant['call']>;
  }> {
    const of = await service.signUp(`T${count++}`);
    const id = (await of.call('GET', '/auth/identity')).body.projectId as string;
    const post = (path: string, body: unknown, headers = {}) =>
      other.call('POST', path, { key: of.keys.production, body, headers });
    expect((await post('/events', event())).status).toBe(201);
    return { of, id, post };
  }
  const change = async (of: Tenant, id: string, settings: object): Promise<void> => {
    const { status, text } = await of.call('PUT', `/projects/${id}`, { body: { settings } });
    if (status !== 200) throw new Error(text);
  };

  it('is redacted by what was set just now, alone and in a batch', async () => {
    const { of, id, post } = await familiar();
    await change(of, id, { redactionKeys: ['/metadata/ssn'] });
    const one = await post('/events', withSecret);
    const read = await of.call('GET', `/events/${one.body.eventId}`);
    expect([one.status, read.body.metadata.ssn.redacted]).toEqual([201, true]);
    await change(of, id, { redactionKeys: ['/metadata/ssn', '/actor'] });
    const batch = await post(
      '/events/batch',
      { events: [withSecret, { bad: true }, withSecret] },
      { 'idempotency-key': 'batch' },
    );
    expect(batch.status).toBe(201);
    const list = await of.call('GET', `/events?runId=${String(withSecret['runId'])}&order=desc&limit=2`);
    expect(list.body.events).toHaveLength(2);
    for (const each of list.body.events) {
      expect([each.actor.redacted, each.metadata.ssn.redacted]).toEqual([true, true]);
    }
    expect(list.text).not.toContain(secret);
    const again = await post(
      '/events/batch',
      { events: [withSecret, { bad: true }, withSecret] },
      { 'idempotency-key': 'batch' },
    );
    expect(again.text).toBe(batch.text);
  });

  it('keeps what is not redacted any more', async () => {
    const { of, id, post } = await familiar();
    await change(of, id, { redactionKeys: ['/metadata/ssn'] });
    await post('/events', withSecret);
    await change(of, id, { redactionKeys: [] });
    const one = await post('/events', withSecret);
    expect((await of.call('GET', `/events/${one.body.eventId}`)).body.metadata.ssn).toBe(secret);
  });

  it('is refused once its project is deleted', async () => {
    const { of, id, post } = await familiar();
    expect((await of.call('DELETE', `/projects/${id}`)).status).toBe(200);
    for (const [path, body] of [
      ['/events', event()],
      ['/events/batch', { events: [event()] }],
    ] as const) {
      expect(await post(path, body)).toMatchObject({ status: 401, body: { code: 'INVALID_CREDENTIAL' } });
    }
  });
});

describe.each(engines)('events on %s', (engine) => {
  it('are each redacted by the newest settings before them in the log', async () => {
    const service = await startService({ engine });
    const other = engine === 'postgres' ? await service.again() : service;
    const ada = await service.signUp('ada');
    const id = (await ada.call('GET', '/auth/identity')).body.projectId as string;
    const changes = (async () => {
      for (let round = 0; round < 12; round += 1) {
        const settings = { redactionKeys: round % 2 === 0 ? ['/metadata/ssn'] : [] };
        expect((await ada.call('PUT', `/projects/${id}`, { body: { settings } })).status).toBe(200);
      }
    })();
    const recorded = Array.from({ length: 4 }, async () => {
      for (let stored = 0; stored < 25;) {
        const { status, body } = await other.call('POST', '/events', {
          key: ada.keys.production,
          body: withSecret,
        });
        // changed again and again while it was judged: to be repeated
        if (status === 503) expect(body.code).toBe('OVERLOADED');
        else expect(status).toBe(201);
        if (status === 201) stored += 1;
      }
    });
    await Promise.all([changes, ...recorded]);
    const list = async (runId: string) =>
      (await ada.call('GET', `/events?runId=${runId}&limit=1000`)).body.events as AuditEvent[];
    const told = [...(await list('gov.system')), ...(await list(String(withSecret['runId'])))];
    let isRedacted = false;
    let seen = 0;
    for (const { eventType, metadata } of told.toSorted((a, b) => indexOf(a) - indexOf(b))) {
      if (eventType === 'project.updated') isRedacted = !isRedacted;
      const { ssn } = metadata as { ssn?: unknown };
      if (ssn === undefined) continue;
      seen += 1;
      expect(typeof ssn === 'object').toBe(isRedacted);
    }
    expect(seen).toBe(100);
    await service.end();
  });
});

const indexOf = ({ eventId }: AuditEvent): number => eventIndex(eventId) ?? -1;
