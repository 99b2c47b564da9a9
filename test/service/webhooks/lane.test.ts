import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { systemRun } from '../../../src/core/events/record.ts';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { laneData } from '../../../src/service/webhooks/endpoint.ts';
import { removeOld } from '../../../src/service/webhooks/sending.ts';
import { endpointKind, laneKind } from '../../../src/service/webhooks/endpoint.ts';
import { turnKind } from '../../../src/service/webhooks/message.ts';
import type { OutboundAnswer, OutboundPost } from '../../../src/service/hosting/outbound.ts';
import type { HandClock } from '../../store/support/fixture.ts';
import {
  answered,
  isEndpointEnabled,
  openPostOffice,
  projectId,
  type PostOffice,
} from './support/post-office.ts';

let office: PostOffice;
afterEach(() => office.end());
const open = async (answer: (message: OutboundPost, clock: HandClock) => OutboundAnswer) =>
  (office = await openPostOffice(answer));
const hourMs = 3_600_000;

describe('a lane', () => {
  it('delivers what is due and then waits without a time', async () => {
    await open(() => answered(204));
    const id = await office.endpoint('a');
    await office.block(100);
    await office.follow();
    expect(await office.work()).toEqual([id]);
    expect(office.sent).toHaveLength(100);
    expect(await office.deliveries(id)).toSatisfy((all: { status: string; attempt: number }[]) =>
      all.every(({ status, attempt }) => status === 'delivered' && attempt === 1),
    );
    expect(await office.lane(id)).toMatchObject({ status: 'ready', dueMs: null });
    expect(await office.work()).toEqual([]);
  });

  it('tries a message ten times within the times of the table, then gives up', async () => {
    await open(() => answered(500));
    const id = await office.endpoint('a');
    await office.block(1);
    await office.follow();
    const gapsSeconds: number[] = [];
    let lastMs = office.clock.ms;
    for (let attempt = 1; attempt <= 10; attempt++) {
      await office.work();
      expect(office.sent).toHaveLength(attempt);
      gapsSeconds.push((office.clock.ms - lastMs) / 1000);
      lastMs = office.clock.ms;
      const [found] = await office.deliveries(id);
      expect(found).toMatchObject({ attempt, statusCode: 500, errorSummary: 'the receiver answered 500' });
      const next = (await office.lane(id)).dueMs;
      expect([found!.status, next === null]).toEqual(attempt < 10 ? ['pending', false] : ['failed', true]);
      if (next !== null) office.clock.ms = next;
    }
    const table = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
    gapsSeconds.forEach((gap, at) => {
      expect(gap).toBeGreaterThanOrEqual(table[at]! * 0.8);
      // a lane that failed often holds up to a minute
      expect(gap).toBeLessThanOrEqual(table[at]! * 1.2 + 60);
    });
    const ids = office.sent.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(1);
  });

  it('sends one message at a time to a dead receiver and holds longer after each failure', async () => {
    await open(() => answered(0, { ok: false, statusCode: null, failed: 'refused' }));
    const id = await office.endpoint('a');
    await office.block(50);
    await office.follow();
    const sentAfter: number[] = [];
    for (let at = 0; at < 8; at++) {
      await office.work();
      sentAfter.push(office.sent.length);
      office.clock.ms = (await office.lane(id)).dueMs!;
    }
    const more = sentAfter.slice(1).map((count, at) => count - sentAfter[at]!);
    expect(Math.max(...more)).toBe(1);
    expect(laneData(await office.lane(id)).failures).toBeGreaterThan(5);
    expect(await office.lane(id)).toMatchObject({ status: 'slow' });
  });

  it('waits at least as long as the receiver asks with Retry-After, with all of its messages', async () => {
    let isBusy = true;
    await open(() => (isBusy ? answered(429, { retryAfterMs: 600_000 }) : answered(200)));
    const id = await office.endpoint('a');
    await office.block(5);
    await office.follow();
    await office.work();
    const { dueMs } = await office.lane(id);
    const startMs = office.clock.ms;
    expect(dueMs! - startMs).toBeGreaterThanOrEqual(600_000);
    expect(dueMs! - startMs).toBeLessThanOrEqual(720_000);
    isBusy = false;
    office.clock.ms = startMs + 599_999;
    expect(await office.work()).toEqual([]);
    for (const afterMs of [720_000, 720_001]) {
      office.clock.ms = startMs + afterMs;
      await office.work();
    }
    expect((await office.deliveries(id)).every(({ status }) => status === 'delivered')).toBe(true);
  });

  it.each([
    ['throttles', answered(429), 60_000],
    ['asks for 30 seconds', answered(503, { retryAfterMs: 30_000 }), 30_000],
    ['asks for an hour', answered(429, { retryAfterMs: 3_600_000 }), 3_600_000],
    ['fails', answered(500), 4000],
  ])('20 lanes to a receiver that %s at one moment come back over a time', async (_, answer, leastMs) => {
    await open(() => answer);
    const ids = await Promise.all(
      Array.from({ length: limits.webhookEndpoints }, (_each, at) => office.endpoint(`e${at}`)),
    );
    await office.block(1);
    await office.follow();
    const atMs = office.clock.ms;
    await office.work();
    const lanes = await Promise.all(ids.map((id) => office.lane(id)));
    const waits = lanes.map(({ dueMs }) => dueMs! - atMs);
    const [least, most] = [Math.min(...waits), Math.max(...waits)];
    expect(least).toBeGreaterThanOrEqual(leastMs);
    // 20 draws within a quarter of their range: a chance of 1 in 10 ** 10
    expect(most - least).toBeGreaterThan(leastMs * 0.05);
    expect(new Set(waits).size).toBeGreaterThan(10);
  });

  it('disables the endpoint that answers 410, records it, and cancels what waits', async () => {
    await open(() => answered(410));
    const id = await office.endpoint('a');
    await office.block(30);
    await office.follow();
    await office.work();
    expect(await isEndpointEnabled(office, id)).toBe('disabled');
    const statuses = (await office.deliveries(id)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set(['failed', 'cancelled']));
    expect(office.sent.length).toBeLessThanOrEqual(4);
    const events = await office.store.runLeaves(projectId, systemRun, {
      fromSeq: 0,
      beforeIndex: 1000,
      limit: 10,
      bodies: true,
    });
    expect(events).toHaveLength(1);
    const { clear, committed } = openLeaf(events[0]!);
    expect(clear['eventType']).toBe('webhook_endpoint.disabled');
    expect(committed.get('metadata')).toEqual({ reason: 'gone' });
    // nothing more is made for it
    await office.block(1);
    await office.follow();
    expect(await office.deliveries(id)).toHaveLength(30);
  });

  it('disables an endpoint that failed for 120 hours, and no earlier', async () => {
    await open(() => answered(503));
    const id = await office.endpoint('a');
    const began = office.clock.ms;
    while (office.clock.ms - began < 130 * hourMs) {
      await office.block(1);
      await office.follow();
      await office.work();
      const isOver = office.clock.ms - began >= limits.webhookFailingHours * hourMs;
      expect([office.clock.ms - began, await isEndpointEnabled(office, id)]).toEqual([
        office.clock.ms - began,
        isOver ? 'disabled' : 'enabled',
      ]);
      if (isOver) break;
      office.clock.ms += 4 * hourMs;
    }
    expect(await isEndpointEnabled(office, id)).toBe('disabled');
  });

  it('does not send a message that waited longer than 120 hours', async () => {
    await open(() => answered(200));
    const id = await office.endpoint('a');
    await office.block(1);
    await office.follow();
    office.clock.ms += 121 * hourMs;
    await office.work();
    expect(office.sent).toEqual([]);
    expect(await office.deliveries(id)).toMatchObject([
      { status: 'failed', errorSummary: 'not sent: it waited longer than 120 hours' },
    ]);
  });

  it('of a deleted endpoint cancels what waits and then ends', async () => {
    await open(() => answered(200));
    const id = await office.endpoint('a');
    await office.block(3);
    await office.follow();
    const { kind, documentId, version } = (await office.store.document(projectId, endpointKind, id))!;
    await office.store.saveDocuments(projectId, [{ remove: { kind, documentId, version } }]);
    await office.work();
    expect(office.sent).toEqual([]);
    expect((await office.deliveries(id)).map(({ status }) => status)).toEqual(Array(3).fill('cancelled'));
    expect(await office.store.document(projectId, laneKind, id)).toBeNull();
  });

  it('of a deleted project cancels what waits', async () => {
    await open(() => answered(200));
    const id = await office.endpoint('a');
    await office.block(2);
    await office.follow();
    office.alter(`INSERT INTO organization (organization_id, name, customer_id, home_production, home_sandbox, created_ms)
      SELECT organization_id, 'a', 'a', project_id, project_id, 1 FROM project`);
    office.alter(`INSERT INTO project_profile (project, organization_id, environment, name, name_key, settings, quotas,
      created_ms, updated_ms, deleted_ms) SELECT project, organization_id, environment, 'a', 'a', '{}', '{}', 1, 2, 2
      FROM project`);
    await office.work();
    expect(office.sent).toEqual([]);
    const cancelled = { status: 'cancelled', errorSummary: 'cancelled: the project was deleted' };
    expect(await office.deliveries(id)).toMatchObject([cancelled, cancelled]);
  });

  it('that is left by a worker that ended is worked on after its lease, and sends with the same ids', async () => {
    await open(() => answered(200));
    const id = await office.endpoint('a');
    await office.block(2);
    await office.follow();
    // claims, sends, and ends before it saves
    const claim = {
      kind: laneKind,
      statuses: ['ready'],
      nowMs: office.clock.ms,
      leaseMs: 120_000,
      becomes: 'busy',
    };
    expect(await office.store.claimDocument(claim)).not.toBeNull();
    expect(await office.work()).toEqual([]);
    office.clock.ms += 120_000;
    expect(await office.work()).toEqual([id]);
    expect(office.sent).toHaveLength(2);
    expect(await office.store.documents(projectId, { kind: turnKind }, { limit: 10 })).toEqual([]);
  });

  it('that gets messages while a worker has it is worked on until nothing is due', async () => {
    let once = true;
    await open(() => answered(200));
    const id = await office.endpoint('a');
    const { post } = office.services.outbound;
    Object.assign(office.services.outbound, {
      post: async (message: OutboundPost) => {
        if (once) {
          once = false;
          await office.block(1);
          await office.follow();
        }
        return post(message);
      },
    });
    await office.block(1);
    await office.follow();
    expect(await office.work()).toEqual([id]);
    expect(office.sent).toHaveLength(2);
    expect(await office.lane(id)).toMatchObject({ status: 'ready', dueMs: null });
  });
});

it('messages are removed after 30 days', async () => {
  await open(() => answered(200));
  const id = await office.endpoint('a');
  await office.block(250);
  await office.follow();
  await office.work();
  office.clock.ms += 30 * 24 * hourMs - 1;
  expect(await removeOld(office.services)).toBe(0);
  office.clock.ms += 1;
  expect(await removeOld(office.services)).toBe(250);
  expect(await office.deliveries(id)).toEqual([]);
});
