import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { DeliverySlots, type Turn } from '../../../../src/service/reports/deliveries/slots.ts';
import { refused } from '../../../../src/service/reports/deliveries/send.ts';
import type { Tenant } from '../../../support/hosted.ts';
import {
  build,
  receiverAt,
  startReporting,
  webhookSecret,
  work,
  type Reporting,
} from '../../support/reporting.ts';

const receiver = { channel: 'webhook', target: 'https://slow.example/' } as const;

/** A turn in a reserved slot. */
function turnOf(slots: DeliverySlots, projectId: string): Turn {
  if (!slots.reserve()) throw new Error('expected a free slot, got none');
  return { projectId, isSlow: false };
}

describe('the slots of deliveries', () => {
  it('are as many as the limit, and one that found no work is free again', () => {
    const slots = new DeliverySlots();
    for (let n = 0; n < limits.deliveriesQuickAtOnce; n += 1) expect(slots.reserve()).toBe(true);
    expect(slots.reserve()).toBe(false);
    slots.cancel();
    expect(slots.reserve()).toBe(true);
    expect(slots.reserve()).toBe(false);
  });

  it('of slow receivers are as many as the limit, and a project has its share of them', () => {
    const slots = new DeliverySlots();
    const turns: Turn[] = [];
    const admitted = (projectId: string): boolean => {
      const turn = turnOf(slots, projectId);
      slots.learn(turn, receiver, { ...refused('no answer'), durationMs: 20_000 });
      const is = slots.admit(turn, receiver);
      if (is) turns.push(turn);
      else slots.end(turn);
      return is;
    };
    for (let n = 0; n < limits.deliveriesSlowOfProject; n += 1) expect(admitted('a')).toBe(true);
    expect(admitted('a')).toBe(false);
    const others = limits.deliveriesSlowAtOnce - limits.deliveriesSlowOfProject;
    for (let n = 0; n < others; n += 1) expect(admitted(`b${n}`)).toBe(true);
    expect(admitted('c')).toBe(false);
    for (let n = 0; n < limits.deliveriesQuickAtOnce; n += 1) expect(slots.reserve()).toBe(true);
    for (const turn of turns) slots.end(turn);
    for (let n = 0; n < limits.deliveriesQuickAtOnce; n += 1) slots.cancel();
    expect(admitted('a')).toBe(true);
  });

  it('take a receiver that answers quickly again for quick', () => {
    const slots = new DeliverySlots();
    const turn = turnOf(slots, 'a');
    const ok = { ok: true, statusCode: 204, retryAfterMs: null, failed: null, isFinal: false } as const;
    slots.learn(turn, receiver, { ...ok, durationMs: 1001 });
    slots.admit(turn, receiver);
    expect(turn.isSlow).toBe(true);
    slots.learn(turn, receiver, { ...ok, durationMs: 1000 });
    const next = turnOf(slots, 'a');
    slots.admit(next, receiver);
    expect(next.isSlow).toBe(false);
  });
});

describe('a project whose receiver hangs', () => {
  let on: Reporting;
  let other: Tenant;
  beforeAll(async () => {
    on = await startReporting();
    other = await on.service.signUp('bob');
  });
  afterAll(() => on.end());

  const report = async (tenant: Tenant, deliveries: readonly object[]): Promise<void> => {
    const body = {
      reportTemplateId: 'executive-summary',
      formats: ['csv'],
      parameters: { startTime: '2026-01-01T00:00:00Z', endTime: '2026-01-02T00:00:00Z' },
      deliveries,
    };
    const { status, text } = await tenant.call('POST', '/reporting/executions', { body });
    expect(status, text).toBe(202);
    await build(on.service.services);
  };

  it('delays no delivery of another project', async () => {
    const { services } = on.service;
    const slots = new DeliverySlots();
    const waiting: (() => void)[] = [];
    const hanging = await receiverAt(
      on,
      (response) => void waiting.push(() => response.writeHead(500).end()),
    );
    const target = `https://127.0.0.1:${on.hookPort}/`;
    const webhook = { channel: 'webhook', target, format: 'csv', secret: webhookSecret };
    await report(
      on.tenant,
      Array.from({ length: 10 }, () => webhook),
    );
    const own = work(services, 'deliveries', { slots });
    await hanging.until(limits.deliveriesAtOnce);
    await report(other, [{ channel: 'email', target: 'bob@example.org', format: 'csv' }]);
    // ends although the first run still waits
    expect(await work(services, 'deliveries', { slots })).toMatchObject({ processed: 1, succeeded: 1 });
    expect(on.mailbox.mails.map(({ to }) => to)).toEqual([['bob@example.org']]);
    expect(hanging.requests).toHaveLength(limits.deliveriesAtOnce);
    const answer = setInterval(() => waiting.splice(0).forEach((each) => each()), 5);
    expect(await own).toMatchObject({ processed: 10, succeeded: 0 });
    clearInterval(answer);
    await hanging.close();
  });
});
