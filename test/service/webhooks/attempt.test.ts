import { expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { delayAfter, outcomeOf } from '../../../src/service/webhooks/attempt.ts';
import type { DeliveryData } from '../../../src/service/webhooks/message.ts';
import { answered } from './support/post-office.ts';

const seconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
const fresh: DeliveryData = {
  eventId: 'msg_1',
  type: 'job.failed',
  payload: '{}',
  attempt: 0,
  statusCode: null,
  durationMs: null,
  redelivery: false,
  attemptedMs: null,
  nextMs: 0,
  error: null,
};
const at = { nowMs: 1_000_000, createdMs: 1_000_000, random: 0.5 };

it('the delays are those of Standard Webhooks, with 20 % of jitter, and end after ten attempts', () => {
  seconds.forEach((delay, index) => {
    expect(delayAfter(index + 1, 0.5)).toBe(delay * 1000);
    expect(delayAfter(index + 1, 0)).toBe(delay * 800);
    expect(delayAfter(index + 1, 1)).toBe(delay * 1200);
  });
  expect(delayAfter(10, 0.5)).toBeNull();
});

it('a success delivers, and a final answer fails, whatever attempts remain', () => {
  expect(outcomeOf(fresh, answered(200), at)).toMatchObject({
    status: 'delivered',
    data: { attempt: 1, nextMs: null, statusCode: 200, error: null },
  });
  expect(outcomeOf(fresh, answered(410), at)).toMatchObject({ status: 'failed', data: { nextMs: null } });
});

it('Retry-After lengthens a delay and never shortens it', () => {
  const after = (retryAfterMs: number) => outcomeOf(fresh, answered(503, { retryAfterMs }), at).data.nextMs;
  expect(after(60_000)).toBe(at.nowMs + 60_000);
  expect(after(1000)).toBe(at.nowMs + 5000);
});

it('no attempt is planned beyond the time that a message may wait', () => {
  const createdMs = at.nowMs - limits.webhookWaitingHours * 3_600_000 + 4000;
  expect(outcomeOf(fresh, answered(500), { ...at, createdMs })).toMatchObject({ status: 'failed' });
  expect(outcomeOf(fresh, answered(500), { ...at, createdMs: createdMs + 1000 })).toMatchObject({
    status: 'pending',
  });
});
