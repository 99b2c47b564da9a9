import { expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { outcomeOf } from '../../../src/service/webhooks/attempt.ts';
import type { DeliveryData } from '../../../src/service/webhooks/message.ts';
import { answered } from './support/post-office.ts';

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

it('a success delivers, and a final answer fails, whatever attempts remain', () => {
  expect(outcomeOf(fresh, answered(200), at)).toMatchObject({
    status: 'delivered',
    data: { attempt: 1, nextMs: null, statusCode: 200, error: null },
  });
  expect(outcomeOf(fresh, answered(410), at)).toMatchObject({ status: 'failed', data: { nextMs: null } });
});

it('Retry-After lengthens a delay and never shortens it', () => {
  const after = (retryAfterMs: number) => outcomeOf(fresh, answered(503, { retryAfterMs }), at).data.nextMs;
  expect(after(60_000)).toBe(at.nowMs + 66_000); // half of a fifth on top
  expect(after(1000)).toBe(at.nowMs + 5000);
});

it('no attempt is planned beyond the time that a message may wait', () => {
  const createdMs = at.nowMs - limits.webhookWaitingHours * 3_600_000 + 4000;
  expect(outcomeOf(fresh, answered(500), { ...at, createdMs })).toMatchObject({ status: 'failed' });
  expect(outcomeOf(fresh, answered(500), { ...at, createdMs: createdMs + 1000 })).toMatchObject({
    status: 'pending',
  });
});
